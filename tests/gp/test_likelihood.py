import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import gpytorch
import numpy as np
import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from numpy.random import Generator
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from lbbench.errors import NumericalError
from lbbench.gp.kernels import KERNELS
from lbbench.gp.likelihood import LONGEST, SHORTEST, Likelihood

LAMBDA = 1e-4
GRID = np.linspace(math.log(SHORTEST), math.log(LONGEST), 2000)


def standardised(y):
    return (y - y.mean()) / y.std(ddof=1)


def draw(x, lengthscale, rng: Generator):
    covariance = KERNELS["matern52"].value(cdist(x, x, "sqeuclidean") / lengthscale**2)
    return np.linalg.cholesky(covariance + 1e-8 * np.eye(len(x))) @ rng.standard_normal(len(x))


@dataclass
class DataSet:
    """Some points, and values that are a GP's, white noise, or a smooth trend under a rough part."""

    x: np.ndarray
    z: np.ndarray
    kernel: str

    @cached_property
    def likelihood(self):
        return Likelihood(cdist(self.x, self.x, "sqeuclidean"), self.z, KERNELS[self.kernel], LAMBDA)

    @cached_property
    def heights(self):
        return np.array([self.likelihood(s) for s in GRID])

    @property
    def is_flat(self):
        """Is the likelihood level towards θ → 0, and no higher anywhere else?"""
        return np.ptp(self.heights[:100]) < 1e-9 and self.heights.max() - self.heights[0] < 1e-3

    @property
    def peaks(self):
        """The number of peaks that stand out by 0.01 nats."""
        count, low, high, rising = 0, np.inf, -np.inf, True
        for height in self.heights:
            low, high = min(low, height), max(high, height)
            if rising and height < high - 0.01:
                count, low, rising = count + 1, height, False
            elif not rising and height > low + 0.01:
                high, rising = height, True
        return count + rising


def make(seed):
    rng = np.random.default_rng(seed)
    x = rng.random((int(rng.integers(5, 41)), int(rng.integers(1, 4))))
    kind = seed % 4
    if kind == 0:
        y = rng.standard_normal(len(x))
    elif kind == 1:
        y = draw(x, math.exp(rng.uniform(-4, 1)), rng)
    elif kind == 2:
        y = draw(x, rng.uniform(0.5, 3), rng) + rng.uniform(0.02, 0.3) * rng.standard_normal(len(x))
    else:
        y = draw(x, rng.uniform(0.5, 3), rng) + rng.uniform(0.02, 0.3) * draw(x, 0.05, rng)
    return DataSet(x, standardised(y), ("matern52", "matern52", "matern32", "rbf")[seed // 4 % 4])


TWO_PEAKED = [("matern52", seed) for seed in (199, 215, 287, 299, 399)] + [
    *(("matern32", seed) for seed in (216, 287, 299)),
    *(("rbf", seed) for seed in (27, 113, 215, 277)),
]


def make_two_peaked(kernel, seed):
    """A trend under noise, which a long length scale explains about as well as a short one; one seed in 80 does it."""
    rng = np.random.default_rng(1000 + seed)
    x = rng.random((int(rng.integers(6, 20)), 1))
    y = draw(x, rng.uniform(0.5, 2.0), rng) + rng.uniform(0.02, 0.3) * rng.standard_normal(len(x))
    return DataSet(x, standardised(y), kernel)


@pytest.fixture(scope="module")
def data_sets():
    return [make_two_peaked(*which) for which in TWO_PEAKED] + [make(seed) for seed in range(100 - len(TWO_PEAKED))]


def botorch_model(data, lengthscale):
    """The same model in BoTorch; GPyTorch's length scale of the RBF is θ/√2."""
    shorter = math.sqrt(2.0) if data.kernel == "rbf" else 1.0
    interval = gpytorch.constraints.Interval(SHORTEST / shorter, LONGEST / shorter)
    if data.kernel == "rbf":
        kernel = gpytorch.kernels.RBFKernel(lengthscale_constraint=interval)
    else:
        kernel = gpytorch.kernels.MaternKernel(nu=KERNELS[data.kernel].smoothness, lengthscale_constraint=interval)
    kernel.double().lengthscale = lengthscale / shorter
    x, z = torch.tensor(data.x), torch.tensor(data.z)[:, None]
    model = SingleTaskGP(
        x,
        z,
        train_Yvar=torch.full_like(z, LAMBDA),
        covar_module=kernel,
        mean_module=gpytorch.means.ZeroMean(),
        outcome_transform=None,
        input_transform=None,
    )
    return gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)


def botorch_likelihood(mll):
    """In total nats; GPyTorch gives nats per datum."""
    model = mll.model.train()
    return mll(model(*model.train_inputs), model.train_targets) * len(model.train_targets)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lengthscale", [0.02, 0.3, 4.0])
def test_value_and_slope_agree_with_gpytorch(kernel, lengthscale):
    rng = np.random.default_rng(1)
    data = DataSet(rng.random((25, 3)), rng.standard_normal(25), kernel)
    mll = botorch_model(data, lengthscale)
    log_lengthscale = torch.tensor(math.log(lengthscale), dtype=torch.double, requires_grad=True)
    covariance = mll.model.covar_module
    del covariance.raw_lengthscale
    covariance.raw_lengthscale = covariance.raw_lengthscale_constraint.inverse_transform(
        log_lengthscale.exp() / (math.sqrt(2.0) if kernel == "rbf" else 1.0)
    ).reshape(1, 1)
    expected = botorch_likelihood(mll)
    (slope,) = torch.autograd.grad(expected, log_lengthscale)
    found = data.likelihood.with_slope(math.log(lengthscale))
    np.testing.assert_allclose(found, [expected.item(), slope.item()], rtol=1e-9)
    assert data.likelihood(math.log(lengthscale)) == pytest.approx(found[0], rel=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_repeated_points_change_nothing(kernel):
    rng = np.random.default_rng(2)
    x = rng.random((12, 2))[[0, 1, 2, 2, 3, 4, 5, 0, 2, 6, 7, 8]]
    z = rng.standard_normal(12)
    sqdist = cdist(x, x, "sqeuclidean")
    likelihood = Likelihood(sqdist, z, KERNELS[kernel], 0.01)

    def dense(s):
        covariance = KERNELS[kernel].value(sqdist * math.exp(-2.0 * s)) + 0.01 * np.eye(12)
        return multivariate_normal(np.zeros(12), covariance).logpdf(z)

    for s in (-3.0, -1.0, 0.5):
        value, slope = likelihood.with_slope(s)
        assert value == pytest.approx(dense(s), rel=1e-9)
        assert slope == pytest.approx((dense(s + 1e-5) - dense(s - 1e-5)) / 2e-5, rel=1e-5, abs=1e-4)


def test_the_data_sets_are_of_all_kinds(data_sets):
    assert sum(data.is_flat for data in data_sets) >= 3
    assert sum(data.peaks >= 2 for data in data_sets) >= 10


def test_maximum_is_no_lower_than_a_dense_grid(data_sets):
    for data in data_sets:
        top = math.log(data.likelihood.maximum())
        around = GRID[data.heights.argmax()] + np.linspace(-0.004, 0.004, 81)
        refined = max(data.likelihood(s) for s in np.clip(around, GRID[0], GRID[-1]))
        assert data.likelihood(top) >= max(refined, data.heights.max()) - 1e-8
        if GRID[0] + 1e-9 < top < GRID[-1] - 1e-9:  # within 1e-6 of where the slope is 0
            curvature = (data.likelihood.with_slope(top + 1e-4)[1] - data.likelihood.with_slope(top - 1e-4)[1]) / 2e-4
            assert abs(data.likelihood.with_slope(top)[1]) <= 1e-6 * max(-curvature, 1e-2)


def test_maximum_is_no_lower_than_botorch_finds_from_many_starts(data_sets):
    for data in data_sets:
        found = data.likelihood(math.log(data.likelihood.maximum()))
        for start in (0.02, 0.15, 1.0):
            mll = botorch_model(data, start)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an optimiser that stopped early is still a bound from below
                fit_gpytorch_mll(mll)
                with torch.no_grad():
                    assert found >= botorch_likelihood(mll).item() - 1e-6


def test_maximum_at_the_ends_of_the_range():
    x = np.linspace(0.0, 1.0, 8)[:, None]
    rough = DataSet(x, standardised(np.tile([-1.0, 1.0], 4)), "matern52")
    assert rough.likelihood.maximum(shortest=0.2, longest=1.0) == pytest.approx(0.2)
    smooth = DataSet(x, 0.1 + 0.001 * x[:, 0], "matern52")
    assert smooth.likelihood.maximum(shortest=0.05, longest=0.5) == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(5))
def test_longest_plausible_is_the_right_edge_of_the_plateau(seed):
    rng = np.random.default_rng(seed)
    data = DataSet(rng.random((10, 5)), standardised(rng.standard_normal(10)), "matern52")
    grid = np.linspace(GRID[0], GRID[-1], 20_000)
    heights = np.array([data.likelihood(s) for s in grid])
    edge = grid[np.flatnonzero(heights >= heights.max() - 1e-3)[-1]]
    assert math.log(data.likelihood.longest_plausible()) == pytest.approx(edge, abs=grid[1] - grid[0])


def test_longest_plausible_of_equal_values_is_the_longest_there_is():
    data = DataSet(np.random.default_rng(0).random((10, 2)), np.zeros(10), "matern52")
    assert data.likelihood.longest_plausible() == pytest.approx(LONGEST)


def test_what_is_not_finite_is_an_error():
    sqdist = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(NumericalError, match="not finite"):
        Likelihood(sqdist, np.array([np.nan, 1.0]), KERNELS["matern52"], LAMBDA)(0.0)
    with pytest.raises(NumericalError):
        Likelihood(sqdist * np.nan, np.array([0.0, 1.0]), KERNELS["matern52"], LAMBDA).maximum()


def test_a_matrix_that_is_not_positive_definite_is_an_error():
    sqdist = np.array([[0.0, 1e-4, 4.0], [1e-4, 0.0, 1e-4], [4.0, 1e-4, 0.0]])  # no three points are like that
    with pytest.raises(NumericalError, match="jitter"):
        Likelihood(sqdist, np.zeros(3), KERNELS["matern52"], LAMBDA)(0.0)
