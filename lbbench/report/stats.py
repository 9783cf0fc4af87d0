"""Numbers over seeds."""

import math
from collections.abc import Sequence

import pandas as pd

REGRETS = ("simple_regret", "cumulative_regret")


def final(frame: pd.DataFrame) -> pd.DataFrame:
    """The last row of each run (problem, method, run_id, seed), in order of appearance, with its total `seconds`."""
    frame = frame.reset_index(drop=True)
    runs = frame.groupby(["problem", "method", "run_id", "seed"], sort=False)
    last = frame.loc[runs["t"].idxmax()].reset_index(drop=True)
    last["seconds"] = (runs["suggest_s"].sum() + runs["evaluate_s"].sum()).to_numpy()
    return last


def standard_error(values: pd.Series) -> float:
    """s/√n with the sample standard deviation s; NaN for a single value."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def paired(one: pd.DataFrame, other: pd.DataFrame, column: str) -> tuple[float, float, int]:
    """Mean and standard error of `one` − `other` over the seeds that both have, and the number of those seeds."""
    difference = (one.set_index("seed")[column] - other.set_index("seed")[column]).dropna()
    return float(difference.mean()), standard_error(difference), len(difference)


def summary(frame: pd.DataFrame, by: Sequence[str] = ("problem", "method", "run_id")) -> pd.DataFrame:
    """Per group: the number of `runs`, `<regret>` and `<regret>_se` of both final regrets, and mean `seconds`.

    The standard error is s/√n with the sample standard deviation s; it is NaN for a single run.
    """
    groups = final(frame).groupby(list(by), sort=False)
    table = groups.agg(runs=("seed", "size"), growth=("growth", "first"), seconds=("seconds", "mean"))
    for regret in REGRETS:
        table[regret] = groups[regret].mean()
        table[f"{regret}_se"] = groups[regret].sem()
    return table.reset_index()
