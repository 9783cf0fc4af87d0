"""The exact log marginal likelihood of the length scale, and where it is largest."""

import math

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import brentq, minimize_scalar

from lbbench.domain import Array
from lbbench.gp.data import Data
from lbbench.gp.kernels import Kernel
from lbbench.gp.linalg import safe_cholesky, solve_lower

SHORTEST, LONGEST = 0.005, 10.0  # where length scales are looked for, in unit-cube units
GRID = 41


class Likelihood:
    """ln p(z | θ) for fixed data, as a function of ln θ, where peaks have about the same width everywhere."""

    def __init__(self, sqdist: Array, z: Array, kernel: Kernel, regulariser: float) -> None:
        self.sqdist, self.z, self.kernel, self.regulariser = sqdist, z, kernel, regulariser
        self._diagonal = np.diag_indices(len(z))

    @classmethod
    def of(cls, data: Data, kernel: Kernel, regulariser: float) -> "Likelihood":
        """The likelihood of all data so far, standardised."""
        return cls(data.sqdist, data.z, kernel, regulariser)

    def __call__(self, log_lengthscale: float) -> float:
        """The log marginal likelihood, in nats."""
        covariance = self.kernel.value(self.sqdist * math.exp(-2.0 * log_lengthscale))
        value, _ = self._evaluate(covariance)
        return value

    def with_slope(self, log_lengthscale: float) -> tuple[float, float]:
        """The log marginal likelihood and its derivative by ln θ: ½ tr((ααᵀ − K⁻¹) ∂K/∂ln θ)."""
        u = self.sqdist * math.exp(-2.0 * log_lengthscale)
        covariance, slope = self.kernel.derivative(u)
        value, factor = self._evaluate(covariance)
        inverse, _ = lapack.dpotri(factor, lower=1)  # its lower triangle; the upper one stays zero
        slope *= -2.0 * u  # zero on the diagonal
        weights = np.tril(inverse) @ self.z
        weights += np.tril(inverse, -1).T @ self.z
        return value, 0.5 * float(weights @ slope @ weights) - float(np.vdot(inverse, slope))

    def _evaluate(self, covariance: Array) -> tuple[float, Array]:
        covariance[self._diagonal] += self.regulariser
        factor, _ = safe_cholesky(covariance)
        white = solve_lower(factor, self.z)
        log_det = 2.0 * float(np.log(np.diag(factor)).sum())
        return -0.5 * (float(white @ white) + log_det + len(white) * math.log(2.0 * math.pi)), factor

    def maximum(self, shortest: float = SHORTEST, longest: float = LONGEST) -> float:
        """The θ in [shortest, longest] of largest likelihood: the global maximum, to 1e-6 in ln θ.

        A grid over ln θ finds the peaks, the root of the derivative refines each of them.
        """
        grid, values = self._grid(shortest, longest)
        padded = np.concatenate([[-np.inf], values, [-np.inf]])
        peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
        tops = [self._climb(grid[max(i - 1, 0)], grid[i], grid[min(i + 1, GRID - 1)]) for i in peaks]
        return math.exp(max(tops, key=lambda top: top[1])[0])

    def longest_plausible(self, tolerance: float = 1e-3, shortest: float = SHORTEST, longest: float = LONGEST) -> float:
        """The longest θ in [shortest, longest] whose log likelihood is within `tolerance` of the maximum.

        On few points the likelihood is often flat, and an upper bound on θ is wanted.
        """
        grid, values = self._grid(shortest, longest)
        top = math.log(self.maximum(shortest, longest))
        grid = np.append(grid, top)
        values = np.append(values, self(top))
        order = np.argsort(grid, kind="stable")
        grid, values = grid[order], values[order]
        threshold = values.max() - tolerance
        i = int(np.flatnonzero(values >= threshold)[-1])
        if i == len(grid) - 1:
            return longest
        return math.exp(brentq(lambda s: self(s) - threshold, grid[i], grid[i + 1], xtol=1e-9))

    def _grid(self, shortest: float, longest: float) -> tuple[Array, Array]:
        grid = np.linspace(math.log(shortest), math.log(longest), GRID)
        return grid, np.array([self(s) for s in grid])

    def _climb(self, low: float, middle: float, high: float) -> tuple[float, float]:
        """The maximum in [low, high] and its value, for a peak near `middle`."""

        def slope(s: float) -> float:
            return self.with_slope(s)[1]

        at_low, at_high = slope(low), slope(high)
        if at_low > 0 > at_high:
            top = brentq(slope, low, high, xtol=1e-9)
        elif middle in (low, high):  # a peak at the end of the range
            top = middle
        else:
            top = minimize_scalar(lambda s: -self(s), bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x
        return top, self(top)
