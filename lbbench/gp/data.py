"""The observations of one run, with what every posterior needs of them computed once."""

import numpy as np
from scipy.spatial.distance import cdist

from lbbench.domain import Array, Domain, Points, Pool
from lbbench.errors import NumericalError


class Data:
    """Observed points and values, in the order of observation.

    `points` and `y` hold the n observations, `x` their unit-cube coordinates `(n, d)`, and `sqdist` all squared
    distances `(n, n)`, shared by the posteriors of every length scale.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.n = 0
        self._points = np.empty((0,), dtype=np.int64) if isinstance(domain, Pool) else np.empty((0, domain.dim))
        self._y = np.empty(0)
        self._sqdist = np.empty((0, 0))
        self.mean = 0.0
        self.std = 1.0

    def append(self, points: Points, y: Array) -> None:
        """Add k observations: points `(k,)` in a pool, `(k, d)` in a box, and values `(k,)` in raw units.

        Raises `NumericalError` if the values cannot be standardised.
        """
        old, self.n = self.n, self.n + len(y)
        if self.n > len(self._y):
            self._grow(max(self.n, 2 * len(self._y)))
        self._points[old : self.n] = points
        self._y[old : self.n] = y
        new = cdist(self.domain.unit(self._points[old : self.n]), self.x, "sqeuclidean")
        self._sqdist[old : self.n, : self.n] = new
        self._sqdist[:old, old : self.n] = new[:, :old].T
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean = float(self.y.mean())
            self.std = float(self.y.std(ddof=1)) if self.n > 1 and np.ptp(self.y) > 0 else 1.0
        if not (np.isfinite(self.mean) and np.isfinite(self.std)):
            raise NumericalError(f"the {self.n} values of y, the last {y[-1]:g}, have no finite mean and spread")

    def _grow(self, capacity: int) -> None:
        grown = np.zeros((capacity, capacity))
        grown[: len(self._sqdist), : len(self._sqdist)] = self._sqdist
        self._sqdist = grown
        self._points = np.resize(self._points, (capacity, *self._points.shape[1:]))
        self._y = np.resize(self._y, capacity)

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
    def sqdist(self) -> Array:
        return self._sqdist[: self.n, : self.n]
