"""`lbbench plot`: which figures the traces at hand allow, and what to say about those and the others."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lbbench.errors import UsageError
from lbbench.report.figures import FORMATS, SOURCES, Drawing, draw
from lbbench.report.selection import Selection
from lbbench.study.checks import Check, choice
from lbbench.study.overrides import GROUPS, last

if TYPE_CHECKING:
    from lbbench.report.collection import Collection

KEYS: dict[str, Check] = {"figure": choice(*SOURCES), "format": choice(*FORMATS)}
NAMED = 6  # variants that are named at most


def plot(collection: "Collection", selection: Selection, arguments: Sequence[str]) -> Iterator[str]:
    """Draw what was selected, and yield a line for each file and for each figure that lacked traces.

    `arguments` are those that the selection was read from. Raises `UsageError` if nothing could be drawn.
    """
    filters = [argument for argument in arguments if _key(argument) not in (*KEYS, "out")]
    drawing = draw(
        collection,
        selection.many("figure", list(SOURCES)),
        selection.out,
        selection.many("format", FORMATS),
        problems=selection.wanted.get("problem", ()),
        suffix="".join(f"-{_file_name(text)}" for text in filters),
    )
    lacking = [
        f"figure {name} lacks traces: {_source(SOURCES[name], arguments)} makes them" for name in drawing.lacking
    ]
    if not drawing.files:
        raise UsageError("\n".join(lacking))
    yield from (f"wrote {file}" for file in drawing.files)
    yield from lacking
    yield from _undrawn(collection, drawing, arguments)


def _undrawn(collection: "Collection", drawing: Drawing, arguments: Sequence[str]) -> Iterator[str]:
    """A line about the variants that others of the same method and problem kept from being drawn."""
    drawn = {(variant.problem, variant.method, variant.run_id) for variant in drawing.variants}
    pairs = {key[:2] for key in drawn}
    others = [
        variant
        for variant in collection.variants
        if (variant.problem, variant.method) in pairs and (variant.problem, variant.method, variant.run_id) not in drawn
    ]
    if others:
        labels = list(dict.fromkeys(variant.label() for variant in others))
        more = f" and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
        changes = {key: f"{key}={value}" for key, value in others[0].changed.items()}
        words = [*(argument for argument in arguments if last(_key(argument)) not in changes), *changes.values()]
        narrow = f"; to draw the first: lbbench plot {' '.join(map(_quoted, words))}" if changes else ""
        yield f"also at hand, not drawn: {', '.join(labels[:NAMED])}{more}{narrow}"


def _source(command: str, arguments: Sequence[str]) -> str:
    """The command that makes missing traces, with what the user chose beside what it says itself."""
    own = [argument for argument in arguments if _key(argument) not in KEYS and f" {_key(argument)}=" not in command]
    return " ".join([command, *map(_quoted, own)])


def _key(argument: str) -> str:
    return argument.partition("=")[0]


def _file_name(argument: str) -> str:
    """A filter as part of a file's name: `agnp+berkenkamp`, `g=t^0.25`."""
    key, _, value = argument.partition("=")
    return re.sub(r"[^\w.=^-]", "+", value if key in GROUPS else argument)


def _quoted(argument: str) -> str:
    """An argument as a shell wants it; `^` needs no quotes."""
    return argument if re.fullmatch(r"[\w.,=^+/-]+", argument) else shlex.quote(argument)
