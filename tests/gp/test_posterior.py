"""Posteriors against GPyTorch, against a solve in extended precision, and against autograd."""

import math

import gpytorch
import linear_operator
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve

from lbbench.acquisition import UCB
from lbbench.domain import Box, Pool
from lbbench.errors import NumericalError
from lbbench.gp.box import BoxPosterior
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.linalg import JITTERS, safe_cholesky, solve_lower
from lbbench.gp.pool import PoolPosterior
from lbbench.gp.posterior import posterior

REGULARISER = 1e-4
SIZES = (1, 10, 100, 250)
LENGTHSCALES = (0.005, 0.05, 0.5, 2.0, 10.0)
MEAN_TOLERANCE, VARIANCE_TOLERANCE = 1e-7, 1e-8

every_kernel = pytest.mark.parametrize("name", sorted(KERNELS))
every_lengthscale = pytest.mark.parametrize("lengthscale", LENGTHSCALES)


class ExactGP(gpytorch.models.ExactGP):
    """Zero mean, fixed length scale, output scale 1."""

    def __init__(self, x, z, likelihood, name, lengthscale):
        super().__init__(x, z, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        nu = KERNELS[name].smoothness
        self.covar_module = (gpytorch.kernels.MaternKernel(nu=nu) if nu else gpytorch.kernels.RBFKernel()).double()
        # In double before it is set: a length scale that has been a float32 would be off by 1e-8.
        self.covar_module.lengthscale = torch.tensor(lengthscale if nu else lengthscale / math.sqrt(2), dtype=z.dtype)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def gpytorch_posterior(name, lengthscale, x, z, at):
    """Mean and latent variance from GPyTorch, by Cholesky, `(k,)` each."""
    x, z, at = (torch.tensor(a, dtype=torch.float64) for a in (x, z, at))
    likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(torch.full_like(z, REGULARISER))
    model = ExactGP(x, z, likelihood, name, lengthscale).eval().requires_grad_(False)
    exact = linear_operator.settings.fast_computations(False, False, False)
    with torch.no_grad(), exact, linear_operator.settings.max_cholesky_size(10_000):
        latent = model(at)
        return latent.mean.numpy(), latent.variance.numpy()


def extended_posterior(name, lengthscale, x, z, at):
    """Mean and latent variance from the kernel matrix in extended precision, its solve refined to the same."""
    extended = np.longdouble

    def covariance(a, b):
        u = ((a[:, None].astype(extended) - b[None]) ** 2).sum(2) / extended(lengthscale) ** 2
        if name == "rbf":
            return np.exp(-u)
        r = np.sqrt(2 * extended(KERNELS[name].smoothness) * u)
        return (1 + r + (r * r / 3 if name == "matern52" else 0)) * np.exp(-r)

    matrix = covariance(x, x) + extended(REGULARISER) * np.eye(len(x), dtype=extended)
    cross = covariance(at, x)
    right = np.column_stack([z.astype(extended), cross.T])
    factor = cho_factor(matrix.astype(float), lower=True)
    solution = np.zeros_like(right)
    for _ in range(5):
        solution += cho_solve(factor, (right - matrix @ solution).astype(float))
    variance = 1 - np.einsum("ij,ji->i", cross, solution[:, 1:])
    return (cross @ solution[:, 0]).astype(float), variance.astype(float)


def box_observations(n, dim, rng):
    """n points, a fifth of them repeats of others with values of their own."""
    x = rng.random((n, dim))
    repeated = rng.random(n) < 0.2
    x[repeated] = x[rng.integers(n, size=n)[repeated]]
    return x, np.sin(5 * x).sum(1) + 0.5 * rng.standard_normal(n)


def box(dim):
    return Box(np.zeros(dim), np.ones(dim))


def cuts(n, by, rng):
    """Where to cut n observations into single ones, or into blocks that end at SIZES among others."""
    if by == "one":
        return list(range(1, n + 1))
    return sorted({*SIZES, *rng.integers(1, n, size=8).tolist()})


def feed(data, fitted, points, y, ends):
    """Append blocks that end at `ends`, one update each; yields each end."""
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        data.append(points[start:end], y[start:end])
        fitted.update()
        yield end


def assert_agrees(predicted, reference, mean_tolerance=MEAN_TOLERANCE, variance_tolerance=VARIANCE_TOLERANCE):
    np.testing.assert_allclose(predicted[0], reference[0], rtol=0, atol=mean_tolerance)
    np.testing.assert_allclose(predicted[1] ** 2, reference[1], rtol=0, atol=variance_tolerance)


@every_kernel
@every_lengthscale
@pytest.mark.parametrize(("dim", "by"), [(1, "block"), (5, "one")])
def test_box_posterior_is_gpytorchs(name, lengthscale, dim, by):
    rng = np.random.default_rng(dim)
    points, y = box_observations(SIZES[-1], dim, rng)
    data = Data(box(dim))
    fitted = BoxPosterior(data, KERNELS[name], lengthscale, REGULARISER)
    for n in feed(data, fitted, points, y, cuts(SIZES[-1], by, rng)):
        if n in SIZES:
            at = np.concatenate([rng.random((25, dim)), points[:n][:15]])
            predicted = fitted.predict(at)
            assert_agrees(predicted, gpytorch_posterior(name, lengthscale, points[:n], data.z, at))
            if n <= 100:
                # GPyTorch expands |a − b|² and loses digits at θ = 0.005, so the tighter judgement is this one.
                assert_agrees(predicted, extended_posterior(name, lengthscale, points[:n], data.z, at), 1e-9, 1e-12)
    assert fitted.n == data.n == SIZES[-1]
    assert fitted.jitter == 0.0


@every_kernel
@every_lengthscale
@pytest.mark.parametrize(("size", "by"), [(40, "one"), (300, "block")])
def test_pool_posterior_is_gpytorchs(name, lengthscale, size, by):
    rng = np.random.default_rng(size)
    pool = Pool(rng.random((size, 3)) * [1.0, 50.0, 1e-3])
    points = rng.integers(size, size=SIZES[-1])  # 250 draws from 40 candidates: many repeats, and folds
    y = np.sin(5 * pool.coordinates[points]).sum(1) + 0.1 * rng.standard_normal(len(points))
    data = Data(pool)
    fitted = PoolPosterior(data, KERNELS[name], lengthscale, REGULARISER)
    for n in feed(data, fitted, points, y, cuts(SIZES[-1], by, rng)):
        if n in SIZES:
            at = np.arange(size)
            reference = gpytorch_posterior(name, lengthscale, data.x, data.z, pool.coordinates)
            assert_agrees(fitted.predict(at), reference)
    assert fitted.jitter == 0.0


@every_kernel
@every_lengthscale
def test_pool_posterior_stays_exact_after_thousands_of_observations(name, lengthscale):
    rng = np.random.default_rng(5)
    pool = Pool(rng.random((50, 2)))
    points = rng.integers(50, size=2200)
    points[:600] = rng.integers(3, size=600)  # three arms pulled many times before any other
    y = np.sin(5 * pool.coordinates[points]).sum(1) + 0.1 * rng.standard_normal(len(points))
    data = Data(pool)
    fitted = PoolPosterior(data, KERNELS[name], lengthscale, REGULARISER)
    ends = sorted({*range(1, 1200), *range(1200, 2200, 90), 2200})
    assert list(feed(data, fitted, points, y, ends))[-1] == 2200

    # n repeats of an arm are one observation of their mean with noise λ/n, so the dense solve is one of the 50 arms.
    counts = np.bincount(points, minlength=50)
    means = np.bincount(points, weights=data.z, minlength=50) / counts
    covariance = KERNELS[name].value(pool.sqdist / lengthscale**2)
    factor = cho_factor(covariance + np.diag(REGULARISER / counts), lower=True)
    mean = covariance @ cho_solve(factor, means)
    variance = 1 - np.einsum("ij,ij->j", covariance, cho_solve(factor, covariance))
    assert_agrees(fitted.predict(np.arange(50)), (mean, variance), 1e-8, 1e-8)
    assert len(fitted._rows) <= 50, "the memory of a pool posterior is bounded by the pool"


def test_merging_repeats_is_the_same_as_the_full_matrix():
    rng = np.random.default_rng(2)
    pool = Pool(rng.random((12, 2)))
    data = Data(pool)
    data.append(rng.integers(12, size=300), rng.standard_normal(300))
    reference = extended_posterior("matern52", 0.4, data.x, data.z, pool.coordinates)
    assert_agrees(posterior(data, KERNELS["matern52"], 0.4, REGULARISER).predict(np.arange(12)), reference, 1e-9, 1e-12)


@every_kernel
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 40),
    blocks=st.lists(st.integers(1, 12), min_size=1, max_size=8),
    log_lengthscale=st.floats(math.log(0.005), math.log(10.0)),
    regulariser=st.sampled_from([1e-4, 1e-2, 1.0]),
    in_pool=st.booleans(),
)
def test_information_gain_is_half_the_log_determinant(name, seed, n, blocks, log_lengthscale, regulariser, in_pool):
    rng = np.random.default_rng(seed)
    lengthscale = math.exp(log_lengthscale)
    if in_pool:
        data = Data(Pool(rng.random((8, 2))))
        points, y = rng.integers(8, size=n), rng.standard_normal(n)
    else:
        data = Data(box(2))
        points, y = box_observations(n, 2, rng)
    fitted = posterior(data, KERNELS[name], lengthscale, regulariser)
    assert fitted.information_gain == 0.0
    ends = [*(end for end in np.cumsum(blocks).tolist() if end < n), n]
    for end in feed(data, fitted, points, y, ends):
        covariance = KERNELS[name].value(data.sqdist / lengthscale**2)
        sign, log_det = np.linalg.slogdet(np.eye(end) + covariance / regulariser)
        assert sign == 1
        assert fitted.information_gain == pytest.approx(0.5 * log_det, rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), in_pool=st.booleans(), log_lengthscale=st.floats(math.log(0.05), math.log(2.0)))
def test_updates_may_be_skipped(seed, in_pool, log_lengthscale):
    """A length scale that was out of use for a while catches up to what it would have been."""
    rng = np.random.default_rng(seed)
    data = Data(Pool(rng.random((9, 3))) if in_pool else box(3))
    points, y = data.domain.uniform(30, rng), rng.standard_normal(30)
    eager, lazy = (posterior(data, KERNELS["matern52"], math.exp(log_lengthscale), REGULARISER) for _ in range(2))
    for i in range(30):
        data.append(points[[i]], y[[i]])
        eager.update()
        if rng.random() < 0.15 or i == 29:
            lazy.update()
    at = data.domain.uniform(20, rng)
    for a, b in zip(eager.predict(at), lazy.predict(at), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8)
    assert eager.information_gain == pytest.approx(lazy.information_gain, rel=1e-10)


def torch_ucb(name, lengthscale, beta, x, z, at):
    """UCB by a dense solve, differentiable in `at`."""

    def covariance(a, b):
        u = ((a[:, None] - b[None]) ** 2).sum(2) / lengthscale**2
        if name == "rbf":
            return torch.exp(-u)
        r = torch.sqrt(2 * KERNELS[name].smoothness * torch.clamp(u, min=1e-300))
        return (1 + r + (r * r / 3 if name == "matern52" else 0)) * torch.exp(-r)

    cross = covariance(at, x)
    matrix = covariance(x, x) + REGULARISER * torch.eye(len(x), dtype=torch.float64)
    variance = 1 - (cross * torch.linalg.solve(matrix, cross.T).T).sum(1)
    return cross @ torch.linalg.solve(matrix, z) + beta * torch.sqrt(variance)


@every_kernel
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 60),
    dim=st.integers(1, 6),
    log_lengthscale=st.floats(math.log(0.05), math.log(3.0)),
    beta=st.floats(0.0, 5.0),
)
def test_ucb_gradient_is_autograds(name, seed, n, dim, log_lengthscale, beta):
    rng = np.random.default_rng(seed)
    lengthscale = math.exp(log_lengthscale)
    data = Data(box(dim))
    data.append(*box_observations(n, dim, rng))
    acquisition = UCB(posterior(data, KERNELS[name], lengthscale, REGULARISER), beta)
    points = rng.random((7, dim))
    at = torch.tensor(points, requires_grad=True)
    expected = torch_ucb(name, lengthscale, beta, torch.tensor(data.x), torch.tensor(data.z), at)
    (expected_gradient,) = torch.autograd.grad(expected.sum(), at)
    values, gradients, _ = acquisition.expand(points)
    np.testing.assert_allclose(values, expected.detach().numpy(), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(gradients, expected_gradient.numpy(), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(values, acquisition(points), rtol=0, atol=1e-10)


@every_kernel
@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 40),
    dim=st.integers(1, 5),
    log_lengthscale=st.floats(math.log(0.1), math.log(2.0)),
    beta=st.floats(0.0, 3.0),
)
def test_ucb_hessian_is_autograds(name, seed, n, dim, log_lengthscale, beta):
    rng = np.random.default_rng(seed)
    lengthscale = math.exp(log_lengthscale)
    data = Data(box(dim))
    data.append(*box_observations(n, dim, rng))
    acquisition = UCB(posterior(data, KERNELS[name], lengthscale, REGULARISER), beta)
    points = rng.random((3, dim))
    x, z = torch.tensor(data.x), torch.tensor(data.z)
    _, _, hessians = acquisition.expand(points)
    for point, hessian in zip(points, hessians, strict=True):
        expected = torch.autograd.functional.hessian(
            lambda at: torch_ucb(name, lengthscale, beta, x, z, at[None])[0], torch.tensor(point)
        )
        scale = max(1.0, float(expected.abs().max()))
        np.testing.assert_allclose(hessian / scale, expected.numpy() / scale, rtol=1e-6, atol=1e-6)


@every_kernel
def test_derivatives_are_finite_at_a_repeated_observation(name):
    rng = np.random.default_rng(0)
    data = Data(box(2))
    points, y = box_observations(30, 2, rng)
    data.append(np.concatenate([points, points]), np.concatenate([y, y]))
    fitted = posterior(data, KERNELS[name], 10.0, REGULARISER)
    assert all(np.isfinite(part).all() for part in fitted.expand(points))


@every_kernel
def test_without_data_the_posterior_is_the_prior(name):
    rng = np.random.default_rng(0)
    for domain in (box(2), Pool(rng.random((5, 2)))):
        fitted = posterior(Data(domain), KERNELS[name], 0.3, REGULARISER)
        mean, std = fitted.predict(domain.uniform(4, rng))
        np.testing.assert_array_equal(mean, np.zeros(4))
        np.testing.assert_array_equal(std, np.ones(4))
        assert fitted.information_gain == 0.0


def test_safe_cholesky_factors_and_reports_the_jitter_it_needed():
    rng = np.random.default_rng(0)
    root = rng.random((6, 6))
    factor, jitter = safe_cholesky(root @ root.T + np.eye(6))
    assert jitter == 0.0
    np.testing.assert_allclose(factor @ factor.T, root @ root.T + np.eye(6), rtol=1e-12)
    np.testing.assert_array_equal(factor, np.tril(factor))

    indefinite = np.diag([1.0, -5e-9])
    factor, jitter = safe_cholesky(indefinite)
    assert jitter == 1e-8
    np.testing.assert_allclose(factor @ factor.T, indefinite + jitter * np.eye(2), rtol=0, atol=1e-15)


@pytest.mark.parametrize("matrix", [np.diag([1.0, -2 * JITTERS[-1]]), np.array([[np.nan]]), np.array([[np.inf]])])
def test_safe_cholesky_gives_up_with_a_typed_error(matrix):
    with pytest.raises(NumericalError):
        safe_cholesky(matrix)


def test_solve_lower_reads_the_lower_triangle():
    factor = np.array([[2.0, 99.0], [1.0, 4.0]])
    np.testing.assert_allclose(solve_lower(factor, np.array([2.0, 9.0])), [1.0, 2.0])
