"""The posterior in a box."""

import numpy as np
from scipy.spatial.distance import cdist

from lbbench.domain import Array, Points
from lbbench.gp.data import Data
from lbbench.gp.joint import Joint, standard_deviation
from lbbench.gp.kernels import Kernel
from lbbench.gp.linalg import invert_lower, multiply_lower, safe_cholesky, solve_lower

CACHED = 16_384  # numbers in an array of which several stay in the cache


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
        return mean, standard_deviation(variance)

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
        std = standard_deviation(1.0 - np.einsum("kn,kn->k", white, white))
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
