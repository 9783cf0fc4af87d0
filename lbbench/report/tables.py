"""Tables on the terminal."""

import math
from collections.abc import Mapping

import pandas as pd
from rich.table import Table

LABELS = {
    "lb": "LB",
    "lnb": "LNB",
    "agpucb": "A-GP-UCB",
    "mle": "MLE",
    "mcmc": "MCMC",
    "oracle": "Oracle",
    "random": "Random",
}


def plus_minus(mean: float, error: float) -> str:
    """`mean ± error` with two significant digits of the error; the mean alone if there is no error."""
    if not math.isfinite(error):
        return f"{mean:.4g}"
    if error == 0:
        return f"{mean:.4g} ± 0"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 6:
        return f"{mean:.2g} ± {error:.2g}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def summary_table(summary: pd.DataFrame, varied: Mapping[str, Mapping[str, object]]) -> Table:
    """The closing table of a study: mean ± SE of the final regrets per problem and method.

    `varied` maps each further column, a setting that was swept, to its value by run_id.
    """
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("problem", "method", *varied):
        table.add_column(column, no_wrap=True)
    for column in ("runs", "simple regret", "cumulative regret", "s/run"):
        table.add_column(column, justify="right", no_wrap=True)
    for _, row in summary.iterrows():
        table.add_row(
            row["problem"],
            LABELS.get(row["method"], row["method"]),
            *("" if (value := values.get(row["run_id"])) is None else str(value) for values in varied.values()),
            str(row["runs"]),
            plus_minus(row["simple_regret"], row["simple_regret_se"]),
            plus_minus(row["cumulative_regret"], row["cumulative_regret_se"]),
            f"{row['seconds']:.1f}",
        )
    return table
