"""Acquisition functions and where they are largest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize

from lbbench.domain import Array, Box, Domain, Points, Pool, sobol
from lbbench.gp.posterior import BoxPosterior, Posterior


class Acquisition(Protocol):
    """A function of k points; `gradient` is only asked for in a box."""

    def __call__(self, points: Points) -> Array:
        """Values `(k,)` at k points."""

    def gradient(self, points: Points) -> tuple[Array, Array]:
        """Values `(k,)` and gradients `(k, d)` at k points."""


@dataclass(frozen=True)
class UCB:
    """Upper confidence bound μ + β σ (Srinivas et al. 2010)."""

    posterior: Posterior
    beta: float

    def __call__(self, points: Points) -> Array:
        mean, std = self.posterior.predict(points)
        return mean + self.beta * std

    def gradient(self, points: Points) -> tuple[Array, Array]:
        assert isinstance(self.posterior, BoxPosterior)
        mean, std, mean_gradient, std_gradient = self.posterior.gradient(points)
        return mean + self.beta * std, mean_gradient + self.beta * std_gradient


@dataclass(frozen=True)
class Average:
    """Weighted mean of acquisition functions, such as the expected UCB under a posterior of the length scale."""

    parts: Sequence[Acquisition]
    weights: Array

    def __call__(self, points: Points) -> Array:
        return self.weights @ np.array([part(points) for part in self.parts])

    def gradient(self, points: Points) -> tuple[Array, Array]:
        values, gradients = zip(*(part.gradient(points) for part in self.parts), strict=True)
        return self.weights @ np.array(values), np.tensordot(self.weights, np.array(gradients), 1)


@dataclass(frozen=True)
class Maximiser:
    """How hard to look for the maximum in a box: quasi-random points to score, and starts to improve from the best."""

    raw_samples: int = 512
    restarts: int = 10

    def __call__(self, acquisition: Acquisition, domain: Domain, incumbents: Points, rng: Generator) -> Points:
        """The point, `(1,)` or `(1, d)`, at which the acquisition function is largest.

        Exact in a pool. In a box: bounded L-BFGS-B from the best of a scrambled Sobol set and of the `incumbents`,
        points that are known to be good.
        """
        if isinstance(domain, Pool):
            return np.array([np.argmax(acquisition(np.arange(domain.size)))])
        assert isinstance(domain, Box)
        raw = np.concatenate([sobol(self.raw_samples, domain.dim, rng), incumbents])
        starts = raw[np.argsort(-acquisition(raw), kind="stable")[: self.restarts]]
        ends = np.array([_climb(acquisition, start) for start in starts])
        return ends[[np.argmax(acquisition(ends))]]


def _climb(acquisition: Acquisition, start: Array) -> Array:
    def negated(x: Array) -> tuple[float, Array]:
        values, gradients = acquisition.gradient(x[None])
        return -float(values[0]), -gradients[0]

    bounds = [(0.0, 1.0)] * len(start)
    found = minimize(negated, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    return np.clip(found.x, 0.0, 1.0)
