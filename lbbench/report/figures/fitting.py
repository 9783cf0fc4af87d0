"""Texts that fit their figure: they are measured, and what is too wide is wrapped, and gets the height for that."""

import itertools
import re
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator

OPTIMUM = r"$\hat{\theta}^*$"
POINTS = 72.0  # to an inch
SPACING = 1.2  # of lines, as a share of the size of their letters
HINTED = 1.05  # how much wider letters can get that are fitted to pixels
APART = 0.1  # inches between texts, and between them and the edge
ENDS = (r"(?<= )(?<!= )(?!=)", r"(?<=[,;:/_=+-])|(?<=\.)(?!\d)", r"(?<=.)")  # of lines; the later, the worse


def width(text: str, size: float) -> float:
    """Inches that a line of text takes, in letters of so many points."""
    found = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return HINTED * float(found[0]) / POINTS


def wrapped(text: str, room: float, size: float) -> str:
    """A text in lines of at most `room` inches."""
    return "\n".join(line.rstrip() for whole in text.split("\n") for line in _lines(whole, room, size, ENDS))


def _lines(text: str, room: float, size: float, ends: Sequence[str]) -> list[str]:
    lines = [""]
    for piece in re.split(ends[0], text):
        if width((lines[-1] + piece).rstrip(), size) <= room:
            lines[-1] += piece
        elif width(piece.rstrip(), size) <= room or len(ends) == 1:
            lines.append(piece)
        else:
            lines[-1:] = _lines(lines[-1] + piece, room, size, ends[1:])
    return [line for line in lines if line] or [""]


def _wrap(text: Text, room: float) -> None:
    text.set_text(wrapped(text.get_text(), room, float(text.get_fontsize())))


def _height(text: Text) -> float:
    """Inches that the lines of a text take."""
    return (text.get_text().count("\n") + 1) * float(text.get_fontsize()) * SPACING / POINTS


def literal(texts: Iterable[Text]) -> None:
    """Shows words as they are, whatever dollars a user's have; `OPTIMUM` alone is a formula."""
    for text in texts:
        text.set_parse_math(text.get_text() == OPTIMUM)


def fit_panels(figure: Figure) -> None:
    """Wraps the titles of the panels and the texts in them, for which panels and figure get higher, and thins ticks.

    Panels have their widths then, whatever is put below them.
    """
    top = [(axes, text) for axes in figure.axes for text in axes.texts if text.get_transform() == axes.transAxes]
    for _, text in top:
        text.set_in_layout(False)  # which would make panels narrow for what is not wrapped yet
    literal([*(axes.title for axes in figure.axes), *(text for _, text in top)])
    figure.draw_without_rendering()
    rows: dict[int, list[Axes]] = {}
    for axes in figure.axes:
        spec = axes.get_subplotspec()
        rows.setdefault(spec.rowspan.start if spec else 0, []).append(axes)
    for row in rows.values():
        _wrap_titles(row, figure.get_figwidth())
    more = sum(max(_further(axes.title) for axes in row) for row in rows.values())
    if top:
        more += len(rows) * _make_room(figure, top)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            thin_out(axis)
    figure.set_figheight(figure.get_figheight() + more)


def _wrap_titles(row: Sequence[Axes], figure_width: float) -> None:
    """Each title may reach half-way to that of the next panel, or to the edge."""
    centres = [figure_width * (axes.get_position().x0 + axes.get_position().x1) / 2 for axes in row]
    for axes, centre in zip(row, centres, strict=True):
        halves = [abs(centre - other) / 2 for other in centres if other != centre]
        room = 2 * min([centre, figure_width - centre, *halves]) - APART
        _wrap(axes.title, room)


def _further(text: Text) -> float:
    """Inches that the lines of a text beyond the first take."""
    return _height(text) * (1 - 1 / (text.get_text().count("\n") + 1))


def _make_room(figure: Figure, top: Sequence[tuple[Axes, Text]]) -> float:
    """Wraps the texts that stand at the top within panels, and keeps what is drawn there below them.

    Returns how many inches higher the panels are to be.
    """
    for axes, text in top:
        room = figure.get_figwidth() * axes.get_position().width - APART
        _wrap(text, room)
    inside = min(figure.get_figheight() * axes.get_position().height for axes, _ in top)
    more = max(_further(text) for _, text in top)
    tallest = max(_height(text) for _, text in top) + APART
    share = min(0.8, tallest / (inside + more))
    for axes in figure.axes:
        low, high = axes.get_ylim()
        axes.set_ylim(low, low + (high - low) / (1 - share))
    return more


def thin_out(axis: Axis) -> None:
    """Leaves every second of an axis's labels, or fewer, until they are apart."""
    ticks = axis.get_majorticklocs()
    for step in range(1, len(ticks)):
        if step > 1:
            axis.set_major_locator(FixedLocator(ticks[::step].tolist()))
        boxes = [label.get_window_extent() for label in _labels(axis)]
        if not any(one.overlaps(other) for one, other in itertools.pairwise(boxes)):
            return


def _labels(axis: Axis) -> list[Text]:
    """The labels that are drawn: of ticks between an axis's ends."""
    axis.get_ticklabels()  # which puts them where they belong
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_major_ticks(), axis.get_majorticklocs(), strict=False)
    labels = [tick.label1 for tick, place in ticks if low <= place <= high]
    return [label for label in labels if label.get_visible() and label.get_text()]
