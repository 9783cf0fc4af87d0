"""GP-UCB with the length scale of maximum likelihood, fitted anew at each step."""

from dataclasses import dataclass

from numpy.random import Generator

from lbbench.gp.data import Data
from lbbench.gp.likelihood import Likelihood
from lbbench.methods.base import Maximise, Step, Surrogate


@dataclass
class MLE:
    """The global maximum of the likelihood in [0.005, 10], from all data so far."""

    surrogate: Surrogate

    def start(self, data: Data) -> None:
        """Nothing to set up."""

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """One step of GP-UCB with the fitted length scale."""
        lengthscale = Likelihood.of(data, self.surrogate.kernel, self.surrogate.regulariser).maximum()
        return self.surrogate.step(data, self.surrogate.fit(data, lengthscale), self.surrogate.norm, maximise)

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Nothing to learn beyond the data."""
        return step
