"""Bayesian optimisation of your own objective: any method and setting, on a box or a pool, in your units."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lbbench.asktell import given
from lbbench.asktell.core import AskTell
from lbbench.domain import Array, Pool
from lbbench.errors import UsageError
from lbbench.methods.base import Step
from lbbench.plan import build
from lbbench.plan.checks import FIXED
from lbbench.plan.keys import last
from lbbench.plan.rules import boolean, check_by, integer
from lbbench.plan.settings import own
from lbbench.problems.base import Problem
from lbbench.records import files

KNOWN = {"method.lengthscale": "auto", "gp.norm": "auto", "gp.regulariser": "noise"}  # what rests on the objective
VERSION = 1  # of the files that `Optimizer.save` writes


@dataclass(frozen=True, eq=False)
class Pending:
    """A point that was asked for and not told yet: `x` in user units, `(d,)`, and the step that chose it."""

    x: Array
    step: Step


class Optimizer:
    """Ask for a point, evaluate it, tell its value; in any order, with any number of points pending.

    Give either `bounds`, the lowest and highest value of each of d inputs, `(d, 2)`, or `candidates` to choose from,
    `(m, d)`. `method` and the `settings` are those of `lbbench run` (`lbbench show method=lb`): `g="t^0.5"`,
    `kernel="rbf"`, `noise_std=0.1`; `initial` points are asked for before the method begins. The same seed and values
    give the same points. Raises `UsageError` for what cannot be, here and in every call.

    While points are pending, a further one is asked for as if each of them had the value that the model expected of it
    (Desautels, Krause and Burdick 2014). What is told without having been asked for counts towards the initial design;
    after that the models learn from it, but no length scale is held to account for it.
    """

    def __init__(
        self,
        bounds: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        method: str = "lb",
        *,
        minimise: bool = False,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.domain = given.domain(bounds, candidates)
        self.minimise = bool(check_by(boolean, "minimise", str(minimise)))
        self.seed = int(str(check_by(integer(at_least=0), "seed", str(seed))))
        self.settings = own(str(method), {"name": "own", "initial": 10, "noise_std": 0.0}, settings)
        for key, value in KNOWN.items():
            if self.settings.get(key) == value:
                name = last(key)
                raise UsageError(f"{name}={value} needs an objective that is known; give another {name}=")
        build.suits(self.settings, self.domain)
        self._problem = Problem("own", self.domain, _unknown, math.nan, self.settings["problem"]["noise_std"])
        self._play = AskTell.of(self.settings, self._problem, self.seed)
        self._sign = -1.0 if self.minimise else 1.0
        self._events: list[dict[str, Any]] = []
        self._pending: list[Pending] = []
        self._last: Step | None = None

    def ask(self, x: ArrayLike | None = None) -> Array:
        """The point to evaluate next, `(d,)`: `x`, if that was chosen before, as by an optimizer that is gone."""
        play = self._play
        steps = [pending.step for pending in self._pending]
        chosen = None if x is None else given.points(self.domain, given.row(x, self.domain.dim)[None])
        step = play.ask_beside(steps, chosen) if steps else play.ask(chosen)
        self._note_asked(step)
        return self._pending[-1].x.copy()

    def tell(self, x: ArrayLike, y: float | None) -> None:
        """Take in the value `y` of a point `x`, `(d,)`, whether it was asked for or not.

        None is for a point that was asked for and cannot be evaluated: it is taken for as bad as the worst so far.
        """
        coordinates = given.row(x, self.domain.dim)
        value = None if y is None else given.number("y", y)
        pending = self._find(coordinates)
        if pending is None:
            if value is None:
                raise UsageError(f"x = {coordinates.tolist()} was not asked for, so it cannot fail")
            self._play.learn(given.points(self.domain, coordinates[None]), self._sign * value)
        else:
            if value is None:
                self._play.fail(pending.step)
            else:
                self._play.tell(pending.step, self._sign * value)
            self._pending.remove(pending)
        self._events.append({"x": coordinates.tolist(), "y": value})

    @property
    def about(self) -> dict[str, Any]:
        """The domain and the settings, as plain data."""
        domain = self.domain
        if isinstance(domain, Pool):
            where = {"candidates": domain.candidates.tolist()}
        else:
            where = {"bounds": np.transpose(domain.bounds).tolist()}
        return {**where, "minimise": self.minimise, "seed": self.seed, "settings": self.settings.tree}

    @property
    def pending(self) -> Array:
        """The points that were asked for and not told yet, `(k, d)`, in that order."""
        return np.array([one.x for one in self._pending]).reshape(-1, self.domain.dim)

    @property
    def x(self) -> Array:
        """The points that were told, `(n, d)`, in that order."""
        return self.domain.user(self._play.data.points)

    @property
    def y(self) -> Array:
        """Their values, `(n,)`; of those that could not be evaluated what they were taken for."""
        return self._sign * self._play.data.y

    @property
    def best(self) -> tuple[Array, float]:
        """The best observation so far: its point, `(d,)`, and value. Of two equals the earlier."""
        if not len(self.y):
            raise UsageError("nothing has been told yet")
        i = int(np.argmax(self._play.data.y))
        return self.x[i], float(self.y[i])

    @property
    def lengthscale(self) -> float | None:
        """θ of the last step that was asked for, in units of the inputs' ranges; None in the initial design."""
        return None if self._last is None else self._last.lengthscale

    def candidates(self) -> tuple[float, ...]:
        """The length scales that the last step had to choose from, in units of the inputs' ranges."""
        return () if self._last is None else self._last.candidates

    def chosen(self, lengthscale: float | None = None) -> float:
        """The length scale of a model: the last step's, if none is given. Raises `UsageError` if there is no model."""
        if not len(self.y):
            raise UsageError("nothing has been told yet")
        if (found := lengthscale or self.lengthscale) is None:
            raise UsageError("no step has chosen a length scale yet: give lengthscale=")
        return found

    def posterior(self, x: ArrayLike, lengthscale: float | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of the objective at points `(k, d)`, both `(k,)`, from all that was told.

        The model has one length scale: the last step's, if none is given.
        """
        lengthscale = self.chosen(lengthscale)
        data = self._play.data
        points = given.points(self.domain, np.atleast_2d(np.asarray(x, dtype=float)))
        mean, std = build.surrogate(self.settings, self._problem).fit(data, lengthscale).predict(points)
        return self._sign * (data.mean + data.std * mean), data.std * std

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that `load` needs into a JSON file, which is replaced once the new one is whole."""
        lines = ["{", f' "lbbench optimizer": {VERSION},']
        lines += [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in self.about.items()]
        lines += [' "events": [', ",\n".join(f"  {json.dumps(event)}" for event in self._events), " ]", "}", ""]
        with files.replacing(Path(path)) as file:
            file.write("\n".join(lines).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Optimizer":
        """The optimizer that was saved, which goes on as if it had not been away."""
        try:
            content = json.loads(Path(path).read_bytes())
            version = content["lbbench optimizer"]
            loaded = cls._replayed(content) if version == VERSION else None
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise UsageError(f"{path} is no optimizer that lbbench has saved") from None
        if loaded is None:
            raise UsageError(f"{path} has version {version}, not {VERSION}")
        return loaded

    @classmethod
    def _replayed(cls, content: Mapping[str, Any]) -> "Optimizer":
        tree = content["settings"]
        values = {
            f"{section}.{key}": value for section in tree for key, value in tree[section].items() if key not in FIXED
        }
        new = cls(
            content.get("bounds"),
            content.get("candidates"),
            tree["method"]["name"],
            minimise=content["minimise"],
            seed=content["seed"],
            **values,
        )
        for event in content["events"]:
            if "asked" in event:
                new._replay_ask(_step(event["asked"]))
            else:
                new.tell(event["x"], event["y"])
        return new

    def _replay_ask(self, step: Step) -> None:
        if self._pending:
            self._play.begin()
        else:
            self._play.ask(step.point)
        self._note_asked(step)

    def _note_asked(self, step: Step) -> None:
        self._pending.append(Pending(self._play.user(step), step))
        self._last = step
        known = {key: value for key, value in asdict(step).items() if key != "point" and value not in (None, ())}
        self._events.append({"asked": {**known, "point": step.point.tolist()}})

    def _find(self, x: Array) -> Pending | None:
        low, high = self.domain.bounds
        return next((one for one in self._pending if np.all(np.abs(one.x - x) <= given.SAME * (high - low))), None)


def _step(saved: Mapping[str, Any]) -> Step:
    return Step(**{**saved, "point": np.array(saved["point"]), "candidates": tuple(saved.get("candidates", ()))})


def _unknown(x: Array) -> Array:
    raise UsageError("the objective is the user's to evaluate")
