"""What posteriors of both domains share: the joint distribution of a few values, and the way to standard deviations."""

from typing import NamedTuple

import numpy as np

from lbbench.domain import Array


class Joint(NamedTuple):
    """A normal distribution: its mean, `(k,)`, a root R of its covariance RRᵀ, `(k, r)`, and the jitter of that."""

    mean: Array
    root: Array
    jitter: float = 0.0


def standard_deviation(variance: Array) -> Array:
    """The root of a variance that rounding may have made negative."""
    return np.sqrt(np.maximum(variance, 0.0))
