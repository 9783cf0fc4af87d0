"""Arms of the kernelised bandits, and what is known of them without the package's kernels and posteriors."""

import math

import numpy as np
from scipy.spatial.distance import cdist

from lbbench.plan import build
from lbbench.plan.settings import compose
from lbbench.plan.sweeps import plan
from lbbench.study import optimising

THETA = {"rbf": 0.2 * math.sqrt(2.0), "matern52": 0.2}
KERNEL = {"rkhsrbf": "rbf", "gprbf": "rbf", "rkhsmatern": "matern52", "gpmatern": "matern52"}
SETTINGS = ["norm=auto", "regulariser=noise", "beta=theory", "delta=0.1"]


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
    return list(optimising.play(own, seed)), build.problem(own, seed)


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


def directly(K, at, y, regulariser):
    """The posterior mean and covariance of all arms, by one solve on the mean of each arm's values."""
    arms, counts = np.unique(at, return_counts=True)
    means = np.bincount(at, weights=y, minlength=len(K))[arms] / counts
    matrix = K[np.ix_(arms, arms)] + np.diag(regulariser / counts)
    return K[:, arms] @ np.linalg.solve(matrix, means), K - K[:, arms] @ np.linalg.solve(matrix, K[arms])
