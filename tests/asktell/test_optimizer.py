"""Ask and tell in user units: any order, any domain, and the same after save and load."""

import copy
import itertools
import json
import math

import numpy as np
import pytest
from optimizers import BOUNDS, DOMAINS, METHODS, POOL, QUICK, height, optimizer, play

from lbbench import Optimizer
from lbbench.asktell.core import AskTell
from lbbench.errors import UsageError
from lbbench.plan import build


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_in_turn_it_is_what_a_study_plays(domain, method):
    played = optimizer(domain, method, seed=5)
    points = play(played, 9)
    study = AskTell(played.domain, build.method(played.settings, build_problem(played)), "own", 5, 3)
    study.maximiser = played._play.maximiser
    for x in points:
        step = study.ask()
        assert study.user(step).tolist() == x.tolist()
        study.tell(step, height(x))
    assert played.lengthscale == step.lengthscale
    assert played.candidates() == step.candidates


def build_problem(played):
    return build.Problem("own", played.domain, None, math.nan)


@pytest.mark.parametrize("domain", DOMAINS)
def test_to_minimise_is_to_maximise_the_negative(domain):
    up, down = optimizer(domain), optimizer(domain, minimise=True)
    assert play(up, 10).tolist() == play(down, 10, lambda x: -height(x)).tolist()
    assert down.y.tolist() == (-up.y).tolist()
    assert down.best[1] == -up.best[1] == min(down.y)
    for ours, theirs in zip(up.posterior(POOL[:4]), down.posterior(POOL[:4]), strict=True):
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs))


def test_units_do_not_matter():
    scaled = Optimizer(bounds=[(0.0, 1.0), (0.0, 1.0)], method="lb", **QUICK)
    points = play(scaled, 10, lambda u: height([10.0 * u[0], 20.0 + 60.0 * u[1]]))
    np.testing.assert_allclose(play(optimizer(), 10), points * [10.0, 60.0] + [0.0, 20.0])


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_posterior_is_that_of_a_direct_solve(domain):
    played = optimizer(domain, minimise=True)
    play(played, 12)
    theta, low, span = 0.4, *np.array([np.min(POOL, 0), np.ptp(POOL, 0)])
    if domain == "box":
        low, span = np.array([0.0, 20.0]), np.array([10.0, 60.0])
    known, asked = (played.x - low) / span, (POOL[:6] - low) / span

    def covariance(a, b):
        s = np.sqrt(5.0) * np.linalg.norm(a[:, None] - b, axis=2) / theta
        return (1.0 + s + s * s / 3.0) * np.exp(-s)

    k = covariance(asked, known) @ np.linalg.inv(covariance(known, known) + 1e-4 * np.eye(12))
    mean = played.y.mean() + k @ (played.y - played.y.mean())
    std = played.y.std(ddof=1) * np.sqrt(1.0 - np.einsum("ij,ij->i", k, covariance(asked, known)))
    found = played.posterior(POOL[:6], lengthscale=theta)
    np.testing.assert_allclose(found[0], mean, rtol=1e-7)
    np.testing.assert_allclose(found[1], std, rtol=1e-5)


@pytest.mark.parametrize("method", ["lb", "mle", "mcmc", "random"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_what_is_pending_counts_as_what_the_model_expects_of_it(domain, method):
    played = optimizer(domain, method)
    play(played, 8)
    believed = copy.deepcopy(played._play)
    for pending in range(4):
        x, step = played.ask(), believed.ask()
        np.testing.assert_allclose(believed.user(step), x, rtol=1e-6)
        if pending == 0 and method in ("lb", "mle"):
            assert step.mean == pytest.approx(played.posterior([x])[0][0], abs=1e-6)
        assert (step.mean is None) == (method == "random")
        believed.tell(step, believed.data.mean if step.mean is None else step.mean)
    if (domain, method) == ("box", "lb"):
        assert len({tuple(x) for x in played.pending}) == 4


def shuffled(played, rng, turns):
    """Ask, tell in any order, tell what was not asked for, and fail; yields the state after each."""
    for _ in range(turns):
        what = rng.choice(["ask", "tell", "own", "fail"], p=[0.5, 0.35, 0.1, 0.05])
        pending = played.pending
        if what == "ask" or (what in ("tell", "fail") and not len(pending)):
            played.ask()
        elif what == "own":
            x = POOL[rng.integers(len(POOL))]
            played.tell(x, height(x))
        else:
            x = pending[rng.integers(len(pending))]
            played.tell(x, height(x) if what == "tell" else None)
        yield played


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_it_goes_on_after_load_as_if_nothing_had_happened(domain, method, tmp_path):
    rng = np.random.default_rng(list(map(ord, domain + method)))
    played = optimizer(domain, method, seed=2)
    for turn, _ in enumerate(shuffled(played, rng, 28)):
        if turn % 4 == 3:
            played.save(tmp_path / "a.json")
            again = Optimizer.load(tmp_path / "a.json")
            again.save(tmp_path / "b.json")
            assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
            assert again.pending.tolist() == played.pending.tolist()
            assert (again.x.tolist(), again.y.tolist()) == (played.x.tolist(), played.y.tolist())
            assert again.lengthscale == played.lengthscale
            assert again.ask().tolist() == copy.deepcopy(played).ask().tolist()
    assert len(played.y) > 5


def test_values_told_before_the_first_ask_stand_for_the_initial_design():
    played, usual = optimizer(), optimizer()
    for x in POOL[:3]:
        played.tell(x, height(x))
    played.ask()
    assert played.lengthscale is not None
    usual.ask()
    assert usual.lengthscale is None
    assert len(optimizer(initial=1).pending) == 0


def test_lb_holds_no_length_scale_to_account_for_what_it_did_not_ask_for():
    played, alone = optimizer(), optimizer()
    play(played, 6)
    play(alone, 6)
    played.tell([1.0, 30.0], -50.0)
    records = [one._play.method._balancer.records for one in (played, alone)]
    assert records[0] == records[1]
    x = played.ask()
    played.tell(x, height(x))
    assert sum(record.n for record in records[0].values()) == 1 + sum(record.n for record in records[1].values())


def test_with_two_always_pending_the_steps_are_counted_and_candidates_appear():
    played = optimizer(g="t")
    queue = [played.ask(), played.ask()]
    for _ in range(40):
        x = queue.pop(0)
        played.tell(x, height(x))
        queue.append(played.ask())
    assert played._play.t == 37
    assert len(played.candidates()) > 10
    assert played.best[1] > 1.9


def test_a_point_that_fails_is_not_asked_for_again():
    played = optimizer()
    first = played.ask()
    played.tell(first, None)
    assert len(played.y) == 0
    points = [first, *play(played, 6)]
    for _ in range(5):
        points.append(played.ask())
        played.tell(points[-1], None)
    assert len({tuple(x) for x in points}) == len(points)
    assert played.y[-5:].tolist() == [min(played.y)] * 5


def test_a_pool_of_few_candidates_and_a_constant_input():
    played = Optimizer(candidates=[[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], method="lb")
    play(played, 8, lambda x: -((x[0] - 2.0) ** 2))
    assert played.best == (pytest.approx([2.0, 5.0]), 0.0)


@pytest.mark.parametrize("method", ["lb", "mle", "random"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_an_optimizer_is_led_through_the_steps_of_another(domain, method):
    played, again = optimizer(domain, method), optimizer(domain, method)
    for x in play(played, 9):
        assert again.ask(x) == pytest.approx(x)
        again.tell(x, height(x))
    assert again.candidates() == played.candidates()
    for other in POOL[:2]:
        for one in (played, again):
            assert one.ask(other) == pytest.approx(other)
            assert one.ask().tolist() == one.pending[-1].tolist()
    assert again.pending == pytest.approx(played.pending)
    assert optimizer(domain, method).ask(POOL[3]) == pytest.approx(POOL[3])


def told():
    played = optimizer()
    play(played, 1)
    return played


WRONG = {
    "neither": (lambda: Optimizer(), "either bounds"),
    "both": (lambda: Optimizer(bounds=BOUNDS, candidates=POOL), "either bounds"),
    "reversed": (lambda: Optimizer(bounds=[(1, 0)]), "lowest first"),
    "words": (lambda: Optimizer(bounds=[("a", "b")]), "must be numbers"),
    "ragged": (lambda: Optimizer(candidates=[[1, 2], [3]]), "must be numbers"),
    "infinite": (lambda: Optimizer(bounds=[(0, math.inf)]), "finite"),
    "empty": (lambda: Optimizer(candidates=[]), "finite numbers"),
    "method": (lambda: Optimizer(BOUNDS, method="bl"), "method=bl is unknown"),
    "setting": (lambda: optimizer(kernal="rbf"), "did you mean 'kernel'"),
    "value": (lambda: optimizer(kernel="cubic"), "kernel=cubic: must be one of"),
    "seed": (lambda: optimizer(seed=-1), "seed=-1: must be a whole number"),
    "part of a seed": (lambda: optimizer(seed=1.5), "seed=1.5: must be a whole number"),
    "minimise": (lambda: optimizer(minimise="perhaps"), "minimise=perhaps: must be true or false"),
    "no name": (lambda: Optimizer(BOUNDS, method=5), "method=5 is unknown"),
    "seeds": (lambda: optimizer(seeds=3), "seeds is not a setting"),
    "oracle": (lambda: Optimizer(BOUNDS, method="oracle"), "lengthscale"),
    "nan": (lambda: optimizer().tell([1.0, 30.0], math.nan), "y = nan"),
    "text": (lambda: optimizer().tell([1.0, 30.0], "high"), "y = 'high'"),
    "short": (lambda: optimizer().tell([1.0], 2.0), "2 numbers"),
    "outside": (lambda: optimizer().tell([1.0, 90.0], 2.0), "not within the bounds"),
    "undefined": (lambda: optimizer().tell([1.0, math.nan], 2.0), "not within the bounds"),
    "asked outside": (lambda: optimizer().ask([1.0, 90.0]), "not within the bounds"),
    "no candidate": (lambda: optimizer("pool").tell([1.0, 30.0], 2.0), "none of the candidates"),
    "failed": (lambda: optimizer().tell([1.0, 30.0], None), "not asked for"),
    "best": (lambda: optimizer().best, "nothing has been told"),
    "posterior": (lambda: told().posterior([[1.0, 30.0]]), "length scale"),
    "posterior of nothing": (lambda: optimizer().posterior([[1.0, 30.0]], 0.3), "nothing has been told"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_named(case):
    wrong, words = WRONG[case]
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        wrong()


def test_a_mistake_changes_nothing(tmp_path):
    played = optimizer()
    play(played, 5)
    played.ask()
    played.save(tmp_path / "before")
    for x, y in itertools.product([[1.0, 90.0], [1.0], played.pending[0]], [math.nan, math.inf, "x"]):
        with pytest.raises(UsageError):
            played.tell(x, y)
    played.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_a_file_that_is_none_of_ours_is_named(tmp_path):
    file = tmp_path / "a.json"
    played = optimizer()
    play(played, 2)
    played.save(file)
    whole = json.loads(file.read_text())
    broken = [b"", b"{}", b"[]", b"\xff", file.read_bytes()[:-40], json.dumps(whole | {"events": [{}]}).encode()]
    broken += [100_000 * b"["]
    broken += [json.dumps(whole | {"lbbench optimizer": 99}).encode(), json.dumps(whole | {"settings": 3}).encode()]
    for content in broken:
        file.write_bytes(content)
        with pytest.raises(UsageError, match=r"a\.json (is no|has version)"):
            Optimizer.load(file)
    with pytest.raises(UsageError, match="cannot be read"):
        Optimizer.load(tmp_path / "none.json")


def test_a_mistake_in_a_file_comes_with_its_name(tmp_path):
    file = tmp_path / "a.json"
    optimizer().save(file)
    whole = json.loads(file.read_text())
    for part in ({"minimise": "maybe"}, {"events": [{"x": [1.0, 30.0], "y": "x"}]}, {"bounds": [[1, 0]]}):
        file.write_text(json.dumps(whole | part))
        with pytest.raises(UsageError, match=r"a\.json: "):
            Optimizer.load(file)
