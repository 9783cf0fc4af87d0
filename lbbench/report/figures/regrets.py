"""Figure 3: simple and cumulative regret of the methods on each problem; and "cumulative", the latter alone."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lbbench.records.thinning import LONG
from lbbench.report.collection import Collection
from lbbench.report.figures import AS_USUAL, Options, canvas
from lbbench.report.stats import REGRETS, curves
from lbbench.report.style import BANDS
from lbbench.report.variants import Variant, by_problem, shared_changes, typed

PER_ROW = 4  # problems side by side
LEVELS = 8  # decades of cumulative regret that are told apart
DECADES = 4  # of simple regret that are told apart, from the largest down
COLUMNS = ["problem", "method", "run_id", "seed", "t", *REGRETS]
ZERO = "; an axis that shows 0 is linear below its lowest power of ten"


def draw(collection: Collection, options: Options = AS_USUAL) -> list[canvas.Sheet]:
    """Mean and band over seeds: a row per regret, a column per problem."""
    variants = collection.usual()
    if not variants:
        return []
    shared = shared_changes(variants)
    columns = by_problem(variants)
    frame = _frame(collection, variants)
    width = canvas.panels_width(len(columns))
    figure, axes = canvas.grid(len(REGRETS), len(columns), width, 1.75, sharex="col")
    for row, regret in zip(axes, REGRETS, strict=True):
        table = curves(frame, regret)
        for panel, (problem, own) in zip(row, columns.items(), strict=True):
            _plot_panel(panel, table, own, _alike(own, shared), options.band)
            if regret == "simple_regret":
                scale_simple_regret(panel, table[table["problem"] == problem]["mean"])
                panel.set_title(_title(problem, own, shared))
            else:
                canvas.label_iterations(panel)
        row[0].set_ylabel(regret.replace("_", " "))
    canvas.add_legend(figure, note(figure, options.band), shared)
    return [canvas.Sheet("figure3", figure, variants)]


def draw_cumulative(collection: Collection, options: Options = AS_USUAL) -> list[canvas.Sheet]:
    """Cumulative regret alone, mean and band over seeds: a panel per problem, in rows of at most `PER_ROW`.

    Both axes are logarithmic if runs are long: a slope of 1 is regret that grows as fast as t.
    """
    variants = collection.usual()
    if not variants:
        return []
    shared = shared_changes(variants)
    problems = by_problem(variants)
    table = curves(_frame(collection, variants), "cumulative_regret")
    folds = math.ceil(len(problems) / PER_ROW)
    columns = math.ceil(len(problems) / folds)
    long = int(table["t"].max()) > LONG
    figure, axes = canvas.grid(folds, columns, canvas.panels_width(columns), 2.0, sharey=long)
    for panel, (problem, own) in zip(axes.flat, problems.items(), strict=False):
        _plot_panel(panel, table, own, _alike(own, shared), options.band, by_place=long)
        panel.set_title(_title(problem, own, shared))
        canvas.label_iterations(panel)
    if long:
        _scale_both(axes.flat[: len(problems)], table)
    for panel in axes[:, 0]:
        panel.set_ylabel("cumulative regret")
    for panel in axes.flat[len(problems) :]:
        panel.set_axis_off()
    canvas.add_legend(figure, note(figure, options.band), shared)
    return [canvas.Sheet("cumulative", figure, variants)]


def _frame(collection: Collection, variants: Sequence[Variant]) -> pd.DataFrame:
    """Both regrets from the end of the initial design on."""
    frame = collection.read(variants, COLUMNS, thinned=True)
    return frame[frame["t"] >= 0]


def _alike(variants: Sequence[Variant], shared: Mapping[str, Any]) -> Mapping[str, Any]:
    """The changes that the variants of a problem have in common, which its title tells beside those that all share."""
    return shared_changes(variants) if len(variants) > 1 else shared


def _title(problem: str, variants: Sequence[Variant], shared: Mapping[str, Any]) -> str:
    told = variants[0].told
    own = {key: value for key, value in _alike(variants, shared).items() if key not in shared and key not in told}
    return f"{problem} ({canvas.seed_count(variants)})" + (f"\n{typed(own)}" if own else "")


def _plot_panel(
    panel: Axes,
    table: pd.DataFrame,
    variants: Sequence[Variant],
    shared: Mapping[str, Any],
    band: str,
    by_place: bool = False,
) -> None:
    """The curve of each variant of a problem, with markers evenly in t, or `by_place` in the order of its points."""
    for variant in variants:
        curve = canvas.only(table, variant)
        t = pd.Series(range(len(curve))) if by_place else curve["t"]
        plot_mean(panel, curve, band, label=variant.label(shared), **canvas.look(variant.method, t))


def _scale_both(panels: Iterable[Axes], table: pd.DataFrame) -> None:
    """Logarithmic axes, from the first step and from the least mean that is told apart."""
    means = table[table["t"] > 0]["mean"]
    told = means[means > 10.0**-LEVELS * means.max()]
    for panel in panels:
        panel.set(xscale="log", yscale="log", xlim=(1, table["t"].max()), ylim=(0.7 * told.min(), 1.5 * told.max()))
        for axis in (panel.xaxis, panel.yaxis):
            canvas.label_decades(axis)


def plot_mean(axes: Axes, curve: pd.DataFrame, band: str = "se", **look: Any) -> None:
    """The mean of a curve of `stats.curves`, and a band of one standard error or deviation on either side."""
    canvas.plot_band(axes, curve, "mean", curve["mean"] - curve[band], curve["mean"] + curve[band], **look)


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


def note(figure: Figure, band: str = "se") -> str:
    """What the curves of a figure are."""
    return f"mean ± {BANDS[band]} over n seeds" + (
        ZERO if any(axes.get_yscale() == "symlog" for axes in figure.axes) else ""
    )
