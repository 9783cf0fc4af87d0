import math
import random

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from lbbench.acquisition import UCB
from lbbench.domain import Box
from lbbench.errors import NumericalError
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.lengthscale_posterior import gauss, log_density, nuts, quadrature
from lbbench.gp.likelihood import Likelihood
from lbbench.gp.posterior import posterior

LAMBDA = 1e-4
QUANTILES = (0.05, 0.5, 0.95)


def draw(x, lengthscale, rng):
    covariance = KERNELS["matern52"].value(cdist(x, x, "sqeuclidean") / lengthscale**2)
    return np.linalg.cholesky(covariance + 1e-8 * np.eye(len(x))) @ rng.standard_normal(len(x))


def observed(x, y):
    data = Data(Box(np.zeros(x.shape[1]), np.ones(x.shape[1])))
    data.append(x, y)
    return data


def smooth(n, dim, lengthscale=0.4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random((n, dim))
    return observed(x, draw(x, lengthscale, rng))


def flat(n, dim):
    rng = np.random.default_rng(n)
    return observed(rng.random((n, dim)), rng.standard_normal(n))


def two_peaked(seed, noise):
    """A trend under so much noise that a long length scale explains it about as well as a short one."""
    rng = np.random.default_rng(seed)
    x = rng.random((int(rng.integers(6, 20)), 1))
    trend = draw(x, rng.uniform(0.5, 2.0), rng)
    rng.random()
    return observed(x, trend + noise * rng.standard_normal(len(x)))


def clusters(n):
    """White noise at points so close together that the likelihood asks for θ ≪ 1e-3."""
    rng = np.random.default_rng(5)
    return observed(0.5 + 1e-4 * rng.standard_normal((n, 2)), rng.standard_normal(n))


TWO_PEAKED = {
    "two peaks, deep valley": ("matern52", lambda: two_peaked(1399, 0.105)),
    "two peaks": ("matern52", lambda: two_peaked(1027, 0.0851)),
    "two peaks, RBF": ("rbf", lambda: two_peaked(1028, 0.0196)),
    "two peaks, RBF, close": ("rbf", lambda: two_peaked(1113, 0.0453)),
}
CASES = TWO_PEAKED | {
    "3 points": ("matern52", lambda: smooth(3, 2)),
    "3 points, RBF": ("rbf", lambda: smooth(3, 4)),
    "8 points": ("matern32", lambda: smooth(8, 1)),
    "25 points": ("matern52", lambda: smooth(25, 3, 0.2)),
    "100 points": ("matern52", lambda: smooth(100, 2, 0.3)),
    "100 points, RBF": ("rbf", lambda: smooth(100, 4, 1.0)),
    "flat": ("matern52", lambda: flat(10, 5)),
    "flat, many": ("matern32", lambda: flat(50, 5)),
    "equal values": ("matern52", lambda: observed(np.random.default_rng(0).random((6, 2)), np.ones(6))),
    "clusters": ("matern52", lambda: clusters(12)),
}


def likelihood_of(case):
    kernel, make = CASES[case]
    return Likelihood.of(make(), KERNELS[kernel], LAMBDA)


def by_brute_force(likelihood, points, low=1e-6, high=60.0):
    """A grid of s = ln θ and the probability of each of its points."""
    grid = np.linspace(math.log(low), math.log(high), points)
    heights = np.array([log_density(likelihood, s) for s in grid])
    density = np.exp(heights - heights.max())
    return grid, density / density.sum()


@pytest.mark.parametrize("case", CASES)
def test_quadrature_agrees_with_brute_force(case):
    likelihood = likelihood_of(case)
    found = quadrature(likelihood)
    grid, probability = by_brute_force(likelihood, 20_000)
    mean = probability @ np.exp(grid)
    assert found.mean == pytest.approx(mean, rel=1e-4)
    assert found.weights @ found.lengthscales == pytest.approx(mean, rel=1e-4)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    cumulative = np.cumsum(probability) - 0.5 * probability
    for p in QUANTILES:
        assert found.quantile(p) == pytest.approx(math.exp(np.interp(p, cumulative, grid)), rel=1e-3)


@pytest.mark.parametrize("case", TWO_PEAKED)
def test_both_peaks_count(case):
    _, probability = by_brute_force(likelihood_of(case), 2000)
    inner = probability[1:-1]
    peaks = np.flatnonzero((inner > probability[:-2]) & (inner >= probability[2:]) & (inner > 0.05 * inner.max())) + 1
    assert len(peaks) >= 2
    assert inner[peaks[0] : peaks[1]].min() < 0.5 * probability[peaks].min()
    valley = peaks[0] + probability[peaks[0] : peaks[1]].argmin()
    assert 0.05 < probability[:valley].sum() < 0.95


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("100 points", "100 points, RBF", "clusters")])
def test_quadrature_averages_the_ucb(case):
    kernel, make = CASES[case]
    data, rng = make(), np.random.default_rng(0)
    points = rng.random((50, data.domain.dim))

    def ucb(lengthscale):
        return UCB(posterior(data, KERNELS[kernel], float(lengthscale), LAMBDA), 1.0)(points)

    likelihood = Likelihood.of(data, KERNELS[kernel], LAMBDA)
    grid, probability = by_brute_force(likelihood, 1000, 1e-5, 30.0)
    kept = probability > 1e-12
    expected = probability[kept] @ np.array([ucb(lengthscale) for lengthscale in np.exp(grid[kept])])
    found = quadrature(likelihood)
    assert 3 <= len(found.lengthscales) <= 30
    error = np.abs(found.weights @ np.array([ucb(lengthscale) for lengthscale in found.lengthscales]) - expected)
    bound = {"two peaks, RBF": 3e-3, "two peaks, RBF, close": 3e-4}  # where the UCB all but jumps between the peaks
    assert error.max() < bound.get(case, 1e-4)
    more = quadrature(likelihood, nodes=40)
    assert len(more.lengthscales) == 40
    error = np.abs(more.weights @ np.array([ucb(lengthscale) for lengthscale in more.lengthscales]) - expected)
    assert error.max() < 2e-5


def test_a_narrow_posterior_takes_few_nodes():
    assert len(quadrature(likelihood_of("100 points")).lengthscales) == 3


class Counted(Likelihood):
    count = 0

    def __call__(self, log_lengthscale):
        self.count += 1
        return super().__call__(log_lengthscale)


def test_quadrature_is_frugal():
    counts = []
    for case in set(CASES) - {"clusters"}:
        kernel, make = CASES[case]
        likelihood = Counted.of(make(), KERNELS[kernel], LAMBDA)
        quadrature(likelihood)
        counts.append(likelihood.count)
    assert np.mean(counts) < 80
    assert max(counts) < 150


def test_gauss_of_a_uniform_measure_is_gauss_legendre():
    points = np.linspace(-1.0, 1.0, 200_001)
    nodes, weights = gauss(points, np.full(len(points), 1.0 / len(points)), 6)
    expected_nodes, expected_weights = np.polynomial.legendre.leggauss(6)
    np.testing.assert_allclose(nodes, expected_nodes, atol=1e-4)
    np.testing.assert_allclose(2.0 * weights, expected_weights, atol=1e-4)


@pytest.fixture(scope="module", params=["8 points", "flat"])
def chain(request):
    """A case with a long chain of its length scales."""
    return request.param, nuts(likelihood_of(request.param), np.random.default_rng(1), warmup=300, samples=4000)


def test_nuts_agrees_with_quadrature(chain):
    case, sampled = chain
    exact = quadrature(likelihood_of(case))
    assert sampled.divergences <= 20
    assert sampled.rhat == pytest.approx(1.0, abs=0.02)
    assert sampled.ess > 400
    error = sampled.lengthscales.std() / math.sqrt(sampled.ess)
    assert sampled.mean == pytest.approx(exact.mean, abs=4.0 * error)
    for p in QUANTILES:
        below = (sampled.lengthscales < exact.quantile(p)).mean()
        assert below == pytest.approx(p, abs=4.0 * math.sqrt(p * (1.0 - p) / sampled.ess))


def test_the_ucb_averaged_over_a_chain_agrees_with_quadrature(chain):
    case, sampled = chain
    kernel, make = CASES[case]
    data = make()
    points = np.random.default_rng(0).random((20, data.domain.dim))

    def ucb(lengthscales):
        models = (posterior(data, KERNELS[kernel], float(lengthscale), LAMBDA) for lengthscale in lengthscales)
        return np.array([UCB(model, 1.0)(points) for model in models])

    exact = quadrature(likelihood_of(case))
    values = ucb(sampled.lengthscales[::4])
    error = values.std(0) / math.sqrt(min(sampled.ess, len(values)))
    assert np.all(np.abs(values.mean(0) - exact.weights @ ucb(exact.lengthscales)) < 4.0 * error + 3e-4)


def test_nuts_depends_on_its_generator_alone():
    likelihood = likelihood_of("8 points")
    torch.manual_seed(1)
    first = nuts(likelihood, np.random.default_rng(7), warmup=40, samples=20)
    torch.manual_seed(2)
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    second = nuts(likelihood, np.random.default_rng(7), warmup=40, samples=20)
    third = nuts(likelihood, np.random.default_rng(8), warmup=40, samples=20)
    np.testing.assert_array_equal(first.lengthscales, second.lengthscales)
    assert (first.divergences, first.rhat, first.ess) == (second.divergences, second.rhat, second.ess)
    assert not np.array_equal(second.lengthscales, third.lengthscales)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert random.getstate() == before[2]


def test_nuts_is_quiet(capfd, recwarn):
    nuts(likelihood_of("flat"), np.random.default_rng(0), warmup=10, samples=10)
    assert capfd.readouterr() == ("", "")
    assert [warning for warning in recwarn if warning.category is not DeprecationWarning] == []


class Poisoned(Likelihood):
    """Fine until NUTS asks for slopes."""

    poison: float | Exception

    def with_slope(self, log_lengthscale):
        if isinstance(self.poison, Exception):
            raise self.poison
        return self.poison, 0.0


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, RuntimeError("out of memory")])
def test_nuts_on_a_poisoned_likelihood_is_an_error(poison):
    likelihood = Poisoned.of(smooth(8, 1), KERNELS["matern52"], LAMBDA)
    likelihood.poison = poison
    with pytest.raises(NumericalError, match=r"not finite|out of memory") as caught:
        nuts(likelihood, np.random.default_rng(0), warmup=10, samples=10)
    assert caught.value.__cause__ is not None


def test_a_chain_that_does_not_move_is_an_error():
    class Wrong(Likelihood):
        start = None

        def with_slope(self, log_lengthscale):
            self.start = self.start or log_lengthscale
            return (0.0 if log_lengthscale == self.start else -1e9), 0.0

    likelihood = Wrong.of(smooth(8, 1), KERNELS["matern52"], LAMBDA)
    with pytest.raises(NumericalError, match="diverged"):
        nuts(likelihood, np.random.default_rng(0), warmup=0, samples=10)


def test_observations_that_are_not_finite_are_an_error():
    sqdist = cdist(np.arange(4.0)[:, None], np.arange(4.0)[:, None], "sqeuclidean")
    likelihood = Likelihood(sqdist, np.array([0.0, 1.0, np.nan, 2.0]), KERNELS["matern52"], LAMBDA)
    with pytest.raises(NumericalError, match="not finite"):
        quadrature(likelihood)
    with pytest.raises(NumericalError, match="not finite"):
        nuts(likelihood, np.random.default_rng(0))
