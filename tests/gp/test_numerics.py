"""Every method asked and told what is hard to compute with: points stay finite, or the error is a typed one."""

import dataclasses
import math
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lbbench.asktell.core import AskTell
from lbbench.domain import Box, Pool
from lbbench.errors import NumericalError
from lbbench.gp.data import Data, Merged
from lbbench.gp.growing import Factor, GrowingLikelihood
from lbbench.gp.interpolation import interpolate
from lbbench.gp.kernels import KERNELS
from lbbench.gp.lengthscale_posterior import gauss
from lbbench.gp.likelihood import Likelihood
from lbbench.gp.linalg import JITTERS, safe_cholesky
from lbbench.gp.posterior import posterior
from lbbench.growth import parse
from lbbench.maximiser import Maximiser
from lbbench.methods.base import Surrogate
from lbbench.methods.lengthscales import Shrinking
from lbbench.plan.registry import OURS, find
from lbbench.theory import inflated_norm

QUICK = ["lb", "lnb", "agpucb", "mle", "mcmc", "oracle", "random"]
NUTS = "nuts"
SCALED = 2.0**990


def method(name, kernel="matern52", regulariser=1e-4, noise_std=0.0, beta="fixed", theta0="mle"):
    own = {"surrogate": Surrogate(KERNELS[kernel], regulariser, beta, noise_std=noise_std)}
    if name in ("lb", "lnb", "agpucb"):
        own["shrinking"] = Shrinking(parse("sqrt(t)"), theta0)
    if name in ("lnb", "agpucb"):
        own["b"] = parse("sqrt(t)")
    if name == "oracle":
        own["lengthscale"] = 0.3 if theta0 == "mle" else theta0
    if name == NUTS:
        return find(OURS["method"]["mcmc"])(**own, sampler="nuts", warmup=10, samples=10)
    return find(OURS["method"][name])(**own)


def box(dim):
    return Box(np.zeros(dim), np.ones(dim))


def pool(size, dim=2):
    return Pool(np.random.default_rng(0).random((size, dim)))


def wave(x, t=0):
    return float(np.sin(7.0 * x).sum() + 0.3 * math.cos(23.0 * x[0]))


def play(played, domain, f, steps=12, always=None):
    """The steps of a run, each checked to be finite and quiet; `always` is told instead of the point if given."""
    optimizer = AskTell(domain, played, "numerics", 0, 5, Maximiser(32, 2))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        while optimizer.t < steps:
            step = optimizer.ask()
            assert np.isfinite(optimizer.user(step)).all()
            numbers = (step.lengthscale, step.norm, step.beta, step.sigma, step.information_gain, step.jitter)
            assert all(number is None or math.isfinite(number) for number in numbers)
            if always is not None:
                step = dataclasses.replace(step, point=always)
            found.append(optimizer.tell(step, float(f(optimizer.user(step), optimizer.t + 1))))
    return found


def decisions(steps):
    """What does not depend on the unit of y."""
    return [
        (s.point.tolist(), s.lengthscale, s.norm, s.beta, s.information_gain, s.candidates, s.eliminated) for s in steps
    ]


VALUES = {
    "constant": lambda x, t: 3.0,
    "zero": lambda x, t: 0.0,
    "constant, then not": lambda x, t: 3.0 if t < 4 else wave(x),
    "huge": lambda x, t: 1e300 * wave(x),
    "tiny": lambda x, t: 1e-300 * wave(x),
    "tiny, then ordinary": lambda x, t: 1e-300 * wave(x) if t < 4 else wave(x),
    "far": lambda x, t: 1e8 + wave(x),
    "very far": lambda x, t: 1e15 + wave(x),
    "one huge": lambda x, t: 1e300 if t == 3 else wave(x),
    "one huge in the design": lambda x, t: -1e300 if t == -1 else wave(x),
    "the smallest there is": lambda x, t: 5e-324 * (t % 3),
    "one rounding apart": lambda x, t: 1e15 + 0.125 * (t % 2 == 1),
}


@pytest.mark.parametrize("domain", [box(2), pool(30)], ids=["box", "pool"])
@pytest.mark.parametrize("values", VALUES)
def test_values_of_any_kind(values, domain):
    for name in QUICK:
        play(method(name), domain, VALUES[values], steps=9)


@pytest.mark.parametrize("values", ["constant", "huge", "one huge"])
def test_values_of_any_kind_with_nuts(values):
    play(method(NUTS), pool(10), VALUES[values], steps=4)


@pytest.mark.parametrize("domain", [box(1), pool(12)], ids=["box", "pool"])
@pytest.mark.parametrize("beta", ["fixed", "theory"])
@pytest.mark.parametrize("scale", [SCALED, 1.0 / SCALED, 2.0**-530])
def test_a_power_of_two_changes_nothing(domain, scale, beta):
    for name in QUICK:
        runs = [
            play(method(name, noise_std=0.05 * unit, beta=beta), domain, lambda x, t, unit=unit: unit * wave(x), 16)
            for unit in (1.0, scale)
        ]
        assert decisions(runs[0]) == decisions(runs[1])


@pytest.mark.parametrize("domain", [box(2), pool(12)], ids=["box", "pool"])
@pytest.mark.parametrize("beta", ["fixed", "theory"])
@pytest.mark.parametrize("noise_std", [0.0, 1e-200, 1e6, 1e200])
def test_noise_of_any_size(noise_std, beta, domain):
    for name in ("lb", "lnb", "agpucb", "mle"):
        play(method(name, noise_std=noise_std, beta=beta), domain, wave, steps=6)


def test_a_band_too_wide_for_numbers_is_an_error():
    for name in ("lb", "lnb", "agpucb", "mle", "mcmc", "oracle"):
        with pytest.raises(NumericalError, match="confidence width"):
            play(method(name, noise_std=1e308, beta="theory"), box(2), wave)


def test_a_norm_inflated_beyond_numbers_is_infinite():
    assert inflated_norm(2.0, 1e-50, 1.0, 20) == math.inf


SAME = {
    "the same point": Pool(np.ones((4, 2))),
    "one candidate": Pool(np.array([[1.0, 2.0]])),
    "three candidates": pool(3),
    "two identical rows": Pool(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.3, 0.2]])),
}


@pytest.mark.parametrize("regulariser", [1e-12, 1e-4, 1.0])
@pytest.mark.parametrize("candidates", SAME)
def test_repeats_in_a_pool(candidates, regulariser):
    steps = 60 if candidates == "three candidates" else 10
    for kernel in KERNELS:
        for name in QUICK:
            play(method(name, kernel, regulariser), SAME[candidates], lambda x, t: wave(x) + 0.1 * (t % 2), steps)


@pytest.mark.parametrize("name", ["lb", "mle", "mcmc", "oracle"])
@pytest.mark.parametrize("regulariser", [1e-12, 1.0])
def test_repeats_in_a_box(name, regulariser):
    for kernel in KERNELS:
        found = play(method(name, kernel, regulariser), box(2), lambda x, t: t % 2, always=np.full((1, 2), 0.25))
        assert found[-1].jitter in JITTERS


@settings(deadline=None, max_examples=25)
@given(
    name=st.sampled_from(["lb", "lnb", "agpucb", "oracle", "mle"]),
    kernel=st.sampled_from(sorted(KERNELS)),
    dim=st.sampled_from([1, 2, 20]),
    in_pool=st.booleans(),
    log_regulariser=st.floats(-12.0, 0.0),
    theta0=st.sampled_from(["mle", 1e-6, 1.0, 1e6]),
    beta=st.sampled_from(["fixed", "theory"]),
    exponent=st.integers(-300, 300),
)
def test_models_of_any_kind(name, kernel, dim, in_pool, log_regulariser, theta0, beta, exponent):
    played = method(name, kernel, 10.0**log_regulariser, 0.01 * 10.0**exponent, beta, theta0)
    play(played, pool(20, dim) if in_pool else box(dim), lambda x, t: wave(x) * 10.0**exponent, steps=4)


@settings(deadline=None)
@given(
    y=st.lists(st.floats(-1e302, 1e302), min_size=2, max_size=12),
    exponent=st.integers(-300, 0),
)
def test_the_mean_and_the_spread_are_exact_for_values_of_any_size(y, exponent):
    """Against exact rational arithmetic with 60 digits more than a float has."""
    values = [value * 10.0**exponent for value in y]
    data = Data(box(1))
    try:
        for value in values:
            data.append(np.zeros((1, 1)), np.array([value]))
    except NumericalError:
        assert max(map(abs, values)) < 1e-320
        return
    with mpmath.workdps(80):
        mean = mpmath.fsum(map(mpmath.mpf, values)) / len(values)
        std = mpmath.sqrt(mpmath.fsum((mpmath.mpf(value) - mean) ** 2 for value in values) / (len(values) - 1))
        size = max(map(abs, values))
        assert abs(data.mean - mean) <= 1e-14 * size + 1e-323
        if len(set(values)) > 1:
            assert abs(data.std - std) <= 1e-14 * size + 1e-323
        else:
            assert data.std == 1.0


def test_values_one_rounding_apart_have_a_spread():
    """Their running mean is one of the two, and leaves no scatter."""
    data = Data(box(1))
    data.append(np.zeros((2, 1)), np.array([1e15 + 0.125, 1e15]))
    assert data.std == pytest.approx(0.125 / math.sqrt(2.0), rel=1e-12)


@pytest.mark.parametrize("y", [math.nan, math.inf, -math.inf, 1.1e302])
def test_a_value_beyond_numbers_is_an_error(y):
    data = Data(box(1))
    with pytest.raises(NumericalError, match="value of y"):
        data.append(np.zeros((1, 1)), np.array([y]))


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1.0, SCALED, 1.0 / SCALED]),
    grown=st.sampled_from([1.0, 2.0**-900, 2.0**600]),
)
def test_merged_repeats_of_any_size_have_their_scatter(seed, scale, grown):
    """Also where later values are far larger or smaller than those that were merged, against the values in full."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(12) * scale
    later = min(abs(scale) * grown, SCALED) * rng.standard_normal(3)
    data = Data(pool(3))
    data.append(rng.integers(3, size=12), y)
    rows = Merged(data)
    data.append(rng.integers(3, size=3), later)
    rows.update()
    within = sum(
        np.square((v - v.mean()) / data.std).sum() for v in (y[data.points[:12] == i] for i in range(3)) if len(v)
    )
    assert rows.standard_scatter == pytest.approx(within, rel=1e-9, abs=1e-200)


@pytest.mark.parametrize("offset", [2.0**27, 2.0**50])
@pytest.mark.parametrize("regulariser", [1e-12, 1e-4])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_a_pool_is_exact_for_values_far_from_0(kernel, regulariser, offset):
    """The mean, of values that are exact at the offset, against a solve with 60 digits."""
    rng = np.random.default_rng(0)
    data, steps = Data(pool(12)), 30
    at = rng.integers(12, size=steps)
    y = offset + np.round(8.0 * rng.standard_normal(12)[at]) / 8.0
    data.append(at[:4], y[:4])
    fitted = posterior(data, KERNELS[kernel], 0.5, regulariser)
    for i in range(4, steps):
        data.append(at[[i]], y[[i]])
        fitted.update()
    covariance = KERNELS[kernel].value(data.domain.sqdist / 0.25)
    with mpmath.workdps(60):
        observed = mpmath.matrix(covariance[np.ix_(at, at)].tolist()) + regulariser * mpmath.eye(steps)
        weights = mpmath.lu_solve(observed, mpmath.matrix(data.z.tolist()))
        expected = [float(value) for value in mpmath.matrix(covariance[:, at].tolist()) * weights]
    np.testing.assert_allclose(fitted.predict(np.arange(12))[0], expected, rtol=0, atol=1e-11)


IMPOSSIBLE = np.array([[0.0, 1e-4, 4.0], [1e-4, 0.0, 1e-4], [4.0, 1e-4, 0.0]])  # no three points are like that


@pytest.mark.parametrize("jitter", JITTERS[1:])
def test_a_likelihood_says_what_jitter_it_needed(jitter):
    covariance = KERNELS["rbf"].value(IMPOSSIBLE)
    regulariser = -np.linalg.eigvalsh(covariance)[0] - 0.9 * jitter
    likelihood = Likelihood(IMPOSSIBLE, np.zeros(3), KERNELS["rbf"], regulariser)
    assert likelihood.jitter == 0.0
    value = likelihood(0.0)
    assert likelihood.jitter == jitter
    _, logarithm = np.linalg.slogdet(covariance + (regulariser + jitter) * np.eye(3))
    assert value == pytest.approx(-1.5 * math.log(2.0 * math.pi) - 0.5 * logarithm, abs=1e-3)


def test_a_growing_likelihood_says_what_jitter_it_needed_since_the_update():
    data = Data(box(1))
    data.append(np.linspace(0.0, 1.0, 40)[:, None], np.sin(np.arange(40.0)))
    likelihood = GrowingLikelihood(data, KERNELS["rbf"], 1e-18)
    likelihood(-4.0)
    assert likelihood.jitter == 0.0
    likelihood(1.0)
    assert likelihood.jitter == 1e-10
    likelihood.update()
    assert likelihood.jitter == 0.0


@pytest.mark.parametrize("name", ["lb", "lnb", "agpucb", "mle", "mcmc"])
def test_a_step_records_the_jitter_of_its_likelihood(name, monkeypatch):
    ordinary = play(method(name), box(1), wave, steps=2)
    assert [step.jitter for step in ordinary[5:]] == [0.0, 0.0]
    evaluate = Likelihood._nats

    def jittery(likelihood, *arguments):
        likelihood.jitter = max(likelihood.jitter, 1e-8)
        return evaluate(likelihood, *arguments)

    monkeypatch.setattr(Likelihood, "_nats", jittery)
    found = play(method(name), box(1), wave, steps=2)
    assert [step.jitter for step in found[5:]] == [1e-8, 1e-8]


def test_the_error_of_an_exhausted_ladder_says_where():
    words = r"size 3 at length scale 0\.25 is not positive definite with jitter 1e-06"
    with pytest.raises(NumericalError, match=words):
        safe_cholesky(-np.eye(3), 0.25)
    with pytest.raises(NumericalError, match=words):
        Likelihood(0.0625 * IMPOSSIBLE, np.zeros(3), KERNELS["matern52"], 1e-4)(math.log(0.25))
    with pytest.raises(NumericalError, match="size 3 is not"):
        safe_cholesky(-np.eye(3))
    for domain in (box(2), pool(3)):
        data = Data(domain)
        data.append(domain.initial(3, np.random.default_rng(0)), np.arange(3.0))
        with pytest.raises(NumericalError, match=words):
            posterior(data, KERNELS["rbf"], 0.25, -2.0)
        with pytest.raises(NumericalError, match=words):
            Factor(Merged(data), KERNELS["rbf"], math.log(0.25), -2.0).update()


@pytest.mark.parametrize("domain", [box(1), pool(5, 1)], ids=["box", "pool"])
@pytest.mark.parametrize("lengthscale", [1e-101, 1e101, 0.0, math.nan])
def test_a_length_scale_beyond_numbers_is_an_error(lengthscale, domain):
    with pytest.raises(NumericalError, match="length scale"):
        posterior(Data(domain), KERNELS["rbf"], lengthscale, 1e-4)


@pytest.mark.parametrize("domain", [box(2), pool(5)], ids=["box", "pool"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_an_acquisition_that_is_not_finite_is_an_error(domain, wrong):
    def acquisition(points):
        values = np.zeros(len(points))
        values[-1] = wrong
        return values

    with pytest.raises(NumericalError, match="acquisition"):
        Maximiser(16, 2)(acquisition, domain, domain.initial(1, np.random.default_rng(0)), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("jagged", "most"),
    [(lambda s: float(s > 0.1), 800), (lambda s: 1e-2 * math.sin(1e7 * s), 2500)],
    ids=["a jump", "noise"],
)
def test_a_function_that_jumps_is_not_halved_without_end(jagged, most):
    seen = []

    def f(s):
        seen.append(s)
        return jagged(s)

    interpolate(f, np.linspace(-1.0, 1.0, 13), 5.0, 1e-6)
    assert len(seen) < most


def test_gauss_of_two_points_has_two_nodes():
    points, weights = np.linspace(0.1, 2.0, 50), np.zeros(50)
    weights[[3, 40]] = 0.25, 0.75
    nodes, shares = gauss(points, weights, 6)
    np.testing.assert_allclose(nodes, points[[3, 40]], rtol=1e-12)
    np.testing.assert_allclose(shares, [0.25, 0.75], rtol=1e-12)


@pytest.mark.parametrize("name", ["lb", "agpucb"])
def test_two_thousand_steps_in_a_pool(name):
    found = play(method(name, regulariser=1e-6), pool(10), wave, steps=2000)
    assert found[-1].jitter == 0.0
    assert 0.0 < found[-1].information_gain < 10 * 0.5 * math.log1p(2005 / 1e-6)
