"""One run: a problem, a method and a seed, from the initial design to the last step."""

import dataclasses
import time
from typing import Any

from lbbench.methods.base import Step
from lbbench.optimizer import generator
from lbbench.problems.base import Problem
from lbbench.study import build
from lbbench.study.settings import Settings

DECISIONS = [field.name for field in dataclasses.fields(Step) if field.name != "point"]


def run(settings: Settings, seed: int) -> list[dict[str, Any]]:
    """Play all steps; returns the rows of the trace.

    The noise of step t depends on (problem, seed, t) alone, so it is the same for every method.
    """
    problem = build.problem(settings)
    optimizer = build.optimizer(settings, problem, seed)
    constant = {
        "problem": settings.problem,
        "method": settings.method,
        "growth": settings["method"].get("g"),
        "seed": seed,
        "run_id": settings.id,
    }
    rows: list[dict[str, Any]] = []
    best, cumulative = float("-inf"), 0.0
    while optimizer.t < settings["iterations"]:
        started = time.perf_counter()
        step = optimizer.ask()
        suggested = time.perf_counter()
        x = optimizer.user(step)
        f = float(problem.evaluate(x[None])[0])
        evaluated = time.perf_counter()
        t = optimizer.t
        y = f + _noise(problem, seed, t + optimizer.initial)
        step = optimizer.tell(step, y)
        best = max(best, f)
        regret = problem.optimum - f
        if t > 0:
            cumulative += regret
        rows.append(
            {
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
            }
        )
    return rows


def _noise(problem: Problem, seed: int, evaluation: int) -> float:
    if problem.noise_std == 0.0:
        return 0.0
    return problem.noise_std * float(generator(seed, "noise", problem.name, evaluation).standard_normal())
