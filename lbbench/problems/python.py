"""Objectives of the user's own, as plain functions."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lbbench.domain import Array, Box
from lbbench.errors import ObjectiveError, UsageError, printable
from lbbench.problems.base import Problem

ABOVE = 1e-6  # relative: how much better than an optimum that is known to some digits a value may be


def objective(
    name: str,
    function: Callable[[Array], float],
    bounds: str = "none",
    maximize: bool = True,
    optimum: float | str = "unknown",
    noise_std: float = 0.0,
) -> Problem:
    """A function of one point, `(d,)` in user units, on a box; `bounds` is `[[low,high],…]`, as it is typed.

    `optimum` is the function's largest value in the box, or its smallest if it is to be minimised. Raises `UsageError`
    without bounds.
    """
    if bounds == "none":
        raise UsageError(f"problem={name} needs problem.bounds=, such as problem.bounds=[[0,1],[20,80]]")
    low, high = np.array(json.loads(bounds)).T
    sign = 1.0 if maximize else -1.0

    best = math.nan if optimum == "unknown" else sign * float(optimum) + 0.0  # not -0

    def evaluate(x: Array) -> Array:
        values = np.array([sign * _number(name, function(point.copy())) for point in x])
        if (above := values[np.isfinite(values) & (values > best + ABOVE * max(1.0, abs(best)))]).size:
            raise ObjectiveError(f"{name} is {sign * above.max():.8g}, which is better than optimum={optimum}")
        return values

    return Problem(name, Box(low.copy(), high.copy()), evaluate, best, noise_std)


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, str | bytes) or np.ndim(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ObjectiveError(f"{name} returned {printable(repr(value))}, and not a number") from None
