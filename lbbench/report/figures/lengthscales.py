"""Figure 2: how often each method chose which length scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from lbbench.domain import Array
from lbbench.report.collection import Collection
from lbbench.report.figures import AS_USUAL, Options, canvas
from lbbench.report.figures.fitting import OPTIMUM
from lbbench.report.lengthscales import bins, chosen, optimal_lengthscale
from lbbench.report.style import colour, order
from lbbench.report.variants import Variant, VariantKey, by_problem, shared_changes

USUAL = "michalewicz"  # the paper's problem
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}  # text
HEIGHT = 0.95  # inches of a panel


def draw(collection: Collection, options: Options = AS_USUAL) -> list[canvas.Sheet]:
    """Histograms of θ, a row per method and a column per problem: the given ones, else Michalewicz, else all."""
    usual = [variant for variant in collection.usual() if variant.method != "oracle"]  # whose θ is θ̂*
    at_hand = {variant.settings.problem for variant in usual}
    shown = set(options.problems) or ({USUAL} & at_hand or at_hand)
    variants = [variant for variant in usual if variant.settings.problem in shown]
    thetas = chosen(collection, variants)
    variants = [variant for variant in variants if len(thetas[variant.key])]
    if not variants:
        return []
    shared = shared_changes(variants)
    columns = by_problem(variants)
    methods = sorted({variant.method for variant in variants}, key=order)
    width = max(4.5, canvas.panels_width(len(columns)))
    figure, axes = canvas.grid(len(methods), len(columns), width, HEIGHT, sharex="col")
    for panels, (problem, own) in zip(axes.T, columns.items(), strict=True):
        panels[0].set_title(f"{problem} ({canvas.seed_count(own)})")
        plot_problem(dict(zip(methods, panels, strict=True)), own, thetas, shared)
    highest = max(panel.get_ylim()[1] for panel in axes.flat if panel.axison)
    for panel in axes.flat:
        panel.set_ylim(0.0, highest)  # for all the same; axes that share it take long where there are many
    figure.supylabel("proportion of iterations", fontsize=8)
    canvas.add_legend(figure, "all iterations of n seeds", shared)
    return [canvas.Sheet("figure2", figure, variants)]


def plot_problem(
    panels: Mapping[str, Axes],
    variants: Sequence[Variant],
    thetas: Mapping[VariantKey, Array],
    shared: Mapping[str, Any],
) -> None:
    """The histogram of each variant of a problem in the panel of its method; panels of none stay empty."""
    edges = bins(thetas[variant.key] for variant in variants)
    own = {variant.method: variant for variant in variants}
    for method, panel in panels.items():
        if variant := own.get(method):
            panel.text(0.015, 0.95, variant.label(shared), transform=panel.transAxes, va="top", bbox=BEHIND)
            panel.tick_params(labelleft=True)
            look = {"color": colour(variant.method), "histtype": "stepfilled", "alpha": 0.85}
            plot_proportions(panel, thetas[variant.key], edges, **look)
            mark_optimum(panel.axvline, [variant])
            canvas.label_decades(panel.xaxis)
            lowest = panel
        else:
            panel.set_axis_off()
    lowest.set_xlabel("length scale θ")
    lowest.tick_params(labelbottom=True)


def plot_proportions(axes: Axes, values: Array, edges: Array, **look: Any) -> None:
    """A histogram whose heights sum to 1, on a log axis."""
    axes.hist(values, bins=list(edges), weights=np.full(len(values), 1.0 / len(values)), **look)
    axes.set_xscale("log")


def mark_optimum(line: Any, variants: Sequence[Variant]) -> None:
    """Draws θ̂* by `axvline` or `axhline`, where it can be estimated and is the same for all of the variants."""
    optima = {optimal_lengthscale(variant) for variant in variants}
    if len(optima) == 1 and None not in optima:
        line(*optima, color="black", linestyle=(0, (4, 2)), linewidth=1.0, label=OPTIMUM)
