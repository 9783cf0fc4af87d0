"""The exact log marginal likelihood of the length scale, and where it is largest."""

import math
from functools import cache

import numpy as np
from scipy.interpolate import PPoly
from scipy.linalg import lapack
from scipy.optimize import brentq

from lbbench.domain import Array
from lbbench.errors import NumericalError
from lbbench.gp.data import Data, Merged
from lbbench.gp.interpolation import interpolate
from lbbench.gp.kernels import Kernel
from lbbench.gp.linalg import JITTERS, not_positive_definite

SHORTEST, LONGEST = 0.005, 10.0  # where length scales are looked for, in unit-cube units
SPACING = 1 / 32  # in ln θ, of the values from which a peak is found
OFFSETS = np.arange(-4.0, 5.0)  # of those values from the middle one, in spacings


class Likelihood:
    """ln p(z | θ) for fixed data, as a function of ln θ, where peaks have about the same width everywhere.

    `sqdist` are the squared distances between m points, `(m, m)`, `z` their values, `(m,)`. Where a value is the mean
    of c repeats, as `counts` says, it has regulariser λ/c, and `scatter` is Σ(zᵢ − mean)² over all repeats; that is
    exact, since the scatter tells nothing of θ. Matrices are one triangle of m(m + 1)/2 numbers, in LAPACK's
    rectangular full packed format: half the work for the kernel, full speed for the Cholesky factor. `jitter` is the
    largest that any of them has needed.
    """

    def __init__(
        self,
        sqdist: Array,
        z: Array,
        kernel: Kernel,
        regulariser: float,
        counts: Array | None = None,
        scatter: float = 0.0,
    ) -> None:
        counts = np.ones(len(z)) if counts is None else counts
        self.kernel = kernel
        self.z = z
        self.jitter = 0.0
        self._sqdist = cache(lambda: _pack(sqdist))  # which a growing likelihood hardly needs
        self._noise = cache(lambda: _pack(np.diag(regulariser / counts)))
        self._diagonal = cache(lambda: np.flatnonzero(self._noise()))
        n = float(counts.sum())
        repeats = (n - len(z)) * math.log(regulariser) + float(np.log(counts).sum())
        self._constant = -0.5 * (n * math.log(2.0 * math.pi) + scatter / regulariser + repeats)

    @classmethod
    def of(cls, data: Data, kernel: Kernel, regulariser: float) -> "Likelihood":
        """The likelihood of all data so far, standardised."""
        rows = Merged(data)
        return cls(rows.sqdist, rows.z, kernel, regulariser, rows.counts, rows.standard_scatter)

    def __call__(self, log_lengthscale: float) -> float:
        """The log marginal likelihood, in nats. Raises `NumericalError` if it is not finite."""
        covariance = self.kernel.value(self._sqdist() * math.exp(-2.0 * log_lengthscale))
        value, _, _ = self._evaluate(covariance, log_lengthscale)
        return value

    def with_slope(self, log_lengthscale: float) -> tuple[float, float]:
        """The log marginal likelihood and its derivative by ln θ: ½ tr((ααᵀ − K⁻¹) ∂K/∂ln θ), where α = K⁻¹z."""
        u = self._sqdist() * math.exp(-2.0 * log_lengthscale)
        covariance, slope = self.kernel.derivative(u)
        slope *= -2.0 * u  # zero on the diagonal, so that the sum over the triangle is half of the trace
        value, factor, alpha = self._evaluate(covariance, log_lengthscale)
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

    def _tops(self, spline: PPoly, tolerance: float = 0.0) -> list[float]:
        """The ln θ of the peaks that may reach the maximum less the tolerance, each to 1e-7."""
        nodes = np.round(spline(spline.x), 9)  # so that a plateau has one peak, not one for each rounding error
        padded = np.concatenate([[-np.inf], nodes, [-np.inf]])
        peaks = np.flatnonzero((nodes >= padded[:-2]) & (nodes > padded[2:]))
        lows, highs = spline.x[np.maximum(peaks - 1, 0)], spline.x[np.minimum(peaks + 1, len(nodes) - 1)]
        lattice = np.linspace(lows, highs, 129)
        heights = spline(lattice)
        starts, tops = lattice[heights.argmax(0), np.arange(len(peaks))], heights.max(0)
        near = tops >= tops.max() - tolerance - 0.05  # which is more than the spline's error
        return [self._top(*peak) for peak in zip(starts[near], lows[near], highs[near], strict=True)]

    def _top(self, start: float, low: float, high: float) -> float:
        """The peak near `start` in [low, high], from the polynomial through nine values around it.

        Those are at multiples of a spacing, and so of the same few length scales step after step; the spacing is halved
        until the polynomial through the inner seven has its peak at the same place.
        """
        spacing = SPACING
        for _ in range(12):
            centre = round(start / spacing)
            values = np.array([self(s) for s in (spacing * (centre + OFFSETS)).tolist()])
            rough, fine = _stationary((SEVEN @ values[1:-1]).tolist()), _stationary((NINE @ values).tolist())
            to = spacing * (centre + fine)
            if not low <= to <= high:  # or nan
                break
            if abs(fine) < 1.5 and abs(fine - rough) * spacing < 1e-7:
                return to
            if abs(fine) < 1.5:
                spacing *= 0.5
            start = to
        slope = cache(lambda s: self.with_slope(s)[1])
        if slope(low) > 0.0 > slope(high):
            return float(brentq(slope, low, high, xtol=1e-8))
        return max((low, start, high), key=self)

    def _evaluate(self, kernel_matrix: Array, log_lengthscale: float) -> tuple[float, Array, Array]:
        """The value, the Cholesky factor of K, packed, and α."""
        factor = self._cholesky(kernel_matrix + self._noise(), log_lengthscale)
        alpha, _ = lapack.dpftrs(len(self.z), factor, self.z, uplo="L")
        return self._nats(float(self.z @ alpha), float(np.log(factor[self._diagonal()]).sum())), factor, alpha

    def _nats(self, square: float, half_log_determinant: float) -> float:
        """The value, from zᵀK⁻¹z and ½ ln det K."""
        value = self._constant - 0.5 * square - half_log_determinant
        if not math.isfinite(value):
            raise NumericalError("the likelihood of the length scale is not finite")
        return value

    def _cholesky(self, covariance: Array, log_lengthscale: float) -> Array:
        diagonal = self._diagonal()
        entries = covariance[diagonal]
        for jitter in JITTERS:
            covariance[diagonal] = entries + jitter
            factor, failed = lapack.dpftrf(len(self.z), covariance, uplo="L")
            if not failed:
                self.jitter = max(self.jitter, jitter)
                return np.asarray(factor)
        raise not_positive_definite(len(self.z), math.exp(log_lengthscale))


def _stationary(slopes: list[float]) -> float:
    """Where a polynomial, its highest coefficient first, has a zero near 0 at which it falls; nan if it has none."""
    at = 0.0
    for _ in range(20):
        value = derivative = 0.0
        for coefficient in slopes:
            derivative = derivative * at + value
            value = value * at + coefficient
        if not derivative < 0.0:
            return math.nan
        at, last = at - value / derivative, at
        if abs(at - last) < 1e-10 or abs(at) > OFFSETS[-1]:
            return at
    return math.nan


def _slopes(offsets: Array) -> Array:
    """The matrix that makes of values at the offsets the derivative of the polynomial through them, `(n − 1, n)`."""
    return np.arange(len(offsets) - 1.0, 0.0, -1.0)[:, None] * np.linalg.inv(np.vander(offsets))[:-1]


SEVEN, NINE = _slopes(OFFSETS[1:-1]), _slopes(OFFSETS)


def _grid(shortest: float, longest: float) -> Array:
    """A grid to start from, spaced by 0.63 over the default range.

    With a Matérn kernel, peaks were never seen closer than 0.7; closer ones, as the RBF has, show in the halving.
    """
    return np.linspace(math.log(shortest), math.log(longest), 13)


def _pack(matrix: Array) -> Array:
    """The lower triangle of a symmetric `(n, n)` matrix in rectangular full packed format."""
    packed, _ = lapack.dtrttf(matrix, uplo="L")
    return np.asarray(packed)
