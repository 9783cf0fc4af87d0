"""Acquisition functions: how much an evaluation at a point is worth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from lbbench.domain import Array, Points
from lbbench.gp.box import BoxPosterior
from lbbench.gp.posterior import Posterior

CERTAIN = 1e-100  # a standard deviation of 0 is taken for this


class Acquisition(Protocol):
    """A function of k points."""

    def __call__(self, points: Points) -> Array:
        """Values `(k,)` at k points."""


@runtime_checkable
class Smooth(Acquisition, Protocol):
    """One whose maximum in a box can be climbed to."""

    def expand(self, points: Points) -> tuple[Array, Array, Array]:
        """Values `(k,)`, gradients `(k, d)` and Hessians `(k, d, d)` at k points."""


@dataclass(frozen=True)
class UCB:
    """Upper confidence bound μ + β σ (Srinivas et al. 2010)."""

    posterior: Posterior
    beta: float

    def __call__(self, points: Points) -> Array:
        mean, std = self.posterior.predict(points)
        return mean + self.beta * std

    def expand(self, points: Points) -> tuple[Array, Array, Array]:
        assert isinstance(self.posterior, BoxPosterior)
        return self.posterior.expand(points, self.beta)


@dataclass(frozen=True)
class Average:
    """Weighted mean of acquisition functions, such as the expected UCB under a posterior of the length scale."""

    parts: Sequence[Smooth]
    weights: Array

    def __call__(self, points: Points) -> Array:
        return np.tensordot(self.weights, np.array([part(points) for part in self.parts]), 1)

    def expand(self, points: Points) -> tuple[Array, Array, Array]:
        values, gradients, hessians = zip(*(part.expand(points) for part in self.parts), strict=True)
        return (
            np.tensordot(self.weights, np.array(values), 1),
            np.tensordot(self.weights, np.array(gradients), 1),
            np.tensordot(self.weights, np.array(hessians), 1),
        )


@dataclass(frozen=True)
class Improvement:
    """A function h of μ and σ that tells how far f may be above `incumbent`, by z = (μ − incumbent)/σ."""

    posterior: Posterior
    incumbent: float

    def __call__(self, points: Points) -> Array:
        mean, std = self.posterior.predict(points)
        return self._h(*self._z(mean, std))[0]

    def expand(self, points: Points) -> tuple[Array, Array, Array]:
        assert isinstance(self.posterior, BoxPosterior)
        mean, to_mean, mean_hessian = self.posterior.expand(points, 0.0)
        upper, to_upper, upper_hessian = self.posterior.expand(points, 1.0)
        to_std, std_hessian = to_upper - to_mean, upper_hessian - mean_hessian
        h, by_mean, by_std, curved = self._h(*self._z(mean, upper - mean))
        return (
            h,
            by_mean[:, None] * to_mean + by_std[:, None] * to_std,
            by_mean[:, None, None] * mean_hessian
            + by_std[:, None, None] * std_hessian
            + sum(
                weight[:, None, None] * (left[:, :, None] * right[:, None])
                for weight, left, right in (
                    (curved[0], to_mean, to_mean),
                    (curved[1], to_mean, to_std),
                    (curved[1], to_std, to_mean),
                    (curved[2], to_std, to_std),
                )
            ),
        )

    def _z(self, mean: Array, std: Array) -> tuple[Array, Array]:
        std = np.maximum(std, CERTAIN)
        return (mean - self.incumbent) / std, std

    @staticmethod
    def _h(z: Array, std: Array) -> tuple[Array, Array, Array, tuple[Array, Array, Array]]:
        """h, its derivatives by μ and by σ, and the second ones: by μ², by μ and σ, and by σ²."""
        raise NotImplementedError


class EI(Improvement):
    """Expected improvement (μ − f⁺)Φ(z) + σφ(z) (Močkus 1975)."""

    @staticmethod
    def _h(z: Array, std: Array) -> tuple[Array, Array, Array, tuple[Array, Array, Array]]:
        above, density = ndtr(z), _density(z)
        bend = density / std
        return std * (z * above + density), above, density, (bend, -z * bend, z * z * bend)


class PI(Improvement):
    """Probability of improvement Φ(z) (Kushner 1964)."""

    @staticmethod
    def _h(z: Array, std: Array) -> tuple[Array, Array, Array, tuple[Array, Array, Array]]:
        slope = _density(z) / std
        bend = slope / std
        return ndtr(z), slope, -z * slope, (-z * bend, (z * z - 1.0) * bend, z * (2.0 - z * z) * bend)


def _density(z: Array) -> Array:
    """The standard normal density φ."""
    return np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


@dataclass
class Draw:
    """A function drawn from the GP with mean μ and covariance scale² k, jointly at the points that it is asked for.

    `jitter` is what the root of the covariance needed.
    """

    posterior: Posterior
    scale: float
    rng: Generator
    jitter: float = field(default=0.0, init=False)

    def __call__(self, points: Points) -> Array:
        joint = self.posterior.joint(points)
        self.jitter = joint.jitter
        drawn: Array = joint.mean + self.scale * (joint.root @ self.rng.standard_normal(joint.root.shape[1]))
        return drawn
