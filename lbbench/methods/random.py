"""Uniform random search."""

from dataclasses import dataclass

from numpy.random import Generator

from lbbench.gp.data import Data
from lbbench.methods.base import Maximise, Step, Surrogate


@dataclass
class Random:
    """Evaluates independent uniform points; has no use for the surrogate."""

    surrogate: Surrogate

    def start(self, data: Data) -> None:
        """Nothing to set up."""

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """A uniform point."""
        return Step(point=data.domain.uniform(1, rng))

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Nothing to learn."""
        return step
