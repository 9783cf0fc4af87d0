"""Figure 3: simple and cumulative regret of the methods on each problem."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lbbench.report.collection import Collection
from lbbench.report.figures import canvas
from lbbench.report.stats import REGRETS, curves
from lbbench.report.variants import by_problem, shared_changes

DECADES = 4  # of simple regret that are told apart, from the largest down
COLUMNS = ["problem", "method", "run_id", "seed", "t", *REGRETS]
NOTE = "mean ± standard error over n seeds"
ZERO = "; an axis that shows 0 is linear below its lowest power of ten"


def draw(collection: Collection) -> list[canvas.Sheet]:
    """Mean ± standard error over seeds: a row per regret, a column per problem."""
    variants = collection.usual()
    if not variants:
        return []
    shared = shared_changes(variants)
    columns = by_problem(variants)
    frame = collection.read(variants, COLUMNS)
    frame = frame[frame["t"] >= 0]  # from the end of the initial design on
    width = canvas.panels_width(len(columns))
    figure, axes = canvas.grid(len(REGRETS), len(columns), width, 1.75, sharex="col")
    for row, regret in zip(axes, REGRETS, strict=True):
        table = curves(frame, regret)
        for panel, (problem, own) in zip(row, columns.items(), strict=True):
            for variant in own:
                curve = canvas.only(table, variant)
                label = variant.label(shared)
                plot_mean(panel, curve, label=label, **canvas.look(variant.method, len(curve)))
            if regret == "simple_regret":
                scale_simple_regret(panel, table[table["problem"] == problem]["mean"])
                panel.set_title(f"{problem} ({canvas.seed_count(own)})")
            else:
                canvas.label_iterations(panel)
        row[0].set_ylabel(regret.replace("_", " "))
    canvas.add_legend(figure, note(figure), shared)
    return [canvas.Sheet("figure3", figure, variants)]


def plot_mean(axes: Axes, curve: pd.DataFrame, **look: object) -> None:
    """The mean of a curve of `stats.curves`, and a band of one standard error on either side."""
    canvas.plot_band(axes, curve, "mean", curve["mean"] - curve["se"], curve["mean"] + curve["se"], **look)


def scale_simple_regret(axes: Axes, means: pd.Series) -> None:
    """A log axis; where means come close to 0 or reach it, one that is linear from its lowest decade down to 0."""
    top = float(means.max())
    told = means[means > 10.0**-DECADES * top]
    floor = 10.0 ** math.floor(math.log10(told.min())) if len(told) else 1.0
    if means.min() >= floor:
        axes.set_yscale("log")
        axes.set_ylim(bottom=max(axes.get_ylim()[0], 0.4 * means.min()))  # a band alone may reach far down
        canvas.label_decades(axes.yaxis)
    else:
        axes.set_yscale("symlog", linthresh=floor, linscale=0.5)
        axes.set_ylim(bottom=0.0)


def note(figure: Figure) -> str:
    """What the curves of a figure are."""
    return NOTE + (ZERO if any(axes.get_yscale() == "symlog" for axes in figure.axes) else "")
