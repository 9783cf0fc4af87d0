"""GP-UCB averaged over the posterior of the length scale."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from lbbench.acquisition import UCB, Average
from lbbench.gp.data import Data
from lbbench.gp.growing import GrowingLikelihood
from lbbench.gp.lengthscale_posterior import Chain, Quadrature, nuts, quadrature
from lbbench.methods.base import Maximise, Step, Surrogate


@dataclass
class MCMC:
    """The acquisition function is the expected UCB under the posterior of θ given all data so far.

    `sampler` is "quadrature" (deterministic, with so many `nodes`; "auto": as many as it takes) or "nuts" (with so many
    `warmup` steps and `samples`). What a step records of θ, β, σ and the information gain are posterior means.
    """

    surrogate: Surrogate
    sampler: str = "quadrature"
    nodes: int | str = "auto"
    warmup: int = 100
    samples: int = 100
    _likelihood: GrowingLikelihood | None = field(default=None, init=False, repr=False)

    def start(self, data: Data) -> None:
        """Forget the likelihood of other data."""
        self._likelihood = None

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """One step with this step's posterior of the length scale."""
        surrogate = self.surrogate
        likelihood = self._likelihood = self._likelihood or surrogate.likelihood(data)
        likelihood.update()
        belief = self._belief(likelihood, rng)
        lengthscales, index = np.unique(belief.lengthscales, return_inverse=True)  # a chain may stay where it is
        weights = np.asarray(np.bincount(index, weights=belief.weights), dtype=float)
        models = [surrogate.fit(data, float(lengthscale)) for lengthscale in lengthscales]
        gains = np.array([model.information_gain for model in models])
        betas = np.array([surrogate.width(data, surrogate.norm, float(gain)) for gain in gains])
        point = maximise(Average([UCB(*pair) for pair in zip(models, map(float, betas), strict=True)], weights))
        means, stds = np.array([model.predict(point) for model in models])[:, :, 0].T
        step = Step(
            point=point,
            lengthscale=belief.mean,
            norm=surrogate.norm,
            beta=float(np.average(betas, weights=weights)),
            sigma=float(np.average(stds, weights=weights)) * data.std,
            information_gain=float(np.average(gains, weights=weights)),
            jitter=max(likelihood.jitter, *(model.jitter for model in models)),
            mean=data.mean + data.std * float(np.average(means, weights=weights)),
        )
        if isinstance(belief, Chain):
            step = replace(step, divergences=belief.divergences, rhat=belief.rhat, ess=belief.ess)
        return step

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Nothing to learn beyond the data."""
        return step

    def _belief(self, likelihood: GrowingLikelihood, rng: Generator) -> Quadrature | Chain:
        if self.sampler == "quadrature":
            return quadrature(likelihood, self.nodes)
        return nuts(likelihood, rng, self.warmup, self.samples)
