"""GP-TS, Thompson sampling (Chowdhury and Gopalan 2017, Algorithm 2)."""

from dataclasses import replace

from numpy.random import Generator

from lbbench.acquisition import Draw
from lbbench.gp.data import Data
from lbbench.methods.base import Maximise, Step
from lbbench.methods.told import Bounded
from lbbench.theory import gpts_width


class GPTS(Bounded):
    """Plays the maximum of f_t ~ GP(μ_{t−1}, v_t² k_{t−1}), where v_t = B + R √(2(γ_{t−1} + 1 + ln(2/δ))).

    In a pool f_t is drawn on all candidates; in a box on random points and some near the best, as finely as
    `raw_samples` says. They are drawn together, by a Cholesky factor of their covariance: with k points a step takes a
    time that grows as k³, and 8k² bytes for each of a few matrices, so settings allow 10,000 in a box.
    """

    def width(self, data: Data) -> float:
        own = self.surrogate
        return gpts_width(own.norm, own.noise_std / data.std, self.gamma(data), own.delta)

    def acquisition(self, data: Data, beta: float | None, rng: Generator) -> Draw:
        assert beta is not None
        self._draw = Draw(self.posterior, beta, rng)
        return self._draw

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        step = super().suggest(data, t, maximise, rng)
        return replace(step, jitter=max(step.jitter or 0.0, self._draw.jitter))
