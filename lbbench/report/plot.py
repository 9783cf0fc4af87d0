"""`lbbench plot`: which figures the traces at hand allow, and what to say about those and the others."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lbbench.errors import UsageError
from lbbench.plan.keys import GROUPS, last
from lbbench.plan.rules import Check, choice
from lbbench.plan.words import command_line
from lbbench.report import views
from lbbench.report.figures import FORMATS, Options, draw
from lbbench.report.optimising import GROWING
from lbbench.report.selection import Selection
from lbbench.report.style import BANDS

if TYPE_CHECKING:
    from lbbench.report.collection import Collection
    from lbbench.report.variants import Variant

KEYS: dict[str, Check] = {"figure": choice(*views.figures()), "format": choice(*FORMATS), "band": choice(*BANDS)}
OTHERWISE = "lbbench ablate kernel=matern52,rbf"  # what figure 4 shows of methods that have no g
NAMED = 6  # variants that are named at most


def plot(collection: "Collection", selection: Selection) -> Iterator[str]:
    """Draw what was selected, and yield a line for each file and for each figure that lacked traces.

    Raises `UsageError` if nothing could be drawn.
    """
    filters = [argument for argument in selection.overrides if _key(argument) != "out"]
    drawn: list[Variant] = []
    lacking: list[str] = []
    nothing = True
    for figure in draw(
        collection,
        selection.many("figure", _usual(collection)),
        selection.out,
        selection.many("format", FORMATS),
        Options(problems=selection.wanted.get("problem", ()), band=selection.one("band", "se")),
        suffix="".join(f"-{_file_name(text)}" for text in filters),
    ):
        yield from (f"wrote {file}" for file in figure.files)
        drawn += figure.variants
        if figure.files:
            nothing = False
        else:
            lacking.append(_lack(figure.name, collection, selection))
    if nothing:
        raise UsageError("\n".join(lacking))
    yield from lacking
    yield from _undrawn(collection, drawn, selection)


def _usual(collection: "Collection") -> list[str]:
    """The figures to draw if none is named."""
    from lbbench.records.thinning import LONG

    long = any(variant.settings["iterations"] > LONG for variant in collection.variants)
    return [name for name, (_, figure) in views.figures().items() if long or not figure.long]


def _undrawn(collection: "Collection", drawn: "Sequence[Variant]", selection: Selection) -> Iterator[str]:
    """A line about the variants that others of the same method and problem kept from being drawn."""
    pairs = {(variant.problem, variant.method) for variant in drawn}
    others = [
        variant
        for variant in collection.variants
        if (variant.problem, variant.method) in pairs and variant not in drawn
    ]
    if others:
        labels = list(dict.fromkeys(variant.label() for variant in others))
        more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
        changes = {key: f"{key}={value}" for key, value in others[0].changed.items()}
        words = [argument for argument in selection.arguments if last(_key(argument)) not in changes]
        command = command_line("lbbench", "plot", *words, *changes.values())
        narrow = f"; to draw the first: {command}" if changes else ""
        yield f"also at hand, not drawn: {', '.join(labels[:NAMED])}{more}{narrow}"


def _lack(name: str, collection: "Collection", selection: Selection) -> str:
    """What to say of a figure without traces: the command that makes them, if there can be any."""
    methods, shown = selection.wanted.get("method", ()), views.figures()[name][1]
    if shown.methods and methods and not set(methods) & set(shown.methods):
        return f"figure {name} has nothing to show of {', '.join(methods)}; it shows {', '.join(shown.methods)}"
    if shown.whole and len(collection.whole(collection.variants)) < len(collection.variants):
        return f"figure {name} needs all rows of a run, and some here were exported with thin="
    growing = name != "4" or not methods or set(methods) & set(GROWING)
    command = shown.source if growing else OTHERWISE
    return f"figure {name} lacks traces: {selection.source(*command.split())} makes them"


def _key(argument: str) -> str:
    return argument.partition("=")[0]


def _file_name(argument: str) -> str:
    """A filter as part of a file's name: `agnp+berkenkamp`, `g=t^0.25`."""
    key, _, value = argument.partition("=")
    return re.sub(r"[^\w.=^-]", "+", value if key in GROUPS else argument)
