import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lbbench.gp.kernels import KERNELS
from lbbench.growth import parse
from lbbench.methods.balancing import Balancer, Candidate
from lbbench.methods.lengthscales import Schedule
from lbbench.theory import RegretBound, effective_dim, growth_floor, noise_width


def brute_force(schedule, regret, xi, rewards, widths):
    """Algorithm 2, restated on the whole history each time: the plays and the set U after each step."""
    plays, alive, seen, sets = [], sorted(schedule(1), key=lambda u: (-u.lengthscale, u.norm)), set(schedule(1)), []
    for t in range(1, len(rewards) + 1):
        times = {u: [s for s, v in enumerate(plays) if v == u] for u in alive}
        costs = [regret(len(times[u]) + 1, u) for u in alive]
        plays.append(alive[costs.index(min(costs))])
        times = {u: [s for s, v in enumerate(plays) if v == u] for u in alive}
        if all(times.values()):
            mean = {u: sum(rewards[s] for s in times[u]) / len(times[u]) for u in alive}
            width = {u: sum(widths[s] for s in times[u]) / len(times[u]) for u in alive}
            slack = {u: math.sqrt(xi(len(seen), t) / len(times[u])) for u in alive}
            bar = max(mean[u] - slack[u] for u in alive)
            alive = [u for u in alive if mean[u] + slack[u] + width[u] >= bar]
        alive += [u for u in schedule(t) if u not in seen]
        seen |= set(schedule(t))
        alive.sort(key=lambda u: (-u.lengthscale, u.norm))
        sets.append(list(alive))
    return plays, sets


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_matches_brute_force(data):
    dim = data.draw(st.sampled_from([1, 2, 4, 5]))
    noise_std = data.draw(st.sampled_from([0.0, 0.1, 1.0]))
    growth = parse(data.draw(st.sampled_from(["1", "t^0.25", "sqrt(t)", "max(2, sqrt(t))", "t"])))
    norms = data.draw(st.sampled_from([(1.0,), (1.0, math.e)]))
    steps = data.draw(st.integers(1, 60))
    # Coarse values, so that ties in the elimination test do occur.
    rewards = data.draw(st.lists(st.integers(-3, 3).map(float), min_size=steps, max_size=steps))
    widths = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=steps, max_size=steps))
    lengthscales = Schedule(0.7, float(dim), growth)

    def schedule(t):
        return [Candidate(theta, norm) for theta in lengthscales.candidates(t) for norm in norms]

    bound = RegretBound(dim)

    def regret(n, u):
        return bound(n, u.lengthscale, u.norm)

    def xi(count, t):
        return noise_width(noise_std, count, t, 0.01)

    plays, sets = brute_force(schedule, regret, xi, rewards, widths)
    balancer = Balancer(schedule, regret, xi)
    for t, (y, width) in enumerate(zip(rewards, widths, strict=True), 1):
        before = balancer.candidates
        chosen = balancer.choose()
        assert chosen == plays[t - 1]
        eliminated = balancer.observe(chosen, t, y, width)
        assert balancer.candidates == sets[t - 1]
        assert set(eliminated) == set(before) - set(sets[t - 1])
        assert balancer.candidates  # the best candidate always stays


@pytest.mark.parametrize("dim", [1, 2, 4, 5])
@pytest.mark.parametrize("kernel", ["matern52", "matern32", "rbf"])
def test_candidates_appear_exactly_when_allowed(dim, kernel):
    d_hat = effective_dim(dim, KERNELS[kernel])
    floor = growth_floor(d_hat)
    schedule = Schedule(0.5, d_hat, lambda t: max(floor, math.sqrt(t)))
    assert len(list(schedule.candidates(1))) == 6  # θ₀ and five more
    for t in range(1, 2000):
        found = list(schedule.candidates(t))
        assert found == [0.5 * math.exp(-i / d_hat) for i in range(len(found))]
        limit = d_hat * math.log(max(floor, math.sqrt(t)))
        assert len(found) - 1 <= limit + 1e-9 < len(found)


@pytest.mark.parametrize("dim", [1, 2, 4, 5])
def test_growth_that_meets_the_bound_up_to_rounding_allows_the_candidate(dim):
    for i in range(1, 40):
        growth = math.exp(i / dim)
        for value in (growth, math.nextafter(growth, 0), math.nextafter(growth, math.inf)):
            assert len(list(Schedule(1.0, float(dim), lambda t, value=value: value).candidates(1))) == i + 1
        assert len(list(Schedule(1.0, float(dim), lambda t, g=growth: g * (1 - 1e-6)).candidates(1))) == i


def scripted(lengthscales, widths=0.0, noise=0.0):
    return Balancer(
        lambda t: [Candidate(theta, 1.0) for theta in lengthscales],
        lambda n, u: RegretBound(1)(n, u.lengthscale, u.norm),
        lambda count, t: noise,
    )


def test_every_new_candidate_is_tried_first_longest_first():
    balancer = scripted([0.5, 0.4, 0.3])
    for t, expected in enumerate([0.5, 0.4, 0.3, 0.5], 1):
        assert balancer.choose().lengthscale == expected
        balancer.observe(balancer.choose(), t, 0.0, 1.0)


def test_no_elimination_before_all_have_been_chosen_then_the_worse_goes():
    balancer = scripted([0.5, 0.4, 0.3])
    assert balancer.observe(balancer.choose(), 1, 0.0, 0.5) == []
    assert balancer.observe(balancer.choose(), 2, 10.0, 0.5) == []
    assert balancer.observe(balancer.choose(), 3, 9.5, 0.5) == [Candidate(0.5, 1.0)]  # 9.5 + 0.5 ≥ 10 stays


def test_noise_widens_the_test_on_both_sides():
    for noise, survivors in ((0.24, 1), (0.25, 2)):  # 2√ξ against a gap of 1
        balancer = scripted([0.5, 0.4], noise=noise)
        balancer.observe(balancer.choose(), 1, 0.0, 0.0)
        balancer.observe(balancer.choose(), 2, 1.0, 0.0)
        assert len(balancer.candidates) == survivors


def test_an_eliminated_candidate_does_not_return():
    balancer = scripted([0.5, 0.4])
    balancer.observe(balancer.choose(), 1, 0.0, 0.0)
    balancer.observe(balancer.choose(), 2, 1.0, 0.0)
    for t in range(3, 30):
        assert balancer.candidates == [Candidate(0.4, 1.0)]
        balancer.observe(balancer.choose(), t, 0.0, 0.0)
