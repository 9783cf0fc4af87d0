"""Where a problem is searched: a `Box` or a `Pool`, and the way from user units to the unit cube.

A *point* is what a domain hands out and a posterior takes in: a row of unit-cube coordinates in a box, an index
in a pool. `unit` and `user` turn points into coordinates, `(k,)` or `(k, d)` points into `(k, d)` floats.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
Points = NDArray[np.float64] | NDArray[np.int64]


class Domain(Protocol):
    """What a box and a pool have in common."""

    @property
    def dim(self) -> int:
        """Number of inputs, d."""

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The smallest and the largest value of each input, `(d,)` each, in user units."""

    def initial(self, n: int, rng: Generator) -> Points:
        """An initial design of n points."""

    def uniform(self, n: int, rng: Generator) -> Points:
        """n independent points, uniform over the domain."""

    def unit(self, points: Points) -> Array:
        """Unit-cube coordinates of the points, `(k, d)`."""

    def user(self, points: Points) -> Array:
        """User-unit coordinates of the points, `(k, d)`."""


@dataclass(frozen=True, eq=False)
class Box:
    """The axis-parallel box between `lower` and `upper`, both `(d,)` in user units."""

    lower: Array
    upper: Array

    @property
    def dim(self) -> int:
        return len(self.lower)

    @property
    def bounds(self) -> tuple[Array, Array]:
        return self.lower, self.upper

    def initial(self, n: int, rng: Generator) -> Points:
        """The first n points of a scrambled Sobol sequence, `(n, d)`."""
        from scipy.stats import qmc  # takes a second to import

        sequence = qmc.Sobol(self.dim, scramble=True, rng=rng)
        return np.asarray(sequence.random_base2(max(n - 1, 0).bit_length())[:n])

    def uniform(self, n: int, rng: Generator) -> Points:
        return rng.random((n, self.dim))

    def unit(self, points: Points) -> Array:
        return np.asarray(points, dtype=float)

    def user(self, points: Points) -> Array:
        return self.lower + points * (self.upper - self.lower)


@dataclass(frozen=True, eq=False)
class Pool:
    """A finite set of candidates, `(m, d)` in user units.

    Each column is scaled to the unit cube by its own minimum and maximum, or by those in `limits`, `(d,)` each.
    `covariance`, `(m, m)`, is what is known beforehand of how values at the candidates vary, for a kernel that is given
    by it and by no length scale.
    """

    candidates: Array
    limits: tuple[Array, Array] | None = None
    covariance: Array | None = None

    @property
    def dim(self) -> int:
        return int(self.candidates.shape[1])

    @property
    def size(self) -> int:
        """Number of candidates, m."""
        return len(self.candidates)

    @property
    def bounds(self) -> tuple[Array, Array]:
        return self.limits or (self.candidates.min(0), self.candidates.max(0))

    @cached_property
    def coordinates(self) -> Array:
        """The candidates in the unit cube, `(m, d)`; a constant column is 0."""
        low, high = self.bounds
        return (self.candidates - low) / np.where(high > low, high - low, 1.0)

    @cached_property
    def sqdist(self) -> Array:
        """Squared distances between all candidates, `(m, m)`, in unit-cube units."""
        return np.asarray(cdist(self.coordinates, self.coordinates, "sqeuclidean"))

    def initial(self, n: int, rng: Generator) -> Points:
        """n indices drawn without replacement, `(n,)`."""
        return rng.permutation(self.size)[:n]

    def uniform(self, n: int, rng: Generator) -> Points:
        return rng.integers(self.size, size=n)

    def unit(self, points: Points) -> Array:
        return self.coordinates[points]

    def user(self, points: Points) -> Array:
        return self.candidates[points]


def sobol(n: int, dim: int, rng: Generator) -> Array:
    """The first n points of the Sobol sequence, `(n, d)`, all shifted by one random vector modulo 1.

    Such a shift (Cranley and Patterson 1976) takes a twentieth of the time of a scrambling.
    """
    return (_sobol(n, dim) + rng.random(dim)) % 1.0


@cache
def _sobol(n: int, dim: int) -> Array:
    from scipy.stats import qmc  # takes a second to import

    return np.asarray(qmc.Sobol(dim, scramble=False).random_base2(max(n - 1, 0).bit_length())[:n])
