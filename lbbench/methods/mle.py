"""GP-UCB with the length scale of maximum likelihood, fitted anew at each step."""

from dataclasses import dataclass

from numpy.random import Generator

from lbbench.gp.data import Data
from lbbench.methods.base import Maximise, Step, Surrogate


@dataclass
class MLE:
    """The global maximum of the likelihood in [0.005, 10], from all data so far."""

    surrogate: Surrogate

    def start(self, data: Data) -> None:
        """Set up the likelihood."""
        self._likelihood = self.surrogate.likelihood(data)

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """One step of GP-UCB with the fitted length scale."""
        self._likelihood.update()
        fitted = self.surrogate.fit(data, self._likelihood.maximum())
        return self.surrogate.step(data, fitted, self.surrogate.norm, maximise, self._likelihood.jitter)

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Nothing to learn beyond the data."""
        return step
