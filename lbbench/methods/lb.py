"""LB-GP-UCB: regret balancing over length scales (Algorithm 1)."""

from collections.abc import Iterator
from dataclasses import dataclass

from lbbench.methods.balancing import Balancing, Candidate
from lbbench.methods.lengthscales import Schedule


@dataclass
class LB(Balancing):
    """Candidates θ₀ e^{−i/d̂}, all with the one norm that is given."""

    def candidates(self, schedule: Schedule, t: int) -> Iterator[Candidate]:
        """Every length scale that g(t) allows."""
        for lengthscale in schedule.candidates(t):
            yield Candidate(lengthscale, self.surrogate.norm)
