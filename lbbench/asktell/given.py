"""What users of an optimizer give it: checked, and in the terms of its domain."""

import math

import numpy as np
from numpy.typing import ArrayLike

from lbbench.domain import Array, Box, Domain, Points, Pool
from lbbench.errors import UsageError
from lbbench.gp.data import LARGEST

SAME = 1e-6  # of an input's range: a point this near to a pending one, or to a candidate, is meant to be that


def domain(bounds: ArrayLike | None, candidates: ArrayLike | None) -> Domain:
    """The box with these `bounds`, `(d, 2)`, or the pool of these `candidates`, `(m, d)`, of which one is None."""
    if (bounds is None) == (candidates is None):
        raise UsageError("give either bounds, (d, 2), or candidates, (m, d)")
    name = "bounds" if candidates is None else "candidates"
    try:
        array = np.array(bounds if candidates is None else candidates, dtype=float)
    except (ValueError, TypeError):
        raise UsageError(f"{name} must be numbers, as many in each row") from None
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise UsageError(f"{name} must be a table of finite numbers, not of shape {array.shape}")
    if candidates is not None:
        return Pool(array)
    if array.shape[1] != 2 or not (array[:, 0] < array[:, 1]).all():
        raise UsageError("each of the bounds must be a lowest and a highest value, the lowest first")
    return Box(array[:, 0].copy(), array[:, 1].copy())


def row(x: ArrayLike, dim: int) -> Array:
    """One point, `(dim,)`, in user units."""
    try:
        row = np.array(x, dtype=float)
    except (ValueError, TypeError):
        raise UsageError(f"x = {x!r} must be {dim} numbers") from None
    if row.shape != (dim,):
        raise UsageError(f"x must be {dim} numbers, not of shape {row.shape}")
    return row


def number(name: str, value: float) -> float:
    """A number that is not too large for a model."""
    try:
        number = float(value)
    except (ValueError, TypeError):
        number = math.nan
    if not abs(number) <= LARGEST:
        raise UsageError(f"{name} = {value!r} must be a number within ±{LARGEST:g}")
    return number


def points(domain: Domain, x: Array) -> Points:
    """What the domain calls the points `(k, d)` in user units."""
    low, high = domain.bounds
    span = np.where(high > low, high - low, 1.0)
    if isinstance(domain, Pool):
        distance = np.abs((domain.candidates - x[:, None]) / span).max(2)
        nearest: Points = distance.argmin(1)
        if (far := distance[np.arange(len(x)), nearest] > SAME).any():
            raise UsageError(f"x = {x[far][0].tolist()} is none of the candidates")
        return nearest
    points = (x - low) / span
    if (out := (np.abs(points - 0.5) > 0.5 + SAME).any(1) | ~np.isfinite(points).all(1)).any():
        raise UsageError(f"x = {x[out][0].tolist()} is not within the bounds")
    return np.clip(points, 0.0, 1.0)
