"""What a problem is."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from lbbench.domain import Array, Domain


@dataclass(frozen=True, eq=False)
class Problem:
    """An objective to maximise, known without noise so that regret can be measured.

    `evaluate` maps user-unit coordinates `(k, d)` to values `(k,)`. It is called with points of `domain` only.
    `optimum` is the maximum over the domain, NaN if it is not known, and `noise_std` the standard deviation of what is
    added to each value. `lengthscale` is the θ that methods are told which are told one, in unit-cube units, such as
    that of the kernel it was drawn with; NaN if there is none.
    """

    name: str
    domain: Domain
    evaluate: Callable[[Array], Array]
    optimum: float
    noise_std: float = 0.0
    lengthscale: float = math.nan
