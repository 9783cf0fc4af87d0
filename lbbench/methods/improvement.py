"""What GP-EI and GP-PI share: how far a point may improve on the best of those played."""

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from lbbench.acquisition import Improvement
from lbbench.domain import Points, Pool
from lbbench.gp.data import Data
from lbbench.methods.told import Told


class Improving(Told):
    """Plays the largest improvement on f⁺, the largest posterior mean at the points played so far."""

    improvement: ClassVar[type[Improvement]]

    def start(self, data: Data) -> None:
        """Fit the initial design."""
        super().start(data)
        self._taken = 0
        self._played = np.zeros(data.domain.size if isinstance(data.domain, Pool) else 0, dtype=bool)

    def acquisition(self, data: Data, beta: float | None, rng: Generator) -> Improvement:
        return self.improvement(self.posterior, float(self.posterior.predict(self._points(data))[0].max()))

    def _points(self, data: Data) -> Points:
        """The points played, in a pool each once."""
        if not isinstance(data.domain, Pool):
            return data.points
        self._played[data.points[self._taken :]] = True
        self._taken = data.n
        return np.flatnonzero(self._played)
