"""The posterior over a whole pool, and a root of its covariance to draw from."""

import math

import numpy as np
from scipy.linalg import blas

from lbbench.domain import Array, Points, Pool
from lbbench.gp.data import Data
from lbbench.gp.joint import Joint, standard_deviation
from lbbench.gp.kernels import EMPIRICAL, Kernel, covariance
from lbbench.gp.linalg import safe_cholesky, solve_lower

FAR = 2.0**20  # standard deviations from 0, where digits of y are lost unless it is taken from an origin


class PoolPosterior:
    """Posterior over a whole pool of m candidates.

    The posterior covariance is `base` − VᵀV, where V gains a row for each candidate in an update. Repeats within an
    update are merged (n observations of one candidate are one of their mean, with λ/n), and once V has m rows it is
    folded into the base, so that an update costs O(m²) at most, however many observations came before. The mean is
    kept as the responses to the raw y and to a constant, since the standardisation changes with every observation; y
    that is far from 0 is taken from its first value.
    """

    def __init__(self, data: Data, kernel: Kernel, lengthscale: float, regulariser: float) -> None:
        self.data, self.kernel, self.lengthscale, self.regulariser = data, kernel, lengthscale, regulariser
        assert isinstance(data.domain, Pool)
        self.pool = data.domain
        self.information_gain = 0.0
        self.jitter = 0.0
        self.n = 0
        self._origin = float(data.y[0]) if abs(data.mean) > FAR * data.std else 0.0
        self._base: Array | None = None  # None: the prior, of which only the rows in use are computed
        self._rows = np.empty((0, self.pool.size))
        self._used = 0
        self._variance = np.ones(self.pool.size) if kernel is not EMPIRICAL else self._prior_rows().diagonal().copy()
        self._root: PoolRoot | None = None
        self._response = np.zeros((2, self.pool.size))  # to y, and to the constant 1
        self._predicted = np.zeros(self.pool.size), np.ones(self.pool.size)

    def update(self) -> None:
        if self.n == self.data.n:
            return
        points, y = self.data.points[self.n :], self.data.y[self.n :] - self._origin
        if len(points) > 1 or not self._observe(int(points[0]), float(y[0])):
            self._observe_all(points, y)
        self.n = self.data.n
        to_y, to_one = self._response
        mean = self.data.mean - self._origin
        self._predicted = (to_y - mean * to_one) / self.data.std, standard_deviation(self._variance)

    def _observe(self, at: int, y: float) -> bool:
        """Take in one observation. Returns False, and has done nothing, if that needs jitter."""
        v = self._rows[: self._used]
        row = self._prior_rows(at) - v[:, at] @ v
        square = float(row[at]) + self.regulariser
        if not square > 0.0:
            return False
        pivot = math.sqrt(square)
        row /= pivot
        to_y, to_one = self._response
        to_y += ((y - float(to_y[at])) / pivot) * row
        to_one += ((1.0 - float(to_one[at])) / pivot) * row
        self._variance -= row * row
        self.information_gain += 0.5 * math.log(square / self.regulariser)
        self._append(row[None])
        return True

    def _observe_all(self, points: Points, y: Array) -> None:
        """Take in many observations as one block."""
        at = np.flatnonzero(np.bincount(points))
        counts = np.bincount(points)[at]
        observed = np.array([np.bincount(points, weights=y)[at] / counts, np.ones(len(at))])
        v = self._rows[: self._used]
        rows = self._prior_rows(at) - v[:, at].T @ v
        schur = rows[:, at]
        schur.flat[:: len(at) + 1] += self.regulariser / counts
        factor, jitter = safe_cholesky(schur, self.lengthscale)
        rows = solve_lower(factor, rows)
        self._response += solve_lower(factor, (observed - self._response[:, at]).T).T @ rows
        self._variance -= np.einsum("ij,ij->j", rows, rows)
        self.information_gain += float(np.log(np.diag(factor)).sum() + 0.5 * np.log(counts / self.regulariser).sum())
        self.jitter = max(self.jitter, jitter)
        self._append(rows)

    def _prior_rows(self, at: Points | int | slice = slice(None)) -> Array:
        if self._base is not None:
            return self._base[at]
        return covariance(self.pool, self.kernel, self.lengthscale, at)

    def _append(self, rows: Array) -> None:
        used = self._used + len(rows)
        if used > self.pool.size:
            v = np.concatenate([self._rows[: self._used], rows])
            self._base = self._prior_rows() - v.T @ v
            self._used = 0
            return
        if used > len(self._rows):
            grown = np.empty((min(2 * used, self.pool.size), self.pool.size))
            grown[: self._used] = self._rows[: self._used]
            self._rows = grown
        self._rows[self._used : used] = rows
        self._used = used

    def predict(self, points: Points) -> tuple[Array, Array]:
        mean, std = self._predicted
        return mean[points], std[points]

    def joint(self, points: Points) -> Joint:
        self._root = self._root or PoolRoot(covariance(self.pool, self.kernel, self.lengthscale), self.regulariser)
        self._root.update(self.data.points[: self.n])
        return Joint(self._predicted[0][points], self._root.matrix[points])


class PoolRoot:
    """A root R of the posterior covariance RRᵀ of a pool, `(m, r)`, in O(mr) an observation.

    An observation with w = R's row at its candidate makes it R(I − c wwᵀ), c such that (I − c wwᵀ)² = I − wwᵀ/(wᵀw + λ)
    (Potter's update: Bierman 1977, ch. V). So RRᵀ has no negative eigenvalue, however many there are.
    """

    def __init__(self, prior: Array, regulariser: float) -> None:
        eigenvalues, axes = np.linalg.eigh(prior)
        kept = eigenvalues > np.finfo(float).eps * eigenvalues[-1]
        self.matrix = np.asfortranarray(axes[:, kept] * np.sqrt(eigenvalues[kept]))
        self.regulariser = regulariser
        self.n = 0

    def update(self, points: Points) -> None:
        """Take in, of all observed points `(n,)`, those that are new, one by one."""
        for at in points[self.n :]:
            w = self.matrix[at].copy()
            square = float(w @ w)
            if square > 0.0:
                c = 1.0 / (square + self.regulariser + math.sqrt(self.regulariser * (square + self.regulariser)))
                self.matrix = blas.dger(-c, self.matrix @ w, w, a=self.matrix, overwrite_a=1)
        self.n = len(points)
