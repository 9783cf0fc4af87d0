"""The kernelised bandits: widths, acquisition functions, draws and problems, each against something independent."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from botorch.acquisition import ExpectedImprovement, ProbabilityOfImprovement
from botorch.models.model import Model
from botorch.posteriors import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import cdist

from lbbench import Optimizer
from lbbench.acquisition import EI, PI, Draw
from lbbench.domain import Box, Pool
from lbbench.errors import UsageError
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS, covariance
from lbbench.gp.posterior import posterior
from lbbench.methods.base import Surrogate
from lbbench.methods.gpts import GPTS
from lbbench.problems import bandits
from lbbench.study import build, loop
from lbbench.study.overrides import plan
from lbbench.study.settings import compose
from lbbench.theory import (
    analytic_information_gain,
    gpts_width,
    gpucb_width,
    greedy_information_gain,
    igpucb_width,
    information_gain,
    rkhs_norm,
    tight_width,
)

THETA = {"rbf": 0.2 * math.sqrt(2.0), "matern52": 0.2}
KERNEL = {"rkhsrbf": "rbf", "gprbf": "rbf", "rkhsmatern": "matern52", "gpmatern": "matern52"}
SETTINGS = ["norm=auto", "regulariser=noise", "beta=theory", "delta=0.1"]


def lbbench(*arguments):
    command = [sys.executable, "-m", "lbbench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def composed(*arguments):
    (combination,) = plan([*arguments]).combinations
    return compose(combination)


def played(method, problem="rkhsrbf", *more, steps=30, seed=0):
    """The rows of a run, and its problem."""
    own = composed(
        f"method={method}",
        f"problem={problem}",
        f"kernel={KERNEL[problem]}",
        f"iterations={steps}",
        *others(more),
        *more,
    )
    return list(loop.play(own, seed)), build.problem(own, seed)


def others(given):
    """The protocol's settings, but for those that are given."""
    names = [one.partition("=")[0] for one in given]
    return [one for one in SETTINGS if one.partition("=")[0] not in names]


def prior(problem, name="rbf"):
    """The kernel matrix of a problem's arms, from the definitions in the paper."""
    s = cdist(problem.domain.candidates, problem.domain.candidates)
    if name == "rbf":
        return np.exp(-(s**2) / (2 * 0.2**2))
    return (1 + math.sqrt(5) * s / 0.2 + 5 * s**2 / (3 * 0.2**2)) * np.exp(-math.sqrt(5) * s / 0.2)


def values(problem):
    return problem.evaluate(problem.domain.candidates)


# Widths


def test_widths_by_hand():
    # B = 2, R = 1/2, γ = 3, δ = 1/10, t = 5, λ = 1/25, to ten digits
    assert igpucb_width(2.0, 0.5, 3.0, 0.1) == pytest.approx(3.7751880313, rel=1e-10)
    assert gpts_width(2.0, 0.5, 3.0, 0.1) == pytest.approx(3.8702583075, rel=1e-10)
    assert gpucb_width(2.0, 3.0, 5, 0.1) == pytest.approx(232.14300004, rel=1e-10)
    assert tight_width(2.0, 0.5, 0.04, 3.0, 0.1) == pytest.approx(10.1413950686, rel=1e-10)


@pytest.mark.parametrize("gain", ["analytic", "greedy", "realised", "1.5"])
@pytest.mark.parametrize("method", ["igpucb", "gpucb", "gpts"])
def test_a_run_has_the_widths_of_its_information_gain(method, gain):
    rows, problem = played(method, "rkhsrbf", f"information_gain={gain}", steps=8)
    norm = math.sqrt(values(problem) @ np.linalg.pinv(prior(problem), rcond=1e-12, hermitian=True) @ values(problem))
    R = math.sqrt(0.01 * np.ptp(values(problem)))
    for n, row in enumerate(rows[1:], start=1):  # n observations before the step, which is the (n + 1)th
        gamma = {
            "analytic": analytic_information_gain(n, THETA["rbf"], 1, None),
            "greedy": greedy_information_gain(prior(problem), R**2, n)[0] / (1 - 1 / math.e),
            "realised": realised(problem, rows[:n], R**2),
            "1.5": 1.5,
        }[gain]
        expected = {
            "igpucb": norm + R * math.sqrt(2 * (gamma + 1 + math.log(10))),
            "gpts": norm + R * math.sqrt(2 * (gamma + 1 + math.log(20))),
            "gpucb": math.sqrt(2 * norm**2 + 300 * gamma * math.log((n + 1) / 0.1) ** 3),
        }[method]
        assert row["beta"] == pytest.approx(expected, rel=1e-4)
        assert row["norm"] == pytest.approx(norm, rel=1e-4)


def realised(problem, rows, regulariser):
    at = [row["point"] for row in rows]
    return information_gain(prior(problem)[np.ix_(at, at)], regulariser)


def test_the_tight_width_is_on_the_gain_of_the_data():
    rows, problem = played("tight", "gpmatern", steps=8)
    K, f, R = prior(problem, "matern52"), values(problem), problem.noise_std
    for n, row in enumerate(rows[1:], start=1):
        at = [one["point"] for one in rows[:n]]
        log_determinant = np.linalg.slogdet(np.eye(n) + K[np.ix_(at, at)] / R**2)[1]
        expected = math.sqrt(f @ np.linalg.solve(K, f)) + math.sqrt(log_determinant + 2 * math.log(10))
        assert row["beta"] == pytest.approx(expected, rel=1e-5)


def test_the_greedy_bound_is_one():
    """On every set of 3 of 8 arms the gain is below it, and greedy choices alone are not always the best."""
    arms = np.random.default_rng(0).random((8, 1))
    K = np.exp(-cdist(arms, arms, "sqeuclidean") / THETA["rbf"] ** 2)
    sets = np.stack(np.meshgrid(*[range(8)] * 3), -1).reshape(-1, 3)
    gains = [information_gain(K[np.ix_(own, own)], 0.05) for own in sets]
    greedy, _ = greedy_information_gain(K, 0.05, 3)
    assert greedy < max(gains) - 1e-3
    assert max(gains) < greedy / (1 - 1 / math.e)


# Acquisition functions


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


# Draws


def pool_posterior(n=60, noise=0.02, seed=1):
    problem = bandits.gprbf(THETA["rbf"], seed=seed)
    data = Data(problem.domain, standardise=False)
    rng = np.random.default_rng(seed)
    at = rng.integers(100, size=n)
    data.append(at, values(problem)[at] + noise * rng.standard_normal(n))
    return problem, data, posterior(data, KERNELS["rbf"], THETA["rbf"], noise**2)


def directly(K, at, y, regulariser):
    """The posterior mean and covariance of all arms, by one solve on the mean of each arm's values."""
    arms, counts = np.unique(at, return_counts=True)
    means = np.bincount(at, weights=y, minlength=len(K))[arms] / counts
    matrix = K[np.ix_(arms, arms)] + np.diag(regulariser / counts)
    return K[:, arms] @ np.linalg.solve(matrix, means), K - K[:, arms] @ np.linalg.solve(matrix, K[arms])


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


# The posterior of many observations


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


# Regret


SUBLINEAR = {
    **{method: () for method in ("igpucb", "gpts", "tight", "oracle")},
    "gpucb": ("noise_share=1e-8",),  # with more its width is so large that all arms are played for longer than this
    "lb": ("theta0=1",),
    "lnb": ("theta0=1", "norm=1"),
}


@pytest.mark.parametrize("problem", ["rkhsrbf", "gpmatern"])
@pytest.mark.parametrize("method", SUBLINEAR)
def test_regret_is_sublinear(method, problem):
    """From a tenth of the steps on, regret grows by less than ten times the 0.9th power."""
    for seed in range(2):
        own = composed(
            f"method={method}",
            f"problem={problem}",
            f"kernel={KERNEL[problem]}",
            "iterations=3000",
            *others(SUBLINEAR[method]),
            *SUBLINEAR[method],
        )
        regret = {row["t"]: row["cumulative_regret"] for row in loop.play(own, seed)}
        assert math.log10(regret[3000] / regret[300]) < 0.9


def test_random_search_has_linear_regret():
    """So that the slope can tell."""
    rows, _ = played("random", "rkhsrbf", steps=3000)
    regret = {row["t"]: row["cumulative_regret"] for row in rows}
    assert math.log10(regret[3000] / regret[300]) > 0.97


# Problems


@pytest.mark.parametrize("name", [*KERNEL, "rosenbrock", "hartmann"])
def test_a_trial_is_a_problem_of_its_own(name):
    settings = composed("method=random", f"problem={name}")
    first, again, other = (build.problem(settings, seed) for seed in (0, 0, 1))
    assert first is again
    assert not np.array_equal(first.domain.candidates, other.domain.candidates)
    assert first.domain.size == {"rosenbrock": 200, "hartmann": 300}.get(name, 100)
    assert first.optimum == values(first).max()
    np.testing.assert_array_equal(first.domain.unit(np.arange(5)), first.domain.candidates[:5])  # no scaling
    assert first.noise_std**2 == pytest.approx(0.01 * np.ptp(values(first)))


def test_test_functions():
    x = build.problem(composed("problem=rosenbrock")).domain.candidates
    f = values(build.problem(composed("problem=rosenbrock")))
    np.testing.assert_allclose(f, -(100 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1 - x[:, 0]) ** 2), atol=1e-12)
    hartmann = values(build.problem(composed("problem=hartmann", "arms=10000")))
    assert 3.8 < hartmann.max() < 3.86278  # the maximum of the function


def test_draws_of_a_gp_are_normal():
    """yᵀK⁻¹y of y ~ N(0, K) has the distribution χ²(100)."""
    norms = []
    for seed in range(150):
        problem = bandits.gpmatern(0.2, seed=seed)
        K = prior(problem, "matern52")
        norms.append(values(problem) @ np.linalg.solve(K, values(problem)))
    assert stats.kstest(norms, stats.chi2(100).cdf).pvalue > 1e-3


def test_posterior_means_are_of_draws():
    """f = K(K + λI)⁻¹y: undone, with λ such that it is 1 % of the range of y, it leaves a draw."""
    norms = []
    for seed in range(200):
        problem = bandits.rkhsmatern(0.2, arms=12, seed=seed)
        K, f, noise = prior(problem, "matern52"), values(problem), problem.noise_std**2
        weights = np.linalg.solve(K, f)
        for _ in range(100):
            noise = 0.01 * np.ptp(f + noise * weights)
        y = f + noise * weights
        norms.append(y @ np.linalg.solve(K, y))
        assert rkhs_norm(f, K) < rkhs_norm(y, K)
    assert stats.kstest(norms, stats.chi2(12).cdf).pvalue > 1e-3


@hypothesis_settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(["rbf", "matern52"]))
def test_the_norm_of_a_sum_of_kernels(seed, n, name):
    """‖Σᵢ aᵢ k(xᵢ, ·)‖² = aᵀKa, on the arms xᵢ and on more arms alike."""
    rng = np.random.default_rng(seed)
    pool = Pool(rng.random((40, 1)))
    K = covariance(pool, KERNELS[name], 0.3)
    a = rng.standard_normal(n)
    expected = math.sqrt(max(a @ K[:n, :n] @ a, 0.0))
    assert rkhs_norm(K[:, :n] @ a, K) == pytest.approx(expected, rel=1e-4, abs=1e-6)


# Settings


def test_values_are_not_standardised():
    rows, problem = played("oracle", "gpmatern", steps=6)
    at, y = [row["point"] for row in rows[:6]], np.array([row["y"] for row in rows[:6]])
    K = prior(problem, "matern52")
    _, covariance = directly(K, np.array(at), y, problem.noise_std**2)
    assert rows[6]["sigma"] == pytest.approx(math.sqrt(covariance[rows[6]["point"], rows[6]["point"]]), rel=1e-6)
    assert rows[6]["lengthscale"] == 0.2  # what it is told


def test_standardise_is_a_setting():
    rows, problem = played("oracle", "gpmatern", "standardise=true", "norm=1", "regulariser=0.01", steps=6)
    y = np.array([row["y"] for row in rows[:6]])
    _, covariance = directly(prior(problem, "matern52"), np.array([row["point"] for row in rows[:6]]), y, 0.01)
    last = rows[6]["point"]
    assert rows[6]["sigma"] == pytest.approx(y.std(ddof=1) * math.sqrt(covariance[last, last]), rel=1e-6)


def test_regulariser_of_the_theory_is_that_of_the_horizon():
    rows, problem = played("igpucb", "gpmatern", "regulariser=theory", steps=10)
    _, covariance = directly(prior(problem, "matern52"), np.array([rows[0]["point"]]), np.array([0.0]), 1 + 2 / 10)
    at = rows[1]["point"]
    assert rows[1]["sigma"] == pytest.approx(math.sqrt(covariance[at, at]), rel=1e-9)


@pytest.mark.parametrize("method", ["gpts", "ei", "lnb"])
def test_a_run_is_taken_up_bit_for_bit(method):
    settings = composed(f"method={method}", "problem=gprbf", "kernel=rbf", "iterations=150", "regulariser=noise")
    whole = list(loop.play(settings, 4))
    rest = list(loop.play(settings, 4, whole[:90]))
    timeless = [[{k: v for k, v in row.items() if not k.endswith("_s")} for row in rows] for rows in (whole[90:], rest)]
    assert timeless[0] == timeless[1]


def test_methods_meet_the_same_arms_and_noise():
    first, second = (played(method, "gprbf", steps=40)[0] for method in ("ei", "tight"))
    assert first[0]["point"] == second[0]["point"]
    noise = [[row["y"] - row["f"] for row in rows] for rows in (first, second)]
    np.testing.assert_allclose(noise[0], noise[1], atol=1e-12)


WRONG = {
    "method=igpucb problem=michalewicz information_gain=greedy": "information_gain=greedy needs a pool of candidates",
    "method=igpucb problem=rkhsrbf kernel=empirical": "kernel=empirical is for problems that have a covariance",
    "method=lb problem=agnp norm=auto": "norm=auto is for problems with standardise=false, not agnp",
    "method=lb problem=rkhsrbf standardise=true regulariser=noise": "regulariser=noise is for problems with",
    "method=lb problem=rkhsrbf arms=1": "arms=1: must be a whole number from 2",
    "method=gpts information_gain=none": "'analytic' or 'greedy' or 'realised' or a number above 0",
    "method=lb problem=rkhsrbf noise_std=0.1": "noise_std is not a setting of what was chosen",
    "+experiment=bandits trials=0": "must be a count",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines(line, tmp_path):
    result = lbbench("run", *line.split(), f"out={tmp_path / 'out'}")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert WRONG[line] in result.stderr


def test_trials_are_seeds():
    assert plan(["+experiment=bandits", "trials=3"]).combinations[0].seeds == (0, 1, 2)


def test_the_preset_is_the_papers_protocol():
    combinations = plan(["+experiment=bandits", "trials=25"]).combinations
    methods = {"igpucb", "gpucb", "gpts", "ei", "pi", "tight", "lb", "lnb"}
    assert {(one.method, one.problem) for one in combinations} == {(m, p) for m in methods for p in KERNEL}
    for one in combinations:
        own = compose(one)
        assert own["iterations"] == 30_000
        assert own["gp"]["kernel"] == KERNEL[one.problem]
        assert own["gp"]["delta"] == 0.1
        assert own["gp"]["regulariser"] == "noise"
        assert own["problem"]["theta"] == pytest.approx(THETA[KERNEL[one.problem]])
        assert len(one.seeds) == 25


@pytest.mark.parametrize(
    ("method", "setting"),
    [("igpucb", {}), ("tight", {"lengthscale": 0.3, "norm": "auto"}), ("lb", {"regulariser": "noise"})],
)
def test_an_optimizer_does_not_know_the_objective(method, setting):
    with pytest.raises(UsageError, match="needs an objective that is known"):
        Optimizer(bounds=[(0, 1)], method=method, **setting)


def test_an_optimizer_has_no_horizon():
    with pytest.raises(UsageError, match="no number of steps T"):
        Optimizer(bounds=[(0, 1)], method="lb", regulariser="theory")


@pytest.mark.parametrize("method", ["igpucb", "gpucb", "gpts", "ei", "pi", "tight"])
def test_an_optimizer_plays_them(method):
    optimizer = Optimizer(bounds=[(0.0, 10.0)], method=method, lengthscale=0.2, initial=3)
    for _ in range(6):
        x = optimizer.ask()
        optimizer.tell(x, -((x[0] - 4.0) ** 2))
    assert len(optimizer.y) == 6


def test_a_problem_of_ones_own_may_depend_on_the_trial(tmp_path, monkeypatch):
    (tmp_path / "trials.py").write_text(
        "import numpy as np\n"
        "from lbbench.domain import Pool\n"
        "from lbbench.problems.base import Problem\n"
        "def shifted(seed=0, known=True, standardise=False):\n"
        "    best = float(seed) if known else float('nan')\n"
        "    return Problem('shifted', Pool(np.arange(6.0)[:, None]), lambda x: seed - x[:, 0], best)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = composed("method=random", "problem=trials:shifted", "iterations=4", "initial=2")
    rows = list(loop.play(settings, 7))
    assert [row["f"] for row in rows] == [7.0 - row["x"][0] for row in rows]
    assert not build.asktell(settings, build.problem(settings, 7), 7).data.standardise
    with pytest.raises(UsageError, match="each must tell its optimum"):
        build.problem(composed("method=random", "problem=trials:shifted", "known=false"), 7)


def test_a_study_of_bandits_is_one_of_one_objective(tmp_path):
    """Its trials differ, but neither doctor nor a figure takes them for other data."""
    line = ["problem=gprbf", "method=ei,tight", "kernel=rbf", "iterations=20", "seeds=2", "jobs=1", f"out={tmp_path}"]
    assert lbbench("run", *line).returncode == 0
    assert "those of the 4 traces" in lbbench("doctor", f"out={tmp_path}").stdout
    frame = pd.read_parquet(tmp_path / "traces")
    starts = frame[frame["t"] == 0].groupby("seed")["y"].nunique()
    assert starts.tolist() == [1, 1]
