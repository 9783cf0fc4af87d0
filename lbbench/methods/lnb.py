"""LNB-GP-UCB: regret balancing over length scales and norms (Algorithm 3)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lbbench.methods.balancing import Balancing, Candidate
from lbbench.methods.lengthscales import Schedule
from lbbench.theory import candidate_count


@dataclass(kw_only=True)
class LNB(Balancing):
    """Every allowed length scale crossed with every allowed norm v(j) = B₀ eʲ ≤ B₀ b(t); B₀ is the surrogate's."""

    b: Callable[[float], float]

    def candidates(self, schedule: Schedule, t: int) -> Iterator[Candidate]:
        """The cross of length scales and norms that g(t) and b(t) allow."""
        norms = [self.surrogate.norm * math.exp(j) for j in range(1 + candidate_count(self.b(t), 1.0))]
        for lengthscale in schedule.candidates(t):
            for norm in norms:
                yield Candidate(lengthscale, norm)
