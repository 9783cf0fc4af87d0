"""One run: a problem, a method and a seed, from the initial design to the last step."""

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lbbench.asktell.core import AskTell
from lbbench.errors import ObjectiveError, StepError, UsageError
from lbbench.methods.base import Step
from lbbench.plan import build
from lbbench.plan.settings import Settings
from lbbench.streams import Stream

DECISIONS = [field.name for field in dataclasses.fields(Step) if field.name not in ("point", "mean", "width")]

Row = dict[str, Any]  # of the trace, and `point`: what the optimizer calls x


def play(settings: Settings, seed: int, past: Sequence[Row] = (), on_nan: str = "error") -> Iterator[Row]:
    """Play all steps, or those that follow the `past` rows of a process that has ended; yields each step's row.

    The rows are the same, bit for bit and times aside, wherever the run was taken up. The noise of step t depends on
    (problem, seed, t) alone, so it is the same for every method. A value that is not finite is an `ObjectiveError`;
    with `on_nan` "skip" it is recorded, counts neither as best nor as regret, and is taken for the lowest value so far.
    What ends a run is raised as the cause of a `StepError`, and `UsageError` if a row is missing in the past.
    """
    problem = build.problem(settings, seed)
    noise = Stream(seed, "noise", problem.name)
    optimizer = AskTell.of(settings, problem, seed)
    constant = {
        "problem": settings.problem,
        "method": settings.method,
        "growth": settings["method"].get("g"),
        "seed": seed,
        "run_id": settings.id,
    }
    best, cumulative = -math.inf, math.nan if math.isnan(problem.optimum) else 0.0
    for row in past:
        if row["t"] != optimizer.t + 1:
            raise UsageError(f"step {optimizer.t + 1} is missing from the journal; force=true starts the run anew")
        step = optimizer.ask(np.array([row["point"]]))
        _tell(optimizer, step, row["y"])
        best, cumulative = _best(best, row["f"]), row["cumulative_regret"]
    while optimizer.t < settings["iterations"]:
        t, x = optimizer.t + 1, None
        try:
            started = time.perf_counter()
            step = optimizer.ask()
            suggested = time.perf_counter()
            x = optimizer.user(step)
            f = float(problem.evaluate(x[None])[0])
            evaluated = time.perf_counter()
            y = f + problem.noise_std * float(noise.at(t + optimizer.initial).standard_normal())
            if on_nan == "error" and not math.isfinite(y):
                raise ObjectiveError(f"the objective is {y}; on_nan=skip goes on")
            step = _tell(optimizer, step, y)
        except Exception as error:
            raise StepError(t, None if x is None else x.tolist()) from error
        best = _best(best, f)
        regret = problem.optimum - f
        if t > 0 and math.isfinite(regret):
            cumulative += regret
        yield {
            **constant,
            "t": t,
            "phase": "search" if t > 0 else "initial",
            "x": x.tolist(),
            "y": y,
            "f": f,
            "regret": regret,
            "simple_regret": problem.optimum - best,
            "cumulative_regret": cumulative,
            **{name: getattr(step, name) for name in DECISIONS},
            "suggest_s": suggested - started,
            "evaluate_s": evaluated - suggested,
            "point": step.point[0].tolist(),
        }


def _tell(optimizer: AskTell, step: Step, y: float) -> Step:
    return optimizer.tell(step, y) if math.isfinite(y) else optimizer.fail(step)


def _best(best: float, f: float) -> float:
    return max(best, f) if math.isfinite(f) else best
