"""What a method is, what it is given, and the record in which a step's decisions travel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from numpy.random import Generator

from lbbench.acquisition import UCB, Acquisition
from lbbench.domain import Points
from lbbench.errors import NumericalError
from lbbench.gp.data import Data
from lbbench.gp.growing import GrowingLikelihood
from lbbench.gp.kernels import Kernel
from lbbench.gp.posterior import Posterior, posterior
from lbbench.theory import confidence_width, inflated_norm

WIDEST = 1e250  # β: a UCB of more would have derivatives that are not finite

Maximise = Callable[[Acquisition], Points]


@dataclass(frozen=True)
class Step:
    """Everything that one step decided; the fields beside `point`, `mean` and `width` are columns of the trace.

    `point` is `(1,)` in a pool and `(1, d)` in a box. `sigma` is the posterior standard deviation at the point in raw
    units of y, `candidates` the length scales that stood to choose from, `eliminated` those that the step dropped.
    `jitter` is the largest that a Cholesky factor behind the step needed, those of a likelihood included.
    `divergences`, `rhat` and `ess` (effective sample size) tell how well a Markov chain of length scales mixed.
    `mean` is what the model expected of y at the point, and `width` the βσ̂ that an elimination adds to y, in raw units.
    Fields that a method has no use for stay None or empty.
    """

    point: Points
    lengthscale: float | None = None
    norm: float | None = None
    beta: float | None = None
    sigma: float | None = None
    information_gain: float | None = None
    candidates: tuple[float, ...] = ()
    eliminated: tuple[float, ...] = ()
    jitter: float | None = None
    divergences: int | None = None
    rhat: float | None = None
    ess: float | None = None
    mean: float | None = None
    width: float | None = None


class Method(Protocol):
    """A rule for where to evaluate next, driven by `lbbench.asktell.core.AskTell`."""

    def start(self, data: Data) -> None:
        """Set up on the evaluated initial design."""

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """Choose the point of step t = 1, 2, …; `rng` is the step's own, `maximise` finds an acquisition's maximum."""

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Take in the value y of step t, already part of the data; returns the step with what this has decided.

        With several points pending, steps may be told in another order than they were suggested in, and some that were
        suggested by a copy, or belong to the initial design.
        """


def within_widest(beta: float) -> float:
    """A confidence width. Raises `NumericalError` if it is beyond `WIDEST`."""
    if not beta <= WIDEST:
        raise NumericalError(f"the confidence width β is {beta:g}, beyond {WIDEST:g}")
    return beta


@dataclass(frozen=True)
class Surrogate:
    """The GP and the confidence band that all methods share.

    `beta` is "fixed" (β = norm) or "theory" (`confidence_width`); `noise_std` is the problem's, in raw units.
    """

    kernel: Kernel
    regulariser: float = 1e-4
    beta: str = "fixed"
    norm: float = 1.0
    delta: float = 0.01
    noise_std: float = 0.0

    def fit(self, data: Data, lengthscale: float) -> Posterior:
        """The posterior of all data at one length scale."""
        return posterior(data, self.kernel, lengthscale, self.regulariser)

    def likelihood(self, data: Data) -> GrowingLikelihood:
        """The likelihood of the length scale, to be updated as the data grow."""
        return GrowingLikelihood(data, self.kernel, self.regulariser)

    def believed_norm(self, norm: float, lengthscale: float, lengthscale0: float, dim: int) -> float:
        """The B of a candidate (θ, N): N itself with a fixed β, B(θ, N) = (θ₀/θ)^{d/2} N in theory."""
        return norm if self.beta == "fixed" else inflated_norm(norm, lengthscale, lengthscale0, dim)

    def width(self, data: Data, norm: float, information_gain: float) -> float:
        """β for a candidate that believes in `norm`. Raises `NumericalError` if it is beyond `WIDEST`."""
        if self.beta == "fixed":
            return within_widest(norm)
        noise_std = self.noise_std / data.std
        return within_widest(confidence_width(norm, noise_std, self.regulariser, information_gain, self.delta))

    def step(self, data: Data, fitted: Posterior, norm: float, maximise: Maximise, jitter: float = 0.0) -> Step:
        """One step of GP-UCB with a fitted model; `jitter` is what a likelihood needed to find its length scale."""
        beta = self.width(data, norm, fitted.information_gain)
        return self.record(data, fitted, maximise(UCB(fitted, beta)), norm, beta, jitter)

    def record(
        self,
        data: Data,
        fitted: Posterior,
        point: Points,
        norm: float | None = None,
        beta: float | None = None,
        jitter: float = 0.0,
    ) -> Step:
        """The step to a point that was chosen with a fitted model."""
        mean, std = fitted.predict(point)
        return Step(
            point=point,
            lengthscale=fitted.lengthscale,
            norm=norm,
            beta=beta,
            sigma=float(std[0]) * data.std,
            information_gain=fitted.information_gain,
            jitter=max(fitted.jitter, jitter),
            mean=data.mean + data.std * float(mean[0]),
        )
