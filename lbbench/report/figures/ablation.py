"""Figure 4: what a setting changes, for each method."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps

from lbbench import growth
from lbbench.domain import Array
from lbbench.plan.keys import GROWTHS
from lbbench.report.collection import Collection
from lbbench.report.figures import AS_USUAL, Options, canvas, file_name, lengthscales, regrets
from lbbench.report.lengthscales import bins, chosen
from lbbench.report.stats import curves
from lbbench.report.variants import Variant, VariantKey, by_problem, shared_changes, typed

USUAL = "g"  # the paper's ablation
COLUMNS = ["problem", "method", "run_id", "seed", "t", "simple_regret"]
PER_ROW = 4  # methods side by side, beyond which their titles would run into each other
LINES = ("-", "--", "-.", ":")


def draw(collection: Collection, options: Options = AS_USUAL) -> list[canvas.Sheet]:
    """Simple regret and chosen length scales per method over the values of the swept settings: a sheet per problem.

    Without swept settings, those that vary at hand: the growth function g if it does, else a sheet for each other.
    """
    swept = options.swept
    wanted = [tuple(swept)] if swept else [(key,) for key in varying(collection.variants)]
    sheets = []
    for keys in wanted:
        problems = {}
        for problem, variants in by_problem(collection.variants).items():
            if panels := ablations(variants, keys, at_least=1 if swept else 2):
                problems[problem] = panels
        name = "figure4" if keys == (USUAL,) else f"figure4-{'-'.join(keys)}"
        for problem, panels in problems.items():
            sheet = f"{name}-{file_name(problem)}" if len(problems) > 1 else name
            sheets.append(_sheet(collection, sheet, keys, panels, options.band))
    return sheets


def varying(variants: Sequence[Variant]) -> list[str]:
    """The settings in which alone some variants of one method and problem differ; g alone if it is among them."""
    keys = dict.fromkeys(key for variant in variants for key in variant.changed if key != "iterations")
    problems = by_problem(variants).values()
    found = [key for key in keys if any(ablations(own, (key,), at_least=2) for own in problems)]
    return [USUAL] if USUAL in found else found


def ablations(variants: Sequence[Variant], keys: Sequence[str], at_least: int) -> dict[str, list[Variant]]:
    """For each method, its variants on a problem that agree in all but the keys: the largest such set, by value."""
    groups: dict[str, dict[str, dict[Any, Variant]]] = {}
    for variant in variants:
        if own := values(variant, keys):
            settings = variant.settings.flat
            rest = repr(sorted((key, value) for key, value in settings.items() if key not in own))
            group = groups.setdefault(variant.method, {}).setdefault(rest, {})
            meaning = tuple(_meaning(key, value, settings["iterations"]) for key, value in own.items())
            if meaning not in group or len(variant.seeds) >= len(group[meaning].seeds):
                group[meaning] = variant
    largest = {method: max(found.values(), key=len) for method, found in groups.items()}
    return {
        method: sorted(found.values(), key=lambda variant: _place(values(variant, keys)))
        for method, found in largest.items()
        if len(found) >= at_least
    }


def values(variant: Variant, keys: Sequence[str]) -> dict[str, Any]:
    """What a variant has for each of the keys that it has."""
    settings = variant.settings.flat
    return {key: settings[key] for key in keys if key in settings}


def _meaning(key: str, value: Any, iterations: int) -> Any:
    """The same for settings that are the same in other words, such as g=sqrt(t) and g=t^0.5."""
    if key not in GROWTHS:
        return value
    function = growth.parse(value)
    return tuple(round(function(t), 9) for t in range(1, min(iterations, 1_000) + 1))


def _place(own: Mapping[str, Any]) -> list[Any]:
    """A sort key: numbers by size, before words by the alphabet."""
    return [(isinstance(value, str), value) for value in own.values()]


def _sheet(
    collection: Collection, stem: str, keys: Sequence[str], panels: Mapping[str, list[Variant]], band: str
) -> canvas.Sheet:
    variants = [variant for own in panels.values() for variant in own]
    labels = [typed(own) for own in sorted((values(variant, keys) for variant in variants), key=_place)]
    looks = _looks(list(dict.fromkeys(labels)))
    shared = shared_changes(variants)
    frame = collection.read(variants, COLUMNS, thinned=True)
    table = curves(frame[frame["t"] >= 0], "simple_regret")
    thetas = chosen(collection, variants)
    names = ("simple regret", "proportion of iterations")[: 2 if any(map(len, thetas.values())) else 1]
    folds = math.ceil(len(panels) / PER_ROW)
    columns = math.ceil(len(panels) / folds)
    width = max(4.5, canvas.panels_width(columns))
    figure, axes = canvas.grid(folds * len(names), columns, width, 1.9, sharex="row", sharey="row")
    by_kind = [axes[row :: len(names)] for row in range(len(names))]  # each (folds, columns)
    for own, regret in zip(panels.values(), by_kind[0].flat, strict=False):
        for variant in own:
            label = typed(values(variant, keys))
            regrets.plot_mean(regret, canvas.only(table, variant), band, label=label, **looks[label])
        regrets.scale_simple_regret(regret, table["mean"])
        name = own[0].label(shared | values(own[0], keys))
        regret.set_title(f"{name} ({canvas.seed_count(own)})")
        canvas.label_iterations(regret)
    for own, panel in zip(panels.values(), by_kind[-1].flat, strict=False):
        if len(names) > 1:
            _plot_lengthscales(panel, thetas, own, keys, looks)
    for kind, name in zip(by_kind, names, strict=True):
        canvas.align(kind[:, 0])
        for panel in kind[:, 0]:
            panel.set_ylabel(name)
        for panel in kind.flat[len(panels) :]:
            panel.set_axis_off()
    canvas.add_legend(figure, f"{variants[0].problem}, {regrets.note(figure, band)}", shared)
    return canvas.Sheet(stem, figure, variants)


def _plot_lengthscales(
    axes: Any,
    thetas: Mapping[VariantKey, Array],
    own: Sequence[Variant],
    keys: Sequence[str],
    looks: Mapping[str, dict[str, Any]],
) -> None:
    edges = bins(thetas.values())
    for variant in own:
        found = thetas[variant.key]
        if len(found):
            look = looks[typed(values(variant, keys))]
            lengthscales.plot_proportions(axes, found, edges, histtype="step", **look)
    lengthscales.mark_optimum(axes.axvline, own)
    canvas.label_decades(axes.xaxis)
    axes.set_xlabel("length scale θ")


def _looks(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A colour from dark to light and a line for each label."""
    colours = colormaps["viridis"](np.linspace(0.0, 0.8, len(labels)))
    return {
        label: {"color": tuple(colour), "linestyle": LINES[i % len(LINES)]}
        for i, (label, colour) in enumerate(zip(labels, colours, strict=True))
    }
