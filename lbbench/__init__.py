"""Bayesian optimisation with an unknown length scale: methods, problems and a benchmark harness."""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Optimizer":  # imported only when it is asked for, so that the command line starts at once
        from lbbench.asktell.optimizer import Optimizer

        return Optimizer
    raise AttributeError(f"module 'lbbench' has no attribute '{name}'")
