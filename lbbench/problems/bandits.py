"""The bandits of "On Kernelized Multi-armed Bandits" (Chowdhury and Gopalan 2017): arms at random, other ones in each
trial, which is a run's seed.

The noise has variance R² = `noise_share` × the range of f over the arms. The paper's length scale l of the squared
exponential kernel exp(−s²/2l²) is θ/√2.
"""

import math
from collections.abc import Callable

import numpy as np

from lbbench.domain import Array, Pool
from lbbench.gp.kernels import KERNELS, Kernel, covariance
from lbbench.problems.base import Problem
from lbbench.problems.tables import tabulated
from lbbench.streams import generator

RBF, MATERN = KERNELS["rbf"], KERNELS["matern52"]


def rkhsrbf(theta: float, arms: int = 100, noise_share: float = 0.01, seed: int = 0) -> Problem:
    """A posterior mean of a GP with the squared exponential kernel: a function that has a norm in its RKHS."""
    return _drawn("rkhsrbf", RBF, _posterior_mean, theta, arms, noise_share, seed)


def rkhsmatern(theta: float, arms: int = 100, noise_share: float = 0.01, seed: int = 0) -> Problem:
    """A posterior mean of a GP with the Matérn-5/2 kernel."""
    return _drawn("rkhsmatern", MATERN, _posterior_mean, theta, arms, noise_share, seed)


def gprbf(theta: float, arms: int = 100, noise_share: float = 0.01, seed: int = 0) -> Problem:
    """A draw of a GP with the squared exponential kernel."""
    return _drawn("gprbf", RBF, _draw, theta, arms, noise_share, seed)


def gpmatern(theta: float, arms: int = 100, noise_share: float = 0.01, seed: int = 0) -> Problem:
    """A draw of a GP with the Matérn-5/2 kernel."""
    return _drawn("gpmatern", MATERN, _draw, theta, arms, noise_share, seed)


def rosenbrock(theta: float, arms: int = 200, noise_share: float = 0.01, seed: int = 0) -> Problem:
    """BoTorch's Rosenbrock function in two dimensions, negated, at arms in [0, 1]²."""
    from botorch.test_functions.synthetic import Rosenbrock

    return _function("rosenbrock", Rosenbrock(dim=2, negate=True), 2, theta, arms, noise_share, seed)


def hartmann(theta: float, arms: int = 300, noise_share: float = 0.01, seed: int = 0) -> Problem:
    """BoTorch's Hartmann function in three dimensions, negated, at arms in [0, 1]³."""
    from botorch.test_functions.synthetic import Hartmann

    return _function("hartmann", Hartmann(dim=3, negate=True), 3, theta, arms, noise_share, seed)


def _arms(name: str, dim: int, arms: int, seed: int) -> Pool:
    """Uniform in the unit cube, which is not scaled to them."""
    return Pool(generator(seed, "arms", name).random((arms, dim)), limits=(np.zeros(dim), np.ones(dim)))


def _drawn(
    name: str,
    kernel: Kernel,
    function: Callable[[Array, Array, float], Array],
    theta: float,
    arms: int,
    noise_share: float,
    seed: int,
) -> Problem:
    pool = _arms(name, 1, arms, seed)
    prior = covariance(pool, kernel, theta)
    f = function(prior, generator(seed, "function", name).standard_normal(arms), noise_share)
    return tabulated(name, pool, f, _noise_std(f, noise_share), theta)


def _draw(prior: Array, normal: Array, noise_share: float) -> Array:
    """f ~ N(0, K)."""
    eigenvalues, axes = np.linalg.eigh(prior)
    drawn: Array = axes @ (np.sqrt(np.maximum(eigenvalues, 0.0)) * normal)
    return drawn


def _posterior_mean(prior: Array, normal: Array, noise_share: float) -> Array:
    """f = K(K + λI)⁻¹y of y ~ N(0, K), where λ is the same share of the range of y as R² is of that of f."""
    y = _draw(prior, normal, noise_share)
    noise = _noise_std(y, noise_share) ** 2
    mean: Array = prior @ np.linalg.solve(prior + noise * np.eye(len(y)), y)
    return mean


def _function(
    name: str, function: Callable[..., object], dim: int, theta: float, arms: int, noise_share: float, seed: int
) -> Problem:
    import torch

    pool = _arms(name, dim, arms, seed)
    f = np.asarray(function(torch.as_tensor(pool.candidates)), dtype=float)
    return tabulated(name, pool, f, _noise_std(f, noise_share), theta)


def _noise_std(f: Array, noise_share: float) -> float:
    """R."""
    return math.sqrt(noise_share * float(np.ptp(f)))
