"""Numbers over seeds."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lbbench.records.rows import RUN

REGRETS = ("simple_regret", "cumulative_regret")


def final(frame: pd.DataFrame) -> pd.DataFrame:
    """The last row of each run (problem, method, run_id, seed), in order of appearance, with its total `seconds`.

    These are its column `total_s`, which the rows of a thinned run need, or else the sum over its rows.
    """
    frame = frame.reset_index(drop=True)
    runs = frame.groupby(["problem", "method", "run_id", "seed"], sort=False)
    last = frame.loc[runs["t"].idxmax()].reset_index(drop=True)
    if "total_s" in frame:
        return last.rename(columns={"total_s": "seconds"})
    return last.assign(seconds=(runs["suggest_s"].sum() + runs["evaluate_s"].sum()).to_numpy())


def best_values(frame: pd.DataFrame, objectives: Mapping[str, str]) -> dict[str, float]:
    """For each run_id the largest finite f that any run on its objective has found; `objectives` are by run_id."""
    f = frame["f"].where(np.isfinite(frame["f"]))
    best = f.groupby(frame["run_id"].map(objectives)).max()
    return {run_id: float(best.get(objective, math.nan)) for run_id, objective in objectives.items()}


def with_regrets(frame: pd.DataFrame, best: Mapping[str, float]) -> pd.DataFrame:
    """The rows, with regrets to the `best` value found where a problem's maximum is not known and regrets are NaN.

    `best` is by run_id. `frame` has f, t, the regrets and what tells a run from every other; the rows of a run are in
    the order of t.
    """
    rows = frame[frame["simple_regret"].isna()]
    f = rows["f"].where(np.isfinite(rows["f"]))
    regret = rows["run_id"].map(best).astype(float) - f
    runs = [rows[name] for name in RUN]
    simple = regret.fillna(math.inf).groupby(runs).cummin()
    cumulative = regret.where(rows["t"] > 0).fillna(0.0).groupby(runs).cumsum()
    found = {"regret": regret, "simple_regret": simple, "cumulative_regret": cumulative}
    return frame.assign(**{name: values.combine_first(frame[name]) for name, values in found.items() if name in frame})


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
    table = groups.agg(runs=("seed", "size"), seconds=("seconds", "mean"))
    for regret in REGRETS:
        table[regret] = groups[regret].mean()
        table[f"{regret}_se"] = groups[regret].sem()
    return table.reset_index()


def curves(frame: pd.DataFrame, column: str, by: Sequence[str] = ("problem", "method", "run_id")) -> pd.DataFrame:
    """Per group, and per t in ascending order: `mean`, `sd`, `se`, `median`, quartiles `lower`, `upper`, `n` of seeds.

    Groups stand in order of appearance; without rows there are none. Missing values do not count; `sd` and `se` are NaN
    for a single seed.
    """
    pieces = {}
    for group, rows in frame.groupby(list(by), sort=False):
        values = rows.groupby("t")[column]
        table = values.agg(mean="mean", sd="std", se="sem", median="median", n="count")
        pieces[group] = table.assign(lower=values.quantile(0.25), upper=values.quantile(0.75))
    if not pieces:
        return pd.DataFrame(columns=[*by, "t", "mean", "sd", "se", "median", "n", "lower", "upper"])
    curves: pd.DataFrame = pd.concat(pieces, names=list(by)).reset_index()
    return curves


def ranks(frame: pd.DataFrame, by: str = "method") -> pd.DataFrame:
    """Per method, best first: mean rank by each final regret (1 is the lowest; ties share their mean rank).

    Methods are ranked anew for each problem and seed that all of them have; `blocks` counts those, and the means are
    NaN where there are none. `by` is the column that tells competitors apart; each has one run per problem and seed.
    """
    last = final(frame)
    tables = {regret: last.pivot(index=["problem", "seed"], columns=by, values=regret).dropna() for regret in REGRETS}
    table = pd.DataFrame({regret: regrets.rank(axis=1).mean() for regret, regrets in tables.items()})
    return table.assign(blocks=len(tables[REGRETS[0]])).sort_values(list(REGRETS)).reset_index()


def wilcoxon(frame: pd.DataFrame, against: str = "lb", by: str = "method") -> pd.DataFrame:
    """Wilcoxon's signed-rank tests of `against` and every other method, paired by seed, per problem and final regret.

    Columns: problem, `by`, regret, `n` common seeds, the `median` of the differences (`against` − the other: negative
    where `against` is better), and the two-sided `p` (1 where all differences are zero), corrected by Holm's method
    over all rows of the table. There are no rows where `against` shares no seed with a method. `by` as in `ranks`.
    """
    rows = []
    for problem, runs in final(frame).groupby("problem", sort=False):
        for regret in REGRETS:
            regrets = runs.pivot(index="seed", columns=by, values=regret)
            for other in [name for name in runs[by].unique() if name != against and against in regrets]:
                difference = (regrets[against] - regrets[other]).dropna()
                if len(difference):
                    p = _signed_rank(difference)
                    rows.append((problem, other, regret, len(difference), difference.median(), p))
    table = pd.DataFrame(rows, columns=["problem", by, "regret", "n", "median", "p"])
    return table.assign(p=holm(table["p"]))


def holm(p: pd.Series) -> pd.Series:
    """p-values corrected by Holm's step-down method: the i-th smallest of m times m − i + 1, made monotone."""
    ascending = p.astype(float).sort_values()
    corrected = ascending * np.arange(len(p), 0, -1)
    return corrected.cummax().clip(upper=1).reindex(p.index)


def _signed_rank(difference: pd.Series) -> float:
    from scipy.stats import wilcoxon as signed_rank

    nonzero = difference[difference != 0]
    return float(signed_rank(nonzero).pvalue) if len(nonzero) else 1.0
