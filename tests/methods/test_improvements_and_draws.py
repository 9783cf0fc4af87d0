"""What the bandits' methods maximise: improvements against BoTorch's, draws and posteriors against direct solves."""

import math
import warnings

import numpy as np
import pytest
import torch
from arms import THETA, directly, played, prior, values
from botorch.acquisition import ExpectedImprovement, ProbabilityOfImprovement
from botorch.models.model import Model
from botorch.posteriors import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from scipy import stats
from scipy.spatial.distance import cdist

from lbbench.acquisition import EI, PI, Draw
from lbbench.domain import Box, Pool
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.posterior import posterior
from lbbench.methods.base import Surrogate
from lbbench.methods.gpts import GPTS
from lbbench.problems import bandits


def model(seed=0, dim=2, n=12, noise=0.01):
    """Our posterior, and BoTorch's of the same data."""
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import RBFKernel
    from gpytorch.means import ZeroMean

    rng = np.random.default_rng(seed)
    x = rng.random((n, dim))
    data = Data(Box(np.zeros(dim), np.ones(dim)))
    data.append(x, np.sin(7 * x).sum(1) + 0.1 * rng.standard_normal(n))
    ours = posterior(data, KERNELS["rbf"], 0.4, noise)
    kernel = RBFKernel().double()
    kernel.lengthscale = torch.tensor(0.4 / math.sqrt(2), dtype=torch.float64)
    z = torch.tensor(data.z)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = SingleTaskGP(
            torch.tensor(x),
            z,
            torch.full_like(z, noise),
            covar_module=kernel,
            mean_module=ZeroMean(),
            outcome_transform=None,
        )
    return ours, theirs.eval()


class Mirror(Model):
    """A BoTorch model that has our means and standard deviations, to the last bit."""

    num_outputs = 1

    def __init__(self, fitted):
        super().__init__()
        self.fitted = fitted

    def posterior(self, X, **options):
        mean, std = map(torch.tensor, self.fitted.predict(X[:, 0].numpy()))
        return GPyTorchPosterior(MultivariateNormal(mean[:, None], (std**2)[:, None, None]))


def botorchs(ours, fitted, incumbent):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BoTorch would rather have the logarithm
        return {EI: ExpectedImprovement, PI: ProbabilityOfImprovement}[ours](
            fitted, best_f=torch.tensor(incumbent, dtype=torch.float64)
        )


@pytest.mark.parametrize("ours", [EI, PI])
@pytest.mark.parametrize("seed", range(5))
def test_improvements_are_botorchs(ours, seed):
    fitted, theirs = model(seed)
    incumbent = float(fitted.predict(fitted.data.points)[0].max())
    points = np.random.default_rng(100 + seed).random((200, 2))
    found, x = ours(fitted, incumbent)(points), torch.tensor(points)[:, None]
    assert (found > 1e-3).sum() > 10
    expected = botorchs(ours, Mirror(fitted), incumbent)(x).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found, botorchs(ours, theirs, incumbent)(x).detach().numpy(), rtol=0, atol=1e-7)


@pytest.mark.parametrize("ours", [EI, PI])
def test_derivatives_of_improvements_are_autograds(ours):
    fitted, theirs = model(3)
    reference = botorchs(ours, theirs, 0.7)
    points = np.random.default_rng(5).random((20, 2))
    found, gradients, hessians = ours(fitted, 0.7).expand(points)
    np.testing.assert_allclose(found, ours(fitted, 0.7)(points), atol=1e-12)

    def at(x):
        return reference(x[None, None])[0]

    for i, x in enumerate(torch.tensor(points)):
        gradient = torch.autograd.functional.jacobian(at, x).numpy()
        hessian = torch.autograd.functional.hessian(at, x).numpy()
        np.testing.assert_allclose(gradients[i], gradient, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(hessians[i], hessian, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["ei", "pi"])
def test_the_incumbent_is_the_largest_mean_at_the_points_played(method):
    rows, problem = played(method, "gprbf", steps=12)
    K, noise = prior(problem), problem.noise_std**2
    for n in range(2, 13):
        at, y = [row["point"] for row in rows[:n]], np.array([row["y"] for row in rows[:n]])
        gain = np.linalg.solve(K[np.ix_(at, at)] + noise * np.eye(n), K[at]).T
        mean, std = gain @ y, np.sqrt(1.0 - np.einsum("ij,ji->i", gain, K[at]))
        z = (mean - mean[at].max()) / std
        h = (
            stats.norm.cdf(z)
            if method == "pi"
            else (mean - mean[at].max()) * stats.norm.cdf(z) + std * stats.norm.pdf(z)
        )
        assert h[rows[n]["point"]] >= h.max() - 1e-9


def pool_posterior(n=60, noise=0.02, seed=1):
    problem = bandits.gprbf(THETA["rbf"], seed=seed)
    data = Data(problem.domain, standardise=False)
    rng = np.random.default_rng(seed)
    at = rng.integers(100, size=n)
    data.append(at, values(problem)[at] + noise * rng.standard_normal(n))
    return problem, data, posterior(data, KERNELS["rbf"], THETA["rbf"], noise**2)


def test_the_joint_distribution_of_a_pool_is_the_posteriors():
    problem, data, fitted = pool_posterior()
    mean, expected = directly(prior(problem), data.points, data.y, fitted.regulariser)
    joint = fitted.joint(np.arange(100))
    np.testing.assert_allclose(joint.mean, mean, atol=1e-8)
    np.testing.assert_allclose(joint.root @ joint.root.T, expected, atol=1e-10)


def test_the_joint_distribution_in_a_box_is_botorchs():
    fitted, theirs = model(2, noise=0.05)
    points = np.random.default_rng(0).random((30, 2))
    joint = fitted.joint(points)
    reference = theirs.posterior(torch.tensor(points))
    np.testing.assert_allclose(joint.mean, reference.mean.detach().numpy()[:, 0], atol=1e-8)
    np.testing.assert_allclose(
        joint.root @ joint.root.T, reference.distribution.covariance_matrix.detach().numpy(), atol=1e-8
    )


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_draws_have_the_posteriors_mean_and_covariance(scale):
    problem, data, fitted = pool_posterior(n=15)
    mean, expected = directly(prior(problem), data.points, data.y, fitted.regulariser)
    expected = scale**2 * expected
    rng, n = np.random.default_rng(3), 20_000
    drawn = np.array([Draw(fitted, scale, rng)(np.arange(100)) for _ in range(n)])
    std = np.sqrt(np.maximum(np.diag(expected), 1e-12))
    assert np.abs((drawn.mean(0) - mean) / std).max() < 5.0 / math.sqrt(n)
    found = np.cov(drawn.T)
    error = np.sqrt((expected**2 + np.outer(std, std) ** 2) / n)  # of a covariance of normals
    assert (np.abs(found - expected) / error).max() < 6.0


def test_gpts_plays_an_arm_as_often_as_it_is_the_best_of_a_draw():
    rng = np.random.default_rng(0)
    arms = Pool(np.array([[0.0], [0.1], [0.5], [0.9], [1.0]]))
    data = Data(arms, standardise=False)
    data.append(np.array([0, 2, 2, 3]), np.array([0.3, 0.2, 0.5, 0.1]))
    surrogate = Surrogate(KERNELS["rbf"], 0.05, norm=0.4, delta=0.1, noise_std=0.2)
    method = GPTS(surrogate, 0.3, 2.0)
    method.start(data)

    def maximise(draw):
        return np.array([np.argmax(draw(np.arange(5)))])

    played = [int(method.suggest(data, 1, maximise, rng).point[0]) for _ in range(20_000)]
    K = np.exp(-cdist(arms.candidates, arms.candidates, "sqeuclidean") / 0.3**2)
    mean, covariance = directly(K, data.points, data.y, 0.05)
    v = 0.4 + 0.2 * math.sqrt(2 * (2.0 + 1 + math.log(20)))
    best = rng.multivariate_normal(mean, v**2 * covariance, size=20_000).argmax(1)
    table = np.array([np.bincount(played, minlength=5), np.bincount(best, minlength=5)])
    assert table.min() > 50
    assert stats.chi2_contingency(table).pvalue > 1e-3


@pytest.mark.parametrize(("name", "problem"), [("rbf", bandits.gprbf), ("matern52", bandits.gpmatern)])
def test_the_posterior_after_30000_updates_is_that_of_one_solve(name, problem):
    problem = problem(THETA[name], seed=3)
    data = Data(problem.domain, standardise=False)
    noise = problem.noise_std
    data.append(np.array([5]), values(problem)[[5]])
    fitted = posterior(data, KERNELS[name], THETA[name], noise**2)
    rng, every = np.random.default_rng(1), np.arange(100)
    for _ in range(29_999):  # half of them where the UCB is largest, as in a run
        mean, std = fitted.predict(every)
        at = int(np.argmax(mean + 3.0 * std)) if rng.random() < 0.5 else int(rng.integers(100))
        data.append(np.array([at]), values(problem)[[at]] + noise * rng.standard_normal(1))
        fitted.update()
    assert data.n == 30_000
    joint = fitted.joint(every)
    mean, covariance = directly(prior(problem, name), data.points, data.y, noise**2)
    found_mean, found_std = fitted.predict(every)
    np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found_std**2, np.diag(covariance), rtol=0, atol=1e-8)
    np.testing.assert_allclose(joint.root @ joint.root.T, covariance, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        fitted.information_gain, gain_of(prior(problem, name), data.points, noise**2), rtol=0, atol=1e-8
    )


def gain_of(K, at, regulariser):
    """½ ln det(I + K/λ), by Sylvester's identity a determinant of the size of the pool."""
    root = np.sqrt(np.bincount(at, minlength=len(K)) / regulariser)
    return 0.5 * np.linalg.slogdet(np.eye(len(K)) + root[:, None] * K * root)[1]
