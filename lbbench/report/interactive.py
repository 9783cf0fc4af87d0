"""What the interactive charts of the report draw, as plain lists for JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lbbench.domain import Array
from lbbench.progress import watched
from lbbench.report import style
from lbbench.report.collection import TOTAL, Collection
from lbbench.report.lengthscales import bins, chosen, optimal_lengthscale
from lbbench.report.stats import curves
from lbbench.report.variants import Variant, by_problem

COLUMNS = ["problem", "method", "run_id", "seed", "t", "regret", "simple_regret", "cumulative_regret",
           "suggest_s", "evaluate_s", TOTAL]  # fmt: skip
REGRETS = {"simple_regret": "Simple regret", "cumulative_regret": "Cumulative regret", "regret": "Instantaneous regret"}
DASHES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}  # matplotlib's line styles as Plotly calls them
FURTHER = ("longdash", "longdashdot")
DIGITS = 6  # significant ones


def charts(
    collection: Collection, shown: Sequence[Variant], frame: pd.DataFrame, labels: Mapping[str, str]
) -> dict[str, Any]:
    """The series that can be toggled, of which some are `shown` at first, and for each problem what its charts draw.

    `frame` holds the `COLUMNS` of the collection's runs, thinned, and `labels` a name for each run_id: a series has one
    label.
    """
    series = _series(collection, shown, labels)
    places = {entry["label"]: place for place, entry in enumerate(series)}
    steps = frame[frame["t"] > 0]
    thetas = chosen(collection, collection.variants)
    problems = []
    by_name = by_problem(collection.variants)
    for problem in watched(by_name, f"drawing {len(by_name):,} problems"):
        variants = by_name[problem]
        rows = steps[steps["problem"] == problem]
        edges = bins(thetas[variant.key] for variant in variants)
        drawn = []
        for variant in watched(variants, f"drawing {len(variants):,} settings"):
            own = rows[rows["run_id"] == variant.run_id]
            histogram = _histogram(thetas[variant.key], edges)
            drawn.append(_curve(own) | {"series": places[labels[variant.run_id]], "lengthscales": histogram})
        optimum = optimal_lengthscale(variants[0])
        problems.append({"name": problem, "optimum": optimum, "edges": rounded(edges), "curves": drawn})
    return {"series": series, "problems": problems}


def _series(collection: Collection, shown: Sequence[Variant], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each label with its look, in the order of methods; the dashes tell variants of a method apart."""
    first = {labels[variant.run_id] for variant in shown}
    methods: dict[str, dict[str, None]] = {}
    for variant in sorted(collection.variants, key=lambda variant: style.order(variant.method)):
        methods.setdefault(variant.method, {})[labels[variant.run_id]] = None
    return [
        {"label": label, "colour": style.colour(method), "dash": _dash(method, i), "shown": label in first}
        for method, own in methods.items()
        for i, label in enumerate(own)
    ]


def _dash(method: str, place: int) -> str:
    """Plotly's name of a method's line style, or of one further on for further variants of it."""
    dashes = [*DASHES.values(), *FURTHER]
    return dashes[(dashes.index(DASHES[style.look(method).line]) + place) % len(dashes)]


def _curve(rows: pd.DataFrame) -> dict[str, Any]:
    """One variant: each regret over the steps, as `stats.curves` has it and seed by seed, and the seconds per step.

    Where these are not 1, 2, 3, …, they are named.
    """
    curve: dict[str, Any] = {"seeds": [int(seed) for seed in rows["seed"].unique()]}
    steps = sorted(rows["t"].unique().tolist())
    if len(steps) < steps[-1]:
        curve["steps"] = steps
    for regret in REGRETS:
        table = curves(rows, regret)
        by_seed = rows.pivot(index="seed", columns="t", values=regret).loc[curve["seeds"]]
        curve[regret] = {name: rounded(table[name]) for name in ("mean", "se", "median", "lower", "upper")}
        curve[regret]["by_seed"] = [rounded(values) for values in by_seed.to_numpy()]
    seconds = rows.assign(seconds=rows["suggest_s"] + rows["evaluate_s"])
    return curve | {"seconds": rounded(curves(seconds, "seconds")["median"])}


def _histogram(chosen: Array, edges: Array) -> list[float | None]:
    """The share of steps in each bin of length scales; nothing for a method that has none."""
    return rounded(np.histogram(chosen, edges)[0] / len(chosen)) if len(chosen) else []


def rounded(values: Sequence[float] | np.ndarray | pd.Series) -> list[float | None]:
    """Floats of a few significant digits; None for what is not finite, which JSON does not know."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]
