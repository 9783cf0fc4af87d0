"""The exact log marginal likelihood of the length scale, and where it is largest."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import lapack
from scipy.optimize import brentq

from lbbench.domain import Array
from lbbench.errors import NumericalError
from lbbench.gp.data import Data
from lbbench.gp.kernels import Kernel
from lbbench.gp.linalg import JITTERS

SHORTEST, LONGEST = 0.005, 10.0  # where length scales are looked for, in unit-cube units


class Likelihood:
    """ln p(z | θ) for fixed data, as a function of ln θ, where peaks have about the same width everywhere.

    Repeated points are merged, which changes nothing: c values at one point are worth one, their mean, with
    regulariser λ/c, and a factor that θ does not enter. Matrices are one triangle of n(n + 1)/2 numbers, in LAPACK's
    rectangular full packed format: half the work for the kernel, full speed for the Cholesky factor.
    """

    def __init__(self, sqdist: Array, z: Array, kernel: Kernel, regulariser: float) -> None:
        _, kept, group, counts = np.unique(
            (sqdist == 0.0).argmax(1), return_index=True, return_inverse=True, return_counts=True
        )
        self.kernel = kernel
        self.z = np.bincount(group, weights=z) / counts
        self._sqdist = _pack(sqdist if len(kept) == len(z) else sqdist[np.ix_(kept, kept)])
        self._noise = _pack(np.diag(regulariser / counts))
        self._diagonal = np.flatnonzero(self._noise)
        scatter = float(np.square(z - self.z[group]).sum()) / regulariser
        repeats = (len(z) - len(kept)) * math.log(regulariser) + float(np.log(counts).sum())
        self._constant = -0.5 * (len(z) * math.log(2.0 * math.pi) + scatter + repeats)

    @classmethod
    def of(cls, data: Data, kernel: Kernel, regulariser: float) -> "Likelihood":
        """The likelihood of all data so far, standardised."""
        return cls(data.sqdist, data.z, kernel, regulariser)

    def __call__(self, log_lengthscale: float) -> float:
        """The log marginal likelihood, in nats. Raises `NumericalError` if it is not finite."""
        value, _, _ = self._evaluate(self.kernel.value(self._sqdist * math.exp(-2.0 * log_lengthscale)))
        return value

    def with_slope(self, log_lengthscale: float) -> tuple[float, float]:
        """The log marginal likelihood and its derivative by ln θ: ½ tr((ααᵀ − K⁻¹) ∂K/∂ln θ), where α = K⁻¹z."""
        u = self._sqdist * math.exp(-2.0 * log_lengthscale)
        covariance, slope = self.kernel.derivative(u)
        slope *= -2.0 * u  # zero on the diagonal, so that the sum over the triangle is half of the trace
        value, factor, alpha = self._evaluate(covariance)
        n = len(alpha)
        inverse, _ = lapack.dpftri(n, factor, uplo="L")
        return value, float(lapack.dsfrk(n, 1, 1.0, alpha[:, None], -1.0, inverse, uplo="L") @ slope)

    def maximum(self, shortest: float = SHORTEST, longest: float = LONGEST) -> float:
        """The θ in [shortest, longest] of largest likelihood: the global maximum, to 1e-6 in ln θ."""
        tops = self._tops(interpolate(self, _grid(shortest, longest), slack=0.1, tolerance=0.02))
        return math.exp(tops[0] if len(tops) == 1 else max(tops, key=self))

    def longest_plausible(self, tolerance: float = 1e-3, shortest: float = SHORTEST, longest: float = LONGEST) -> float:
        """The longest θ in [shortest, longest] whose log likelihood is within `tolerance` of the maximum.

        On few points the likelihood is often flat, and an upper bound on θ is wanted.
        """
        spline = interpolate(self, _grid(shortest, longest), slack=0.1 + tolerance, tolerance=1e-3)
        known = sorted({*spline.x, *self._tops(spline, tolerance)})
        values = np.array([self(s) for s in known])
        threshold = values.max() - tolerance
        last = int(np.flatnonzero(values >= threshold)[-1])
        if last == len(known) - 1:
            return longest
        return math.exp(brentq(lambda s: self(s) - threshold, known[last], known[last + 1], xtol=1e-9))

    def _tops(self, spline: CubicSpline, tolerance: float = 0.0) -> list[float]:
        """The ln θ of the peaks that may reach the maximum less the tolerance, each to 1e-7."""
        nodes = np.round(spline(spline.x), 9)  # so that a plateau has one peak, not one for each rounding error
        padded = np.concatenate([[-np.inf], nodes, [-np.inf]])
        peaks = np.flatnonzero((nodes >= padded[:-2]) & (nodes > padded[2:]))
        lows, highs = spline.x[np.maximum(peaks - 1, 0)], spline.x[np.minimum(peaks + 1, len(nodes) - 1)]
        lattice = np.linspace(lows, highs, 129)
        heights = spline(lattice)
        starts, tops = lattice[heights.argmax(0), np.arange(len(peaks))], heights.max(0)
        near = tops >= tops.max() - tolerance - 0.05  # which is more than the spline's error
        return [self._top(spline, *peak) for peak in zip(starts[near], lows[near], highs[near], strict=True)]

    def _top(self, spline: CubicSpline, start: float, low: float, high: float) -> float:
        """The peak near `start` in [low, high], by the secant method on the derivative."""
        slope = cache(lambda s: self.with_slope(s)[1])
        at, curvature = start, float(spline(start, 2))
        for _ in range(20):
            if not (curvature < 0.0 and low <= (to := at - slope(at) / curvature) <= high):
                break
            if abs(to - at) < 1e-7:
                return to
            at, curvature = to, (slope(to) - slope(at)) / (to - at)
        if slope(low) > 0.0 > slope(high):
            return float(brentq(slope, low, high, xtol=1e-8))
        return max((low, start, high), key=self)

    def _evaluate(self, kernel_matrix: Array) -> tuple[float, Array, Array]:
        """The value, the Cholesky factor of K, packed, and α."""
        covariance = kernel_matrix + self._noise
        factor = self._cholesky(covariance)
        alpha, _ = lapack.dpftrs(len(self.z), factor, self.z, uplo="L")
        value = self._constant - 0.5 * float(self.z @ alpha) - float(np.log(factor[self._diagonal]).sum())
        if not math.isfinite(value):
            raise NumericalError("the likelihood of the length scale is not finite")
        return value, factor, alpha

    def _cholesky(self, covariance: Array) -> Array:
        for jitter in JITTERS:
            covariance[self._diagonal] += jitter
            factor, failed = lapack.dpftrf(len(self.z), covariance, uplo="L")
            if not failed:
                return np.asarray(factor)
        raise NumericalError(f"a covariance matrix of size {len(self.z)} needs more jitter than {JITTERS[-1]}")


def interpolate(f: Callable[[float], float], grid: Array, slack: float, tolerance: float) -> CubicSpline:
    """A cubic spline through f on the range of the grid that is good where f is within `slack` of its maximum.

    Intervals where f may be that large, by the spline or if f is concave, are halved until the spline foretells the
    value in the middle to `tolerance`, or to that share of its depth below the maximum.
    """
    values = np.array([f(s) for s in grid])
    trusted = np.zeros(len(grid) - 1, dtype=bool)
    while True:
        spline, top = CubicSpline(grid, values), values.max()
        doubted = np.flatnonzero(~trusted & (_ceilings(spline, values) >= top - slack))
        if len(doubted) == 0:
            return spline
        middles = 0.5 * (grid[doubted] + grid[doubted + 1])
        seen = np.array([f(s) for s in middles])
        trusted[doubted] = np.abs(spline(middles) - seen) <= tolerance * (1.0 + np.maximum(top - seen, 0.0))
        trusted = np.insert(trusted, doubted, trusted[doubted])
        grid, values = np.insert(grid, doubted + 1, middles), np.insert(values, doubted + 1, seen)


def _ceilings(spline: CubicSpline, values: Array) -> Array:
    """What f may reach in each interval: the spline's maximum, or the height where its neighbours' secants meet."""
    width = np.diff(spline.x)
    secants = np.diff(values) / width
    share = np.linspace(0.0, 1.0, 9)[1:-1, None]
    rising = values[:-1] + np.append(np.inf, secants[:-1]) * share * width
    falling = values[1:] - np.append(secants[1:], -np.inf) * (1.0 - share) * width
    inside = np.maximum(np.minimum(rising, falling), spline(spline.x[:-1] + share * width)).max(0)
    return np.asarray(np.maximum(inside, np.maximum(values[:-1], values[1:])))


def _grid(shortest: float, longest: float) -> Array:
    """A grid to start from, spaced by 0.63 over the default range.

    With a Matérn kernel, peaks were never seen closer than 0.7; closer ones, as the RBF has, show in the halving.
    """
    return np.linspace(math.log(shortest), math.log(longest), 13)


def _pack(matrix: Array) -> Array:
    """The lower triangle of a symmetric `(n, n)` matrix in rectangular full packed format."""
    packed, _ = lapack.dtrttf(matrix, uplo="L")
    return np.asarray(packed)
