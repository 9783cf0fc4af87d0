"""GP-UCB with the length scale that fits the objective near its maximum, which no method can know."""

import functools
import zlib

import numpy as np
from numpy.random import Generator

from lbbench.domain import Points, Pool
from lbbench.gp.data import Data
from lbbench.gp.kernels import Kernel
from lbbench.gp.likelihood import Likelihood
from lbbench.methods.told import Told
from lbbench.problems.base import Problem

DRAWN = 10_000  # uniform points in a box
LEAST = 20  # points to fit, however small the pool


class Oracle(Told):
    """GP-UCB as the methods play it which are not told the length scale, with their β."""

    def width(self, data: Data) -> float:
        return self.surrogate.width(data, self.surrogate.norm, self.posterior.information_gain)


@functools.cache  # a problem and a kernel are what they are, so this is computed once per process
def estimate_lengthscale(problem: Problem, kernel: Kernel, regulariser: float) -> float:
    """θ̂*: the maximum likelihood estimate on the noiseless, standardised best 1 % of the domain (paper, §5).

    The best of 10,000 uniform points in a box, drawn by a generator that depends on the problem's name alone, or of
    the whole pool, but at least 20 of those; the earlier of two equals.
    """
    domain = problem.domain
    drawn: Points = np.arange(domain.size) if isinstance(domain, Pool) else domain.uniform(DRAWN, _generator(problem))
    return fit_best(problem, drawn, kernel, regulariser)


def fit_best(problem: Problem, points: Points, kernel: Kernel, regulariser: float) -> float:
    """The maximum likelihood estimate on the best 1 %, at least 20, of the given points of the problem's domain."""
    values = problem.evaluate(problem.domain.user(points))
    best = np.argsort(-values, kind="stable")[: max(round(0.01 * len(values)), LEAST)]
    data = Data(problem.domain)
    data.append(points[best], values[best])
    return Likelihood.of(data, kernel, regulariser).maximum()


def _generator(problem: Problem) -> Generator:
    return np.random.default_rng(zlib.crc32(problem.name.encode()))
