"""What is timed: the runs of lbbench command lines."""

from lbbench.asktell.core import AskTell
from lbbench.plan import build
from lbbench.plan.settings import Settings, compose
from lbbench.plan.sweeps import plan
from lbbench.problems.base import Problem


def settings(*line: str) -> Settings:
    """The settings of a command line."""
    return compose(plan(line).combinations[0])


def problem(name: str) -> Problem:
    """The problem of that name."""
    return build.problem(settings(f"problem={name}"))


def optimizer(*line: str, seed: int = 0) -> tuple[Problem, AskTell]:
    """The problem of a command line, and the optimizer of its run."""
    chosen = settings(*line)
    objective = build.problem(chosen)
    return objective, AskTell.of(chosen, objective, seed)
