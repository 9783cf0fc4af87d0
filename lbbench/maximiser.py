"""Where acquisition functions are largest."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.spatial.distance import cdist

from lbbench.acquisition import Acquisition, Smooth
from lbbench.domain import Array, Box, Domain, Points, Pool, sobol
from lbbench.errors import NumericalError

COMPARED = 12  # points for each start, with each other: the rest of 500 are hardly ever starts
ITERATIONS = 500  # a climb takes 10 as a rule
LEAST = 1e-10  # gain of a step that is worth another
ROUNDING = 1e-13  # of values, relative to 1 plus their size: near a maximum gradients are more telling
MERGED = 1e-3  # a climb that steps this close to the best one, in every coordinate, is on the same peak


@dataclass(frozen=True)
class Maximiser:
    """How hard to look for the maximum in a box: quasi-random points to score, and starts to improve from the best."""

    raw_samples: int = 512
    restarts: int = 10

    def __call__(self, acquisition: Acquisition, domain: Domain, incumbents: Points, rng: Generator) -> Points:
        """The point, `(1,)` or `(1, d)`, at which the acquisition function is largest.

        Exact in a pool. In a box: the best peaks among a shifted Sobol set, the `incumbents` (points known to be
        good, such as the best observed) and points around those, all climbed together; the best of all these points if
        the function is not `Smooth`. Raises `NumericalError` if it is not finite.
        """
        if isinstance(domain, Pool):
            values = acquisition(np.arange(domain.size))
            best = np.argmax(values)
            _check(values[best])
            return np.array([best])
        assert isinstance(domain, Box)
        known = domain.unit(incumbents)
        raw = np.concatenate([sobol(self.raw_samples, domain.dim, rng), known, _around(known, rng)])
        values = acquisition(raw)
        _check(values)
        if not isinstance(acquisition, Smooth):
            return raw[[np.argmax(values)]]
        spacing = self.raw_samples ** (-1.0 / domain.dim)
        return climb(acquisition, distinct_best(raw, values, self.restarts, 1.25 * spacing))


def _check(values: Array) -> None:
    if not np.isfinite(values).all():  # of which the largest is none, or nan
        raise NumericalError("the acquisition function is not finite")


def _around(incumbents: Array, rng: Generator) -> Array:
    """Points near the incumbents at three scales: the standard deviation has a sharp dip at each observed point."""
    scales = np.array([1e-1, 1e-2, 1e-3])[:, None, None]
    moved = incumbents + scales * rng.standard_normal((len(scales), *incumbents.shape))
    return _into_cube(moved).reshape(-1, incumbents.shape[1])


def distinct_best(points: Array, values: Array, n: int, radius: float) -> Array:
    """The n best of the points `(m, d)` that have no better one within `radius`, then the best of the others."""
    best = np.argsort(-values, kind="stable")[: COMPARED * n]
    points = points[best]
    to_better = np.where(np.tri(len(points), k=-1, dtype=bool), cdist(points, points), np.inf)
    return points[np.argsort(to_better.min(1) < radius, kind="stable")[:n]]


def climb(acquisition: Smooth, starts: Array) -> Array:
    """The best point, `(1, d)`, that Newton's method reaches in the unit cube from k starts, `(k, d)`.

    All starts take their steps together, since one evaluation at k points costs little more than at one. Each has a
    trust radius of its own, and retires when it has converged, has come to the best one, or cannot catch up with it.
    """
    top, top_value = starts[:1], -1e300
    trial, point, value = starts, starts, np.full(len(starts), -np.inf)
    gradient, hessian = np.zeros(starts.shape), np.zeros((*starts.shape, starts.shape[1]))
    radius = np.full(len(starts), 0.2)
    for _ in range(ITERATIONS):
        new_value, new_gradient, new_hessian = acquisition.expand(trial)
        moved = trial - point
        length = np.sqrt((moved * moved).sum(1))
        promised = 1e-4 * np.maximum((gradient * moved).sum(1), 0.0)
        better = new_value >= value + promised - ROUNDING * (1.0 + np.abs(new_value))
        radius = np.where(better, np.maximum(radius, 2.0 * length), length / 4.0)
        if not better.all():  # they stay where they were
            stay = ~better
            trial[stay], new_value[stay] = point[stay], value[stay]
            new_gradient[stay], new_hessian[stay] = gradient[stay], hessian[stay]
        point, value, gradient, hessian = trial, new_value, new_gradient, new_hessian

        slack = np.abs(_into_cube(point + gradient) - point).max(1)  # 0 at a maximum, also at a bound
        trial, gain = newton_step(point, gradient, hessian, radius)
        best = int(np.argmax(value))
        if value[best] >= top_value - ROUNDING * (1.0 + abs(top_value)):  # the later, the smaller its gradient
            top_value = value[best]
            top = (trial if gain[best] <= LEAST else point)[[best]]  # the last step, after which nothing is left
        merged = np.abs(trial - point[best]).max(1) < MERGED
        merged[best] = False
        # Far from a maximum the promised gain is a guess, hence the factor.
        live = (slack > 1e-8) & (gain > LEAST) & (radius > 1e-10) & (value + 10.0 * gain >= top_value) & ~merged
        if not live.any():
            break
        if not live.all():
            trial, point, value, radius = trial[live], point[live], value[live], radius[live]
            gradient, hessian = gradient[live], hessian[live]
    return top


def newton_step(point: Array, gradient: Array, hessian: Array, radius: Array) -> tuple[Array, Array]:
    """Where to try next from each point, `(k, d)`, and the gain that a full step promises, `(k,)`.

    Coordinates that the gradient presses against a bound stay there. The others take Newton's step with the Hessian's
    eigenvalues made negative, so that it ascends (Dauphin et al. 2014), cut to `radius` and to the cube.
    """
    pressed = ((point <= 0.0) & (gradient < 0.0)) | ((point >= 1.0) & (gradient > 0.0))
    free = ~pressed
    curvature, axes = np.linalg.eigh(np.where(free[:, :, None] & free[:, None], hessian, -np.eye(point.shape[1])))
    along = ((free * gradient)[:, None] @ axes)[:, 0]
    step = along / np.maximum(np.abs(curvature), 1e-8)
    gain = 0.5 * (along * step).sum(1)
    length = np.sqrt((step * step).sum(1))
    step *= np.minimum(1.0, radius / np.maximum(length, 1e-300))[:, None]
    return _into_cube(point + np.where(free, (axes @ step[:, :, None])[:, :, 0], 0.0)), gain


def _into_cube(points: Array) -> Array:
    return np.minimum(np.maximum(points, 0.0), 1.0)  # a third of the time of np.clip
