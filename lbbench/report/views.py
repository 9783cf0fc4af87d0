"""How each kind of study is shown. Light to import: what draws or computes is named, and loads later."""

from collections.abc import Mapping
from dataclasses import dataclass

from lbbench.plan import registry
from lbbench.plan.kinds import KINDS


@dataclass(frozen=True)
class Figure:
    """A figure: `draw`, as `module:name`, makes `figures.canvas.Sheet`s of a collection and `figures.Options`."""

    draw: str
    source: str = ""  # the command that makes the traces it needs; nothing if it needs none
    methods: tuple[str, ...] = ()  # those with something to show, where these are not all
    whole: bool = False  # runs that were thinned have nothing to show
    banded: bool = False  # heeds `band=`
    long: bool = False  # drawn of long runs alone, unless it is named


@dataclass(frozen=True)
class View:
    """Figures and tables by their names. `tabulate(collection, variants, names)` makes the tables that are named.

    `closing(collection, variants, varied)` makes the table that a study ends with.
    """

    figures: Mapping[str, Figure]
    tables: tuple[str, ...]
    tabulate: str
    closing: str


def view_of(kind: str) -> View:
    """The view of a kind of study."""
    view: View = registry.find(KINDS[kind].view)
    return view


def figures() -> dict[str, tuple[str, Figure]]:
    """Every figure by its name, with the kind of study that it shows."""
    return {name: (kind, figure) for kind in KINDS for name, figure in view_of(kind).figures.items()}


def tables() -> tuple[str, ...]:
    """The name of every table."""
    return tuple(dict.fromkeys(name for kind in KINDS for name in view_of(kind).tables))
