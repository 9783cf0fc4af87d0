"""The observations of one run, with what the models of every length scale need of them computed once."""

import math
from bisect import insort
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from lbbench.domain import Array, Domain, Points, Pool
from lbbench.errors import NumericalError

BEST = 5  # of the best observations, how many are kept sorted
LARGEST = 1e302  # |y|: sums and differences of such values, and what a solve makes of them, stay finite
ROOM = 2.0**256  # how much larger than its unit a value may be: squares stay finite, and sums of squares


def unit_of(value: float) -> float:
    """A power of two, 1 for all ordinary values, in units of which |value| is below `ROOM` and its square above 0."""
    exponent = math.frexp(value)[1]
    return math.ldexp(1.0, min(max(512 * round(exponent / 512), -1022), 1022))


@dataclass
class Total:
    """Some values: how many, their mean, and the sum of their squared distances from it, one by one (Welford 1962).

    They are kept in units of `unit`, so that no square over- or underflows: multiplied by a power of two, they are the
    same to the last bit.
    """

    n: int = 0
    mean: float = 0.0
    scatter: float = 0.0
    unit: float = 2.0**-1022

    def add(self, value: float) -> None:
        """Take in one more, in raw units."""
        if abs(value) > ROOM * self.unit:
            unit = unit_of(value)
            self.mean, self.scatter = self.mean * (self.unit / unit), self.scatter_in(unit)
            self.unit = unit
        value /= self.unit
        self.n += 1
        before = value - self.mean
        self.mean += before / self.n
        self.scatter += before * (value - self.mean)

    def scatter_in(self, unit: float) -> float:
        """The scatter in units of another unit²."""
        return self.scatter * (self.unit / unit) * (self.unit / unit)  # not the ratio's square, which may overflow


class Data:
    """Observed points and values, in the order of observation.

    `points` and `y` hold the n observations, `x` their unit-cube coordinates `(n, d)`, and `sqdist` all squared
    distances `(n, n)`, shared by the posteriors of every length scale; those are computed when asked for. So to append
    costs the same however many observations there are. `mean` and `std` are what models take off the values and divide
    them by: those of all values if these are to `standardise`, else 0 and 1.
    """

    def __init__(self, domain: Domain, standardise: bool = True) -> None:
        self.domain = domain
        self.standardise = standardise
        self.n = 0
        self._points = np.empty((0,), dtype=np.int64) if isinstance(domain, Pool) else np.empty((0, domain.dim))
        self._y = np.empty(0)
        self._distances = Distances(domain)
        self._total = Total()
        self._best: list[tuple[float, int]] = []
        self._all_equal = True
        self.mean = 0.0
        self.std = 1.0

    def append(self, points: Points, y: Array) -> None:
        """Add k observations: points `(k,)` in a pool, `(k, d)` in a box, and values `(k,)` in raw units.

        Raises `NumericalError` if a value is not finite or beyond `LARGEST`, or the values cannot be standardised.
        """
        if not np.all(np.abs(y) <= LARGEST):
            raise NumericalError(f"a value of y, {y[~(np.abs(y) <= LARGEST)][0]:g}, is not within ±{LARGEST:g}")
        old, self.n = self.n, self.n + len(y)
        if self.n > len(self._y):
            capacity = max(self.n, 2 * len(self._y))
            self._points = np.resize(self._points, (capacity, *self._points.shape[1:]))
            self._y = np.resize(self._y, capacity)
        self._points[old : self.n] = points
        self._y[old : self.n] = y
        for i, value in enumerate(y.tolist(), start=old):
            self._total.add(value)
            insort(self._best, (-value, i))
            del self._best[BEST:]
            self._all_equal &= value == self._y[0]
        if not self.standardise:
            return
        self.mean = self._total.mean * self.unit
        self.std = 1.0 if self._all_equal else self._spread()
        if self.std == 0.0:
            raise NumericalError(f"the {self.n} values of y, the last {y[-1]:g}, are too close to 0 to have a spread")

    def _spread(self) -> float:
        if self._total.scatter > 0.0:
            return math.sqrt(self._total.scatter / (self.n - 1)) * self.unit
        return float(np.std((self.y - self.y[0]) / self.unit, ddof=1)) * self.unit  # the mean's rounding swallowed it

    @property
    def unit(self) -> float:
        """A power of two near the largest |y| (1 for all ordinary values); squares are taken in units of it."""
        return self._total.unit

    @property
    def points(self) -> Points:
        return self._points[: self.n]

    @property
    def x(self) -> Array:
        return self.domain.unit(self.points)

    @property
    def y(self) -> Array:
        """The values in raw units, `(n,)`."""
        return self._y[: self.n]

    @property
    def z(self) -> Array:
        """The values standardised to mean 0 and sample standard deviation 1 (0 everywhere if all are equal)."""
        return (self.y - self.mean) / self.std

    @property
    def best(self) -> Points:
        """The points of the `BEST` largest values, or fewer, the largest first and of two equals the earlier."""
        return self._points[[i for _, i in self._best]]

    @property
    def sqdist(self) -> Array:
        """The squared distances between all points, `(n, n)`, in unit-cube units."""
        self._distances.extend(self._points[self._distances.n : self.n])
        return self._distances.matrix


class Distances:
    """The squared distances between all of a growing number of points, in unit-cube units."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.n = 0
        self._x = np.empty((0, domain.dim))
        self._matrix = np.empty((0, 0))

    @property
    def matrix(self) -> Array:
        """The distances, `(n, n)`."""
        return self._matrix[: self.n, : self.n]

    def extend(self, points: Points) -> None:
        """Add k points, `(k,)` in a pool, `(k, d)` in a box."""
        if len(points) == 0:
            return
        old, self.n = self.n, self.n + len(points)
        if self.n > len(self._x):
            capacity = max(self.n, 2 * old)
            grown = np.zeros((capacity, capacity))
            grown[:old, :old] = self._matrix[:old, :old]
            self._x, self._matrix = np.resize(self._x, (capacity, self.domain.dim)), grown
        self._x[old : self.n] = self.domain.unit(points)
        new = cdist(self._x[old : self.n], self._x[: self.n], "sqeuclidean")
        self._matrix[old : self.n, : self.n] = new
        self._matrix[:old, old : self.n] = new[:, :old].T


class Merged:
    """A view of data in which values at the same point are merged, since c of them are worth one, their mean.

    A row is a point and the mean of its `counts` values, in raw units, which scatter about it by `scatter` in all, in
    units of `unit`². A point that is seen again has a further row until there are more than twice as many rows as
    points; then all is merged anew, in the next `epoch`. So rows are at most in proportion to points, and most updates
    only add rows.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.n = 0  # observations taken in
        self.epoch = 0
        self.origin = 0.0  # of the means, so that no digits are lost where y is far from 0
        self.means, self.counts = np.empty(0), np.empty(0)
        self.scatter, self.unit = 0.0, 1.0
        self._totals: dict[bytes, tuple[Any, Total]] = {}
        self.update()

    def update(self) -> None:
        """Take in everything observed since the last update."""
        old, self.n = self.n, self.data.n
        if old == 0 < self.n:
            self.origin = float(self.data.y[0])
        points, values = self.data.points[old : self.n], self.data.y[old : self.n] - self.origin
        for point, value in zip(points, values.tolist(), strict=True):
            self._totals.setdefault(point.tobytes(), (point, Total()))[1].add(value)
        if old == 0 or len(self.means) + len(values) > 2 * len(self._totals) + 32:
            self._merge()
        else:
            self._distances.extend(points)
            self.means = np.append(self.means, values)
            self.counts = np.append(self.counts, np.ones(len(values)))

    def _merge(self) -> None:
        totals = [total for _, total in self._totals.values()]
        self.epoch += 1
        self.means = np.array([total.mean * total.unit for total in totals])
        self.counts = np.array([float(total.n) for total in totals])
        self.unit = self.data.unit
        self.scatter = sum(total.scatter_in(self.unit) for total in totals)
        self._distances = Distances(self.data.domain)
        self._distances.extend(np.array([point for point, _ in self._totals.values()]))

    @property
    def sqdist(self) -> Array:
        """The squared distances between the rows, `(m, m)`."""
        return self._distances.matrix

    @property
    def mean(self) -> float:
        """The mean of y, from the origin of the rows' means."""
        return self.data.mean - self.origin

    @property
    def z(self) -> Array:
        """The rows' means, standardised as all data are, `(m,)`."""
        return (self.means - self.mean) / self.data.std

    @property
    def standard_scatter(self) -> float:
        """The scatter of the standardised values."""
        if self.scatter == 0.0:  # also where all are equal, whose spread of 1 has nothing to do with their unit
            return 0.0
        unit = self.data.unit  # which may have grown since the rows were merged
        return float(self.scatter * (self.unit / unit) ** 2 / (self.data.std / unit) ** 2)
