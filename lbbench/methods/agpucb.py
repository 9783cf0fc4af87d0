"""A-GP-UCB (Berkenkamp, Schoellig, Krause 2019): one length scale that only ever shrinks."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from numpy.random import Generator

from lbbench.gp.data import Data
from lbbench.methods.base import Maximise, Step, Surrogate
from lbbench.methods.lengthscales import Shrinking


@dataclass
class AGPUCB:
    """GP-UCB at θ_t = θ₀/g(t). With `beta: theory` the norm grows as well: B_t = b(t) g(t)^{d/2} B₀."""

    surrogate: Surrogate
    shrinking: Shrinking
    b: Callable[[float], float]

    def start(self, data: Data) -> None:
        """Fit θ₀ to the initial design."""
        self._schedule = self.shrinking.schedule(data, self.surrogate)

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """One step of GP-UCB with this step's length scale."""
        lengthscale = self._schedule.shortest(t)
        norm = believed = self.surrogate.norm
        if self.surrogate.beta == "theory":
            norm *= max(1.0, self.b(t))
            believed = self.surrogate.believed_norm(norm, lengthscale, self._schedule.lengthscale0, data.domain.dim)
        fitted = self.surrogate.fit(data, lengthscale)
        step = self.surrogate.step(data, fitted, believed, maximise, self._schedule.jitter)
        return replace(step, norm=norm)

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Nothing to learn beyond the data."""
        return step
