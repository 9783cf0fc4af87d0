"""A method and a problem that a package of its own brings to lbbench."""

from dataclasses import dataclass

import numpy as np

from lbbench.domain import Box
from lbbench.methods.base import Surrogate
from lbbench.problems.base import Problem


@dataclass
class HalfMLE:
    """GP-UCB with a share of the length scale of maximum likelihood."""

    surrogate: Surrogate
    share: float = 0.5

    def start(self, data):
        self.likelihood = self.surrogate.likelihood(data)

    def suggest(self, data, t, maximise, rng):
        self.likelihood.update()
        fitted = self.surrogate.fit(data, self.share * self.likelihood.maximum())
        return self.surrogate.step(data, fitted, self.surrogate.norm, maximise)

    def observe(self, step, t, y):
        return step


def ripples(waves: int = 3) -> Problem:
    """A wave that falls off from the corner, in two dimensions."""
    box = Box(np.zeros(2), np.ones(2))
    return Problem("ripples", box, lambda x: np.cos(waves * np.pi * x).prod(1) - x.sum(1), optimum=1.0)
