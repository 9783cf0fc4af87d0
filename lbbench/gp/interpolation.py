"""A function of one variable from few evaluations, good where it is near its maximum."""

from collections.abc import Callable

import numpy as np
from scipy.interpolate import PPoly
from scipy.linalg import lapack

from lbbench.domain import Array

NARROWEST, MOST = 1e-6, 1000  # width of an interval that is halved, and number of points
SHARES = np.linspace(0.0, 1.0, 9)[1:-1, None]  # of an interval, where it is looked at


def interpolate(f: Callable[[float], float], grid: Array, slack: float, tolerance: float) -> PPoly:
    """A cubic spline through f on the range of the grid that is good where f is within `slack` of its maximum.

    Intervals where f may be that large, by the spline or if f is concave, are halved until the spline foretells the
    value in the middle to `tolerance`, or to that share of its depth below the maximum. Where f jumps, as by rounding
    where a matrix is all but singular, no spline will do; so there are a narrowest interval and a largest grid.
    """
    values = np.array([f(s) for s in grid.tolist()])
    trusted = np.zeros(len(grid) - 1, dtype=bool)
    while True:
        spline, top = cubic_spline(grid, values), values.max()
        doubted = np.flatnonzero(~trusted & (_ceilings(spline, values) >= top - slack) & (np.diff(grid) > NARROWEST))
        if len(doubted) == 0 or len(grid) >= MOST:
            return spline
        middles = 0.5 * (grid[doubted] + grid[doubted + 1])
        seen = np.array([f(s) for s in middles.tolist()])
        trusted[doubted] = np.abs(spline(middles) - seen) <= tolerance * (1.0 + np.maximum(top - seen, 0.0))
        trusted = np.insert(trusted, doubted, trusted[doubted])
        grid, values = np.insert(grid, doubted + 1, middles), np.insert(values, doubted + 1, seen)


def cubic_spline(x: Array, y: Array) -> PPoly:
    """The cubic spline of `scipy.interpolate.CubicSpline` (not-a-knot) through at least four points, ten times faster.

    For each two neighbouring intervals, of widths h and slopes m of the secants, the derivatives d satisfy
    h₂d₁ + 2(h₁ + h₂)d₂ + h₁d₃ = 3(h₂m₁ + h₁m₂), and the third derivatives of the outermost two intervals agree.
    """
    h = x[1:] - x[:-1]
    m = (y[1:] - y[:-1]) / h
    both = x[2:] - x[:-2]
    diagonal = np.concatenate([h[1:2], 2.0 * both, h[-2:-1]])
    below, above = np.append(h[1:], both[-1]), np.append(both[0], h[:-1])
    first = ((h[0] + 2.0 * both[0]) * h[1] * m[0] + h[0] ** 2 * m[1]) / both[0]
    last = ((h[-1] + 2.0 * both[-1]) * h[-2] * m[-1] + h[-1] ** 2 * m[-2]) / both[-1]
    right = np.concatenate([[first], 3.0 * (h[1:] * m[:-1] + h[:-1] * m[1:]), [last]])
    d = lapack.dgtsv(below, diagonal, above, right)[3]
    bend = (d[:-1] + d[1:] - 2.0 * m) / h
    return PPoly.construct_fast(np.array([bend / h, (m - d[:-1]) / h - bend, d[:-1], y[:-1]]), x)


def _ceilings(spline: PPoly, values: Array) -> Array:
    """What f may reach in each interval: the spline's maximum, or the height where its neighbours' secants meet."""
    width = spline.x[1:] - spline.x[:-1]
    secants = (values[1:] - values[:-1]) / width
    rising, falling = np.full_like(secants, np.inf), np.full_like(secants, np.inf)
    rising[1:], falling[:-1] = secants[:-1], -secants[1:]
    steps = SHARES * width
    left, right = values[:-1], values[1:]
    inside = np.minimum(left + rising * steps, right + falling * (width - steps))
    highest = np.maximum(inside, spline(spline.x[:-1] + steps)).max(0)
    return np.asarray(np.maximum(highest, np.maximum(left, right)))
