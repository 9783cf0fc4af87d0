"""The likelihood of the length scale while data arrive, for methods that ask for it at every step."""

import math

import numpy as np
from scipy.linalg import blas, lapack

from lbbench.gp.data import Data, Merged
from lbbench.gp.kernels import Kernel
from lbbench.gp.likelihood import Likelihood
from lbbench.gp.linalg import safe_cholesky, solve_lower

BEHIND = 16  # rows: a factor that misses more is as cheaply made anew


class GrowingLikelihood(Likelihood):
    """The likelihood of all data up to the last `update`, and `jitter` the largest needed since.

    What searches it starts from the same grid at every step, so most length scales are asked for again and again. The
    Cholesky factor of each is kept, and grows by a row with each observation: O(n²) where a new one takes O(n³).
    """

    def __init__(self, data: Data, kernel: Kernel, regulariser: float) -> None:
        self.kernel, self.regulariser = kernel, regulariser
        self._rows = Merged(data)
        self._factors: dict[float, Factor] = {}
        self._look()

    def update(self) -> None:
        """Take in everything observed since the last update."""
        self._rows.update()
        self._factors = {s: factor for s, factor in self._factors.items() if not factor.is_behind}
        self._look()

    def _look(self) -> None:
        rows = self._rows
        super().__init__(rows.sqdist, rows.z, self.kernel, self.regulariser, rows.counts, rows.standard_scatter)

    def __call__(self, log_lengthscale: float) -> float:
        """The log marginal likelihood, in nats. Raises `NumericalError` if it is not finite."""
        if log_lengthscale not in self._factors:
            self._factors[log_lengthscale] = Factor(self._rows, self.kernel, log_lengthscale, self.regulariser)
        factor = self._factors[log_lengthscale]
        factor.update()
        self.jitter = max(self.jitter, factor.jitter)
        return self._nats(factor.square(self._rows.mean, self._rows.data.std), factor.half_log_determinant)


class Factor:
    """The Cholesky factor Lᵀ of K + λI at one length scale, with what it makes of the data; a lazy view of `Merged`.

    It is packed by columns, so that a new row of L is n numbers at the end. The responses L⁻¹y and L⁻¹1 give those to
    standardised values, which change with every observation.
    """

    def __init__(self, rows: Merged, kernel: Kernel, log_lengthscale: float, regulariser: float) -> None:
        self.rows, self.kernel, self.regulariser = rows, kernel, regulariser
        self.lengthscale = math.exp(log_lengthscale)
        self.scale = math.exp(-2.0 * log_lengthscale)
        self.epoch = 0
        self.n = 0

    @property
    def is_behind(self) -> bool:
        """Is it cheaper to make it anew?"""
        return self.epoch != self.rows.epoch or len(self.rows.means) - self.n > BEHIND

    def update(self) -> None:
        """Take in the rows that are new."""
        if self.is_behind:
            self._make()
        while self.n < len(self.rows.means):
            self._append()

    def square(self, mean: float, std: float) -> float:
        """zᵀ(K + λI)⁻¹z for z = (y − mean)/std."""
        white = (self._to_y[: self.n] - mean * self._to_one[: self.n]) / std
        return float(white @ white)

    def _make(self) -> None:
        rows, self.n = self.rows, len(self.rows.means)
        covariance = self.kernel.value(rows.sqdist * self.scale)
        covariance[np.diag_indices(self.n)] += self.regulariser / rows.counts
        factor, self.jitter = safe_cholesky(covariance, self.lengthscale)
        capacity = 2 * self.n
        self._packed = np.empty(capacity * (capacity + 1) // 2)
        self._packed[: self.n * (self.n + 1) // 2], _ = lapack.dtrttp(factor.T, uplo="U")
        self._to_y, self._to_one = np.empty(capacity), np.empty(capacity)
        self._to_y[: self.n] = solve_lower(factor, rows.means)
        self._to_one[: self.n] = solve_lower(factor, np.ones(self.n))
        self.half_log_determinant = float(np.log(np.diag(factor)).sum())
        self.epoch = rows.epoch

    def _append(self) -> None:
        rows, n = self.rows, self.n
        if n == len(self._to_y):
            self._make()
            return
        k = self.kernel.value(rows.sqdist[n, :n] * self.scale)
        row = blas.dtpsv(n, self._packed, k, lower=0, trans=1, overwrite_x=1)
        square = 1.0 + self.jitter + self.regulariser / rows.counts[n] - float(row @ row)
        if not square > 0.0:
            self._make()
            return
        pivot = math.sqrt(square)
        start = n * (n + 1) // 2
        self._packed[start : start + n] = row
        self._packed[start + n] = pivot
        self._to_y[n] = (rows.means[n] - row @ self._to_y[:n]) / pivot
        self._to_one[n] = (1.0 - row @ self._to_one[:n]) / pivot
        self.half_log_determinant += math.log(pivot)
        self.n += 1
