"""Regret balancing with elimination over hyperparameter candidates (Algorithm 2).

`Balancer` is the algorithm itself and knows nothing of GPs; `Balancing` is the method that plays it with GP-UCB.
LB and LNB are `Balancing` with a schedule of candidates each.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from numpy.random import Generator

from lbbench.gp.data import Data, unit_of
from lbbench.gp.posterior import Posterior
from lbbench.methods.base import Maximise, Step, Surrogate
from lbbench.methods.lengthscales import Schedule, Shrinking
from lbbench.theory import RegretBound, noise_width


class Candidate(NamedTuple):
    """A hyperparameter u: a length scale θ, and the norm N that goes with it."""

    lengthscale: float
    norm: float


@dataclass
class Record:
    """How a candidate has done at the n steps that chose it: the sums of y and of the widths βσ̂, in raw units.

    `suspected` is R(n + 1), the regret that it is suspected of once chosen again.
    """

    suspected: float
    n: int = 0
    y: float = 0.0
    width: float = 0.0


class Balancer:
    """The state of Algorithm 2.

    `schedule(t)` yields every candidate that is allowed at step t, those of earlier steps included; `regret(n, u)` is
    the suspected regret of u after n choices, and `noise(|A|, t)` is ξ_t for |A| candidates introduced so far, in units
    of `unit`².
    """

    def __init__(
        self,
        schedule: Callable[[int], Iterable[Candidate]],
        regret: Callable[[int, Candidate], float],
        noise: Callable[[int, int], float],
        unit: float = 1.0,
    ) -> None:
        self.schedule, self.regret, self.noise, self.unit = schedule, regret, noise, unit
        self.introduced: set[Candidate] = set()
        self.records: dict[Candidate, Record] = {}
        self.candidates: list[Candidate] = []  # U in the order of ties: the longest θ first, then the smallest norm
        self._introduce(1)

    def choose(self) -> Candidate:
        """Line 3: u_t = argmin R^u(|S_u| + 1)."""
        return min(self.candidates, key=lambda u: self.records[u].suspected)

    def observe(self, chosen: Candidate, t: int, y: float, width: float) -> list[Candidate]:
        """Lines 7 to 13, for the step t that chose `chosen` and saw y; `width` is its βσ̂. Returns the eliminated."""
        record = self.records[chosen]
        record.n += 1
        record.y += y
        record.width += width
        record.suspected = self.regret(record.n + 1, chosen)
        eliminated = self._eliminate(t)
        self._introduce(t)
        return eliminated

    def _eliminate(self, t: int) -> list[Candidate]:
        if any(record.n == 0 for record in self.records.values()):
            return []
        xi = self.noise(len(self.introduced), t)
        slack = {u: self.unit * math.sqrt(xi / record.n) for u, record in self.records.items()}
        bar = max(record.y / record.n - slack[u] for u, record in self.records.items())
        eliminated = [
            u  # the plus before the slack is the proof's; lines 10 and 11 print a minus
            for u, record in self.records.items()
            if record.y / record.n + slack[u] + record.width / record.n < bar
        ]
        for u in eliminated:
            del self.records[u]
        if eliminated:
            self._sort()
        return eliminated

    def _introduce(self, t: int) -> None:
        for u in self.schedule(t):
            if u not in self.introduced:
                self.introduced.add(u)
                self.records[u] = Record(self.regret(1, u))
        if len(self.candidates) < len(self.records):
            self._sort()

    def _sort(self) -> None:
        self.candidates = sorted(self.records, key=lambda u: (-u.lengthscale, u.norm))


SIGMA_FACTOR = {"posterior": 1.0, "posterior2": 2.0}


@dataclass
class Balancing:
    """Plays a `Balancer` with GP-UCB; every candidate learns from all data.

    `elimination` says which σ̂ enters a candidate's width: "prior" (1, the loosest valid test), "posterior" (σ at the
    point, Algorithm 1 line 12) or "posterior2" (twice that, the later revision's). `regret_bound` is "paper" or
    "matern" (see `theory.RegretBound`). A subclass says which candidates are allowed when.
    """

    surrogate: Surrogate
    shrinking: Shrinking
    elimination: str = "prior"
    regret_bound: str = "paper"

    def candidates(self, schedule: Schedule, t: int) -> Iterator[Candidate]:
        """Every candidate allowed at step t."""
        raise NotImplementedError

    def start(self, data: Data) -> None:
        """Set up the candidates that are allowed at t = 1."""
        dim, surrogate = data.domain.dim, self.surrogate
        bound = RegretBound(dim, surrogate.kernel.smoothness if self.regret_bound == "matern" else None)
        self._schedule = self.shrinking.schedule(data, surrogate)
        unit = unit_of(surrogate.noise_std)  # the square of which may over- or underflow
        self._balancer = Balancer(
            schedule=partial(self.candidates, self._schedule),
            regret=lambda n, u: bound(n, u.lengthscale, self._believed_norm(u, dim)),
            noise=lambda count, t: noise_width(surrogate.noise_std / unit, count, t, surrogate.delta),
            unit=unit,
        )
        self._posteriors: dict[float, Posterior] = {}

    def suggest(self, data: Data, t: int, maximise: Maximise, rng: Generator) -> Step:
        """One step of GP-UCB with the candidate of least suspected regret."""
        alive = self._balancer.candidates
        u = self._balancer.choose()
        fitted = self._posterior(data, u.lengthscale)
        believed = self._believed_norm(u, data.domain.dim)
        step = self.surrogate.step(data, fitted, believed, maximise, self._schedule.jitter)
        assert step.beta is not None
        assert step.sigma is not None
        sigma = data.std if self.elimination == "prior" else SIGMA_FACTOR[self.elimination] * step.sigma
        return replace(step, norm=u.norm, candidates=tuple(u.lengthscale for u in alive), width=step.beta * sigma)

    def observe(self, step: Step, t: int, y: float) -> Step:
        """Eliminate and introduce candidates; nothing, if the step's own has been eliminated since it was suggested."""
        eliminated: list[Candidate] = []
        if step.lengthscale is not None and step.norm is not None and step.width is not None:
            u = Candidate(step.lengthscale, step.norm)
            if u in self._balancer.records:
                eliminated = self._balancer.observe(u, t, y, step.width)
        if eliminated:
            kept = {u.lengthscale for u in self._balancer.candidates}
            self._posteriors = {theta: fitted for theta, fitted in self._posteriors.items() if theta in kept}
        return replace(step, eliminated=tuple(u.lengthscale for u in eliminated))

    def _posterior(self, data: Data, lengthscale: float) -> Posterior:
        """The up-to-date posterior at a length scale, kept from the last time that it was chosen."""
        if lengthscale not in self._posteriors:
            self._posteriors[lengthscale] = self.surrogate.fit(data, lengthscale)
        fitted = self._posteriors[lengthscale]
        fitted.update()
        return fitted

    def _believed_norm(self, u: Candidate, dim: int) -> float:
        return self.surrogate.believed_norm(u.norm, u.lengthscale, self._schedule.lengthscale0, dim)
