"""What the methods share that are told the length scale, and play it throughout."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from numpy.random import Generator

from lbbench.acquisition import UCB, Acquisition
from lbbench.domain import Pool
from lbbench.errors import NumericalError
from lbbench.gp.data import Data
from lbbench.gp.kernels import EMPIRICAL, covariance
from lbbench.gp.posterior import Posterior
from lbbench.methods.base import Maximise, Step, Surrogate, within_widest
from lbbench.theory import GREEDY_SHARE, analytic_information_gain, greedy_choices


@dataclass
class Told:
    """GP-UCB with the length scale that is told; a subclass says its β, or has another acquisition function."""

    surrogate: Surrogate
    lengthscale: float
    posterior: Posterior = field(init=False, repr=False)

    def width(self, data: Data) -> float | None:
        """β of the next step, if it has one."""
        return None

    def acquisition(self, data: Data, beta: float | None, rng: Generator) -> Acquisition:
        """What the next step maximises."""
        assert beta is not None
        return UCB(self.posterior, beta)

    def start(self, data: Data) -> None:
        """Fit the initial design."""
        self.posterior = self.surrogate.fit(data, self.lengthscale)

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """One step with the fixed length scale."""
        self.posterior.update()
        if (beta := self.width(data)) is not None:
            within_widest(beta)
        point = maximise(self.acquisition(data, beta, rng))
        norm = None if beta is None else self.surrogate.norm
        return self.surrogate.record(data, self.posterior, point, norm, beta)

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Nothing to learn beyond the data."""
        return step


@dataclass
class Bounded(Told):
    """One whose width rests on a bound γ on the information gain of n observations, in nats.

    `information_gain` is "analytic" (`theory.analytic_information_gain`), "greedy" (that of greedy choices in a pool,
    which is at least 1 − 1/e of the largest, divided by that), "realised" (that of the observations themselves, which
    bounds no other), or γ itself.
    """

    information_gain: float | str = "analytic"
    _greedy: Iterator[tuple[float, int]] = field(init=False, repr=False)

    def start(self, data: Data) -> None:
        """Fit the initial design.

        Raises `NumericalError` if greedy choices are asked for in a box, or an analytic bound of an empirical kernel.
        """
        super().start(data)
        self._gains = [0.0]
        if self.information_gain == "analytic" and self.surrogate.kernel is EMPIRICAL:
            raise NumericalError("information_gain=analytic needs a kernel with a length scale")
        if self.information_gain == "greedy":
            if not isinstance(data.domain, Pool):
                raise NumericalError("information_gain=greedy needs a pool to choose from")
            prior = covariance(data.domain, self.surrogate.kernel, self.lengthscale)
            self._greedy = greedy_choices(prior, self.surrogate.regulariser)

    def gamma(self, data: Data) -> float:
        """γ for the observations so far."""
        if not isinstance(self.information_gain, str):
            return self.information_gain
        if self.information_gain == "realised":
            return self.posterior.information_gain
        if self.information_gain == "analytic":
            smoothness = self.surrogate.kernel.smoothness
            return analytic_information_gain(data.n, self.lengthscale, data.domain.dim, smoothness)
        while len(self._gains) <= data.n:
            self._gains.append(next(self._greedy)[0])
        return self._gains[data.n] / GREEDY_SHARE
