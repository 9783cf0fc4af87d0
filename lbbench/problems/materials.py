"""Pools of measured materials (Liang et al. 2021, PV-Lab), read from the installed `bocode` package."""

import numpy as np

from lbbench.domain import Array, Pool
from lbbench.errors import UsageError
from lbbench.problems.base import Problem

DATASETS = {"agnp": "AgNP", "crossedbarrel": "CrossedBarrel"}


def materials(name: str, noise_std: float = 0.0) -> Problem:
    """The pool of that name (a key of `DATASETS`): replicates averaged, losses negated for maximisation.

    Raises `UsageError` if `bocode` is not installed.
    """
    try:
        import bocode
    except ImportError as error:
        raise UsageError(
            f"problem={name} needs the measurements of the 'bocode' package: pip install 'bocode>=1.0.1'"
        ) from error
    dataset = getattr(bocode, DATASETS[name])()
    candidates = np.ascontiguousarray(dataset.candidates.numpy(), dtype=float)
    values = np.asarray(dataset.values.numpy(), dtype=float)
    index = {row.tobytes(): i for i, row in enumerate(candidates)}

    def evaluate(x: Array) -> Array:
        return values[[index[row.tobytes()] for row in np.ascontiguousarray(x)]]

    return Problem(name, Pool(candidates), evaluate, float(values.max()), noise_std)
