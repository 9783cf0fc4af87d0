"""Ask and tell: an initial design, then one method's suggestions."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from lbbench.acquisition import Acquisition
from lbbench.domain import Array, Domain, Points, Pool
from lbbench.errors import NumericalError
from lbbench.gp.data import Data
from lbbench.maximiser import Maximiser
from lbbench.methods.base import Method, Step
from lbbench.plan import build
from lbbench.plan.settings import Settings
from lbbench.problems.base import Problem
from lbbench.streams import Stream, generator


@dataclass
class AskTell:
    """One run of a method on a domain: `ask` for the next step, evaluate its point, `tell` the value.

    The first `initial` steps are the initial design, which depends on (`name`, `seed`) alone and so is the same for
    every method; what is random in step t depends on (`seed`, t) alone. `t` is the last step that was told: 0 and below
    in the design.
    """

    domain: Domain
    method: Method
    name: str = ""
    seed: int = 0
    initial: int = 10
    maximiser: Maximiser = field(default_factory=Maximiser)
    standardise: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.domain, Pool):
            self.initial = min(self.initial, self.domain.size)
        self.data = Data(self.domain, self.standardise)
        self.t = -self.initial
        self.started = False
        self._steps = Stream(self.seed, "steps")
        self._design = self.domain.initial(self.initial, generator(self.seed, "design", self.name))

    @classmethod
    def of(cls, settings: Settings, problem: Problem, seed: int) -> "AskTell":
        """That of a run's settings."""
        return cls(
            domain=problem.domain,
            method=build.method(settings, problem),
            name=problem.name,
            seed=seed,
            initial=settings["problem"]["initial"],
            maximiser=Maximiser(**settings["acquisition"]),
            standardise=settings["problem"].get("standardise", True),
        )

    def ask(self, chosen: Points | None = None) -> Step:
        """The next step: its `point`, and what the method thought of it. To ask twice changes nothing.

        With the point `chosen` by an earlier process for this step, the method is led through the step without a search
        for the point; it ends in the same state, bit for bit.
        """
        if self.t < 0:
            return Step(point=self._design[[self.t]] if chosen is None else chosen)
        self.begin()
        rng = self._steps.at(self.t + 1)

        def maximise(acquisition: Acquisition) -> Points:
            return self.maximiser(acquisition, self.domain, self.data.best, rng) if chosen is None else chosen

        step = self.method.suggest(self.data, self.t + 1, maximise, rng)
        return step if chosen is None else replace(step, point=chosen)

    def ask_beside(self, pending: Iterable[Step], chosen: Points | None = None) -> Step:
        """The step after those that have been asked for and not been told; `chosen` as in `ask`.

        A copy is told of each what its model expected, which takes the uncertainty away and leaves the mean as it is
        (Desautels, Krause and Burdick 2014); where there is no model, the mean of what has been observed.
        """
        self.begin()
        ahead = copy.deepcopy(self, {id(self.domain): self.domain})
        for step in pending:
            ahead.tell(step, ahead.data.mean if step.mean is None else step.mean)
        return ahead.ask(chosen)

    def begin(self) -> None:
        """Have the method start, once the initial design has been told. Raises `NumericalError` if nothing has."""
        if self.started or self.t < 0:
            return
        if self.data.n == 0:
            raise NumericalError("no value of the initial design is finite")
        self.method.start(self.data)
        self.started = True

    def tell(self, step: Step, y: float) -> Step:
        """Take in the value y, in raw units, at the step's point; returns the step with what followed from it."""
        self.data.append(step.point, np.array([y]))
        if not self.started:
            self._count()
            return step
        self.t += 1
        return self.method.observe(step, self.t, y)

    def fail(self, step: Step) -> Step:
        """Take the step's point for as bad as the worst so far, since it has no value and a run must go on."""
        if self.data.n:
            return self.tell(step, float(self.data.y.min()))
        self._count()
        return step

    def learn(self, point: Points, y: float) -> None:
        """Take in a value at a point that was not asked for: as one of the initial design, or else beside the steps."""
        self.data.append(point, np.array([y]))
        if not self.started:
            self._count()

    def _count(self) -> None:
        """One more of the initial design."""
        self.t = min(self.t + 1, 0)

    def user(self, step: Step) -> Array:
        """The step's point in user units, `(d,)`."""
        x: Array = self.domain.user(step.point)[0]
        return x
