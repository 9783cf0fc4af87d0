"""What all figures share: their look in print, their legend, and how they are saved."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from lbbench.records.files import naming
from lbbench.report import style
from lbbench.report.figures.fitting import APART, POINTS, fit_panels, literal, width, wrapped
from lbbench.report.variants import Variant, typed

STYLE: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 8,
    "legend.title_fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.4,
    "pdf.fonttype": 42,  # TrueType: type 3, the default, is refused by publishers
    "savefig.dpi": 200,
}
WIDTH = 7.0  # inches of a page's text
NARROW = 1.75  # inches of a panel, below which its labels would run into each other
LINE = 0.21  # inches for the labels of an axis
HANDLE, PAD, GAP = 2.6, 0.8, 2.0  # letters' widths: the line beside a label of the legend, after it, between columns
MARGIN = 0.25  # inches beside the legend
WITHIN = {10.0: (1.0, 2.0, 3.0, 5.0), 1000.0: (1.0, 3.0)}  # labels in a decade where an axis spans less than a ratio
PLAIN = (5e-5, 5e5)  # numbers between that are written without a power of ten
MARKS = 5  # markers on a curve
SLOTS = 7  # places for the markers of as many methods; those of further ones lie half-way between
UNDATED = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}


class Sheet(NamedTuple):
    """A figure, the name of its files without suffix and format, and the variants in it."""

    name: str
    figure: Figure
    variants: list[Variant]


def grid(rows: int, columns: int, width: float, height: float, **share: Any) -> tuple[Figure, Any]:
    """A figure of panels, each `height` inches high, and its axes `(rows, columns)`."""
    figure = Figure(figsize=(width, rows * height + LINE), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **share)


def panels_width(columns: int) -> float:
    """Inches for that many panels side by side: a text's width for three or four, and more only for more than these."""
    return max(3.5, min(WIDTH, 2.4 * columns), NARROW * columns)


def save(sheet: Sheet, folder: Path, formats: Sequence[str], suffix: str) -> list[Path]:
    """Write a sheet in each format, without a date, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{sheet.name}{suffix}.{kind}" for kind in formats]
    for file, kind in zip(files, formats, strict=True):
        with naming(file):
            sheet.figure.savefig(file, metadata=UNDATED[kind])
        sheet.figure.set_layout_engine("none")  # the panels stay where they are now
    return files


def plot_band(axes: Axes, curve: pd.DataFrame, middle: str, low: pd.Series, high: pd.Series, **look: Any) -> None:
    """A line through column `middle` of a curve of `stats.curves`, with the band between `low` and `high`."""
    (line,) = axes.plot(curve["t"], curve[middle], **look)
    axes.fill_between(curve["t"], low, high, color=line.get_color(), alpha=0.18, linewidth=0)


def look(method: str, t: pd.Series) -> dict[str, Any]:
    """How the curve of a method over ascending t is drawn, with a few markers; the first methods lie on top."""
    colour, line, marker = style.look(method)
    place = style.order(method)[0]
    span = int(t.iloc[-1] - t.iloc[0]) + 1
    step = max(1, span // MARKS)
    turn, slot = divmod(place, SLOTS)
    marked = np.arange((2 * slot + turn) * step // (2 * SLOTS), span, step)  # apart from those of other methods
    every = np.unique(np.searchsorted(t, t.iloc[0] + marked)).tolist()
    return {"color": colour, "linestyle": line, "marker": marker, "markevery": every, "zorder": 3 - 0.1 * place}


def seed_count(variants: Sequence[Variant]) -> str:
    """How many seeds the variants have: `n = 10`, or `n = 3–10`."""
    counts = sorted({len(variant.seeds) for variant in variants})
    return f"n = {counts[0]}" + (f"–{counts[-1]}" if len(counts) > 1 else "")


def add_legend(figure: Figure, note: str, shared: Mapping[str, Any]) -> None:
    """A legend below all panels, in a strip of its own; they must be there, since their texts are fitted to them.

    Its title says what is drawn, and what all in the figure have in common.
    """
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    size, small = STYLE["legend.fontsize"], STYLE["legend.title_fontsize"]
    em = size / POINTS
    beside = (HANDLE + PAD) * em  # what the line beside a label takes
    widest = max((beside + width(label, size) for label in handles), default=0.0)
    figure.set_figwidth(max(figure.get_figwidth(), min(WIDTH, widest + MARGIN)))
    fit_panels(figure)
    room = figure.get_figwidth() - MARGIN
    labels = [wrapped(label, room - beside, size) for label in handles]
    taken = [beside + max(width(line, size) for line in label.split("\n")) + GAP * em for label in labels]
    columns = max(1, len(labels) if sum(taken) <= room + GAP * em else int((room + GAP * em) / max(taken)))
    notes = [note, typed(shared)] if shared else [note]
    legend = figure.legend(
        list(handles.values()),
        labels,
        title=wrapped("; ".join(notes), room, small),
        loc="outside lower center",
        ncols=columns,
        handlelength=HANDLE,
        handletextpad=PAD,
        columnspacing=GAP,
    )
    legend.get_title().set_multialignment("center")
    literal([legend.get_title(), *legend.get_texts()])
    strip = legend.get_window_extent().height / figure.dpi
    figure.set_figheight(figure.get_figheight() + strip + APART)


def only(frame: pd.DataFrame, variant: Variant) -> pd.DataFrame:
    """The rows of one variant."""
    own = (frame[["problem", "method", "run_id"]] == [variant.problem, variant.method, variant.run_id]).all(axis=1)
    return frame[own]


def align(panels: Sequence[Axes]) -> None:
    """The same limits and labels for all of the panels: the widest limits of any."""
    for name in ("x", "y"):
        lows, highs = zip(*(getattr(panel, f"get_{name}lim")() for panel in panels), strict=True)
        for panel in panels:
            panel.set(**{f"{name}lim": (min(lows), max(highs))})
            axis = getattr(panel, f"{name}axis")
            if axis.get_scale() == "log":
                label_decades(axis)


def label_iterations(axes: Axes) -> None:
    """The axis of t, labelled at whole numbers."""
    axes.set_xlabel("iteration t")
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 2.5, 5, 10]))


def label_decades(axis: Axis) -> None:
    """Labels on a log axis, as plain numbers where they are short; the fewer decades, the more within a decade."""
    low, high = axis.get_view_interval()
    subs = next((subs for ratio, subs in WITHIN.items() if high < ratio * low), (1.0,))
    axis.set_major_locator(LogLocator(subs=subs))
    if low > PLAIN[0] and high < PLAIN[1]:
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
