"""Figure "candidates": the length scales that LB balances, over time."""

import pandas as pd
from matplotlib.axes import Axes

from lbbench.report.collection import Collection
from lbbench.report.figures import AS_USUAL, Options, canvas
from lbbench.report.figures.lengthscales import mark_optimum
from lbbench.report.style import colour
from lbbench.report.variants import shared_changes

COLUMNS = ["problem", "method", "run_id", "seed", "t", "lengthscale", "candidates", "eliminated"]


def draw(collection: Collection, options: Options = AS_USUAL) -> list[canvas.Sheet]:
    """When candidates were born, chosen and eliminated, for the first seed at hand: a panel per problem.

    Thinned runs are left out, since they lack steps at which some were eliminated.
    """
    variants = collection.whole([variant for variant in collection.usual() if variant.method == "lb"])
    if not variants:
        return []
    shared = shared_changes(variants)
    first = collection.only({(*variant.key, variant.seeds[0]) for variant in variants})
    frame = first.read(variants, COLUMNS)
    frame = frame[frame["t"] > 0]
    figure, axes = canvas.grid(1, len(variants), canvas.panels_width(len(variants)), 2.4)
    for panel, variant in zip(axes[0], variants, strict=True):
        plot_lives(panel, canvas.only(frame, variant))
        mark_optimum(panel.axhline, [variant])
        panel.set(title=f"{variant.problem}, seed {variant.seeds[0]}", yscale="log")
        canvas.label_iterations(panel)
        canvas.label_decades(panel.yaxis)
    axes[0, 0].set_ylabel("length scale θ")
    canvas.add_legend(figure, "length scales that LB chooses from", shared)
    return [canvas.Sheet("candidates", figure, variants)]


def lives(rows: pd.DataFrame) -> pd.DataFrame:
    """The `first` and `last` step at which each candidate of a run stood to be chosen, by length scale."""
    stood = rows[["t", "candidates"]].explode("candidates").astype({"candidates": float})
    return stood.groupby("candidates").agg(first=("t", "min"), last=("t", "max"))


def plot_lives(axes: Axes, rows: pd.DataFrame) -> None:
    """A line over each candidate's life, dots where it was chosen, a cross where it was eliminated."""
    life = lives(rows)
    ended = rows[["t", "eliminated"]].explode("eliminated").dropna()
    axes.hlines(life.index, life["first"], life["last"], color="0.6", linewidth=0.7, label="candidate")
    axes.plot(rows["t"], rows["lengthscale"], "o", color=colour("lb"), markersize=2, label="chosen")
    axes.plot(ended["t"], ended["eliminated"], "x", color=colour("agpucb"), markersize=5, label="eliminated")
