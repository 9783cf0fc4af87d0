"""Where the length scales of LB, LNB and A-GP-UCB start, and how a growth function shortens them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lbbench.gp.data import Data
from lbbench.gp.likelihood import Likelihood
from lbbench.methods.base import Surrogate
from lbbench.theory import candidate_count, effective_dim, growth_floor


@dataclass(frozen=True)
class Schedule:
    """Length scales from θ₀ down, for one run: at step t none is shorter than θ₀/g(t).

    `jitter` is the largest that the likelihood needed to find θ₀.
    """

    lengthscale0: float
    effective_dim: float
    growth: Callable[[float], float]
    jitter: float = 0.0

    def shortest(self, t: int) -> float:
        """θ₀/g(t)."""
        return self.lengthscale0 / self.growth(t)

    def candidates(self, t: int) -> Iterator[float]:
        """q(i) = θ₀ e^{−i/d̂} for i = 0 and every i that g(t) allows (Definition 3.1), the longest first."""
        for i in range(1 + candidate_count(self.growth(t), self.effective_dim)):
            yield self.lengthscale0 * math.exp(-i / self.effective_dim)


@dataclass(frozen=True)
class Shrinking:
    """The settings behind a `Schedule`.

    The growth is max(t0, g(t)); `t0` "auto" is e^{5/d̂}. `theta0` is θ₀, or "mle" for the longest length scale that the
    initial design finds plausible. `spacing` chooses d̂ (see `theory.effective_dim`).
    """

    g: Callable[[float], float]
    theta0: float | str = "mle"
    t0: float | str = "auto"
    spacing: str = "d_plus_2nu"

    def growth(self, effective_dim: float) -> Callable[[float], float]:
        """max(t0, g(t)) as a function of t."""
        floor = growth_floor(effective_dim) if isinstance(self.t0, str) else self.t0
        return lambda t: max(floor, self.g(t))

    def schedule(self, data: Data, surrogate: Surrogate) -> Schedule:
        """The schedule for the evaluated initial design."""
        d_hat = effective_dim(data.domain.dim, surrogate.kernel, self.spacing)
        if isinstance(self.theta0, str):
            likelihood = Likelihood.of(data, surrogate.kernel, surrogate.regulariser)
            return Schedule(likelihood.longest_plausible(), d_hat, self.growth(d_hat), likelihood.jitter)
        return Schedule(self.theta0, d_hat, self.growth(d_hat))
