"""`lbbench plot`: which figures the traces at hand allow, and what to say about those and the others."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lbbench.errors import UsageError
from lbbench.plan.keys import GROUPS, last
from lbbench.plan.registry import OURS
from lbbench.plan.rules import directory
from lbbench.plan.words import command_line, word
from lbbench.report import views
from lbbench.report.figures import FORMATS, Options, draw, file_name
from lbbench.report.naming import PATH
from lbbench.report.optimising import GROWING
from lbbench.report.selection import PLANS, Selection

if TYPE_CHECKING:
    from lbbench.report.collection import Collection
    from lbbench.report.variants import Variant

OTHERWISE = "lbbench ablate kernel=matern52,rbf"  # what figure 4 shows of methods that have no g
PRESET = "+experiment"
EMPIRICAL = "empirical"  # the kernel under which no length scale is chosen
NAMED = 6  # variants that are named at most


def check_own(selection: Selection) -> None:
    """Raises `UsageError` if the values of the command's own keys do not go together."""
    selection.one("band")
    figures = views.figures()
    others = [name for name in selection.many("figure") if not figures[name][1].banded]
    if "band" in selection.own and others:
        heed = ", ".join(name for name, (_, figure) in figures.items() if figure.banded)
        raise UsageError(f"band= is not for figure={','.join(others)}; the figures that it is for: {heed}")


def plot(collection: "Collection", selection: Selection) -> Iterator[str]:
    """Draw what was selected, and yield a line for each file and for each figure that lacked traces.

    Raises `UsageError` if nothing could be drawn, or there are no traces and no figure is named that needs none.
    """
    directory("out", str(selection.out))
    if not collection and "figure" not in selection.own:
        raise UsageError(selection.nothing_found)
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
        suffix="".join(f"-{_suffix(text)}" for text in filters),
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
        changes = {key: word(key, value) for key, value in others[0].changed.items()}
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
    command = (shown.source if growing else OTHERWISE).split()
    if _own_alone(collection):
        command = _for_own(command, shown, collection.usual()[0])
    where = "" if collection else f" in {selection.out / 'traces'}"
    return f"figure {name} lacks traces{where}" + (f": {selection.source(*command)} makes them" if command else "")


def _own_alone(collection: "Collection") -> bool:
    """Whether all problems at hand are the user's own, on which no preset is."""
    problems = [variant.settings["problem"] for variant in collection.variants]
    return bool(problems) and all(own["name"] not in OURS["problem"] or PATH in own for own in problems)


def _for_own(command: Sequence[str], shown: views.Figure, variant: "Variant") -> list[str]:
    """A command on the problem of a variant, with all that is changed there but its method; nothing if it is wrong."""
    said = {_key(argument) for argument in command}
    methods = [f"method={','.join(shown.methods) or variant.method}"] if PRESET in said else []
    settings = variant.settings
    changes = [word(key, value) for key, value in variant.changed.items() if key not in {*settings["method"], *said}]
    words = [argument for argument in command if _key(argument) != PRESET]
    words += [*methods, word("problem", settings.problem), *changes]
    try:
        PLANS[words[1]](words[2:])
    except UsageError:  # the problem may not be here any more
        return []
    return [] if settings["gp"]["kernel"] == EMPIRICAL else words


def _key(argument: str) -> str:
    return argument.partition("=")[0]


def _suffix(argument: str) -> str:
    """A filter as part of a file's name: `agnp+berkenkamp`, `g=t^0.25`."""
    key, _, value = argument.partition("=")
    return file_name(value if key in GROUPS else argument)
