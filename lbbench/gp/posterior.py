"""The exact posterior of a GP with one length scale, kept up to date as data arrive.

Both posteriors are lazy views of a `Data`: `update` takes in, as one block, whatever has been observed since the last
call, so a length scale that is not in use costs nothing. Means and standard deviations are in standardised units and
of the latent function; K + λI is the regularised kernel matrix.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import blas
from scipy.spatial.distance import cdist

from lbbench.domain import Array, Points, Pool
from lbbench.errors import NumericalError
from lbbench.gp.data import Data
from lbbench.gp.kernels import EMPIRICAL, Kernel, covariance
from lbbench.gp.linalg import invert_lower, multiply_lower, safe_cholesky, solve_lower

FAR = 2.0**20  # standard deviations from 0, where digits of y are lost unless it is taken from an origin
SHORTEST, LONGEST = 1e-100, 1e100  # length scales whose squares, and those of distances by them, are numbers
CACHED = 16_384  # numbers in an array of which several stay in the cache


class Posterior(Protocol):
    """What a method and an acquisition function need of a posterior."""

    lengthscale: float
    information_gain: float  # ½ ln det(I + K/λ) on the data seen, in nats
    jitter: float  # the largest jitter that any update needed

    def update(self) -> None:
        """Take in everything observed since the last update."""

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Posterior mean and standard deviation at k points, both `(k,)`."""

    def joint(self, points: Points) -> "Joint":
        """The joint distribution of the values at k points."""


class Joint(NamedTuple):
    """A normal distribution: its mean, `(k,)`, a root R of its covariance RRᵀ, `(k, r)`, and the jitter of that."""

    mean: Array
    root: Array
    jitter: float = 0.0


def posterior(data: Data, kernel: Kernel, lengthscale: float, regulariser: float) -> "BoxPosterior | PoolPosterior":
    """The up-to-date posterior for the data's kind of domain.

    Raises `NumericalError` if the length scale is beyond what can be computed with.
    """
    if not SHORTEST <= lengthscale <= LONGEST:
        raise NumericalError(f"the length scale {lengthscale:.4g} is not between {SHORTEST:g} and {LONGEST:g}")
    kind = PoolPosterior if isinstance(data.domain, Pool) else BoxPosterior
    fitted = kind(data, kernel, lengthscale, regulariser)
    fitted.update()
    return fitted


class BoxPosterior:
    """Posterior in a box. Holds L⁻¹, the inverse Cholesky factor of K + λI; a new point appends a row in O(n²)."""

    def __init__(self, data: Data, kernel: Kernel, lengthscale: float, regulariser: float) -> None:
        self.data, self.kernel, self.lengthscale, self.regulariser = data, kernel, lengthscale, regulariser
        self.information_gain = 0.0
        self.jitter = 0.0
        self.n = 0
        self.inverse = np.empty((0, 0))  # L⁻¹, (n, n)
        self._scaled = np.empty((0, data.domain.dim))  # x/θ
        self._weights = np.empty(0)

    def update(self) -> None:
        old, n = self.n, self.data.n
        if old == n:
            return
        schur = self.kernel.value(self.data.sqdist[old:n] / self.lengthscale**2)
        if old:
            cross = multiply_lower(self.inverse, schur[:, :old])
            schur = schur[:, old:] - cross @ cross.T
        schur.flat[:: n - old + 1] += self.regulariser
        factor, jitter = safe_cholesky(schur, self.lengthscale)
        inverse = invert_lower(factor)
        if old:
            grown = np.zeros((n, n), order="F")  # as BLAS wants it
            grown[:old, :old] = self.inverse
            grown[old:, :old] = -solve_lower(factor, cross @ self.inverse)
            grown[old:, old:] = inverse
            inverse = grown
        self.inverse = inverse
        self.information_gain += float(np.log(np.diag(factor)).sum() - 0.5 * (n - old) * np.log(self.regulariser))
        self.jitter = max(self.jitter, jitter)
        self.n = n
        self._scaled = self.data.x / self.lengthscale
        self._weights = self.inverse.T @ (self.inverse @ self.data.z)

    def predict(self, points: Points) -> tuple[Array, Array]:
        mean, variance = np.empty(len(points)), np.empty(len(points))
        scaled = points / self.lengthscale
        size = max(64, CACHED // max(self.n, 1))
        for start in range(0, len(points), size):
            block = slice(start, start + size)
            k = self.kernel.value(cdist(scaled[block], self._scaled, "sqeuclidean"))
            mean[block] = k @ self._weights
            whitened = multiply_lower(self.inverse, k, overwrite=True)
            variance[block] = 1.0 - np.einsum("kn,kn->k", whitened, whitened)
        return mean, _std(variance)

    def joint(self, points: Points) -> Joint:
        scaled = points / self.lengthscale
        k = self.kernel.value(cdist(scaled, self._scaled, "sqeuclidean"))
        mean = k @ self._weights
        whitened = multiply_lower(self.inverse, k, overwrite=True)
        covariance = self.kernel.value(cdist(scaled, scaled, "sqeuclidean")) - whitened @ whitened.T
        return Joint(mean, *safe_cholesky(covariance, self.lengthscale))

    def expand(self, points: Points, beta: float = 1.0) -> tuple[Array, Array, Array]:
        """μ + βσ with its gradient and its Hessian: `(k,)`, `(k, d)` and `(k, d, d)`.

        With α = (K + λI)⁻¹z and κ = (K + λI)⁻¹k: ∇μ = Σᵢ αᵢ∇kᵢ, σ∇σ = −Σᵢ κᵢ∇kᵢ, and
        σ∇²σ = −∇σ∇σᵀ − Σᵢ κᵢ∇²kᵢ − (L⁻¹∇k)ᵀ(L⁻¹∇k), so both are sums over i with weights α − βκ/σ.
        """
        (count, dim), n = points.shape, self.n
        offset = points[:, :, None] / self.lengthscale - self._scaled.T  # (k, d, n); derivatives are by x/θ at first
        k, slope, curvature = self.kernel.curvature(np.einsum("kdn,kdn->kn", offset, offset))
        jacobian = (2.0 * slope)[:, None] * offset
        whitened = multiply_lower(self.inverse, np.concatenate([k, jacobian.reshape(-1, n)]), overwrite=True)
        white, white_jacobian = whitened[:count], whitened[count:].reshape(jacobian.shape)
        std = _std(1.0 - np.einsum("kn,kn->k", white, white))
        scale = 1.0 / np.maximum(std, 1e-12)
        solved = scale[:, None] * multiply_lower(self.inverse, white, transposed=True)  # κ/σ
        weights = self._weights - beta * solved
        std_gradient = (jacobian @ solved[:, :, None])[:, :, 0]
        hessian = (curvature * weights * 4.0)[:, None] * offset @ offset.transpose(0, 2, 1)
        hessian += (2.0 * (slope * weights).sum(1))[:, None, None] * np.eye(dim)
        hessian -= (beta * scale)[:, None, None] * (
            std_gradient[:, :, None] * std_gradient[:, None] + white_jacobian @ white_jacobian.transpose(0, 2, 1)
        )
        return (
            k @ self._weights + beta * std,
            (jacobian @ weights[:, :, None])[:, :, 0] / self.lengthscale,
            hessian / self.lengthscale**2,
        )


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
        self._predicted = (to_y - mean * to_one) / self.data.std, _std(self._variance)

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


def _std(variance: Array) -> Array:
    return np.sqrt(np.maximum(variance, 0.0))
