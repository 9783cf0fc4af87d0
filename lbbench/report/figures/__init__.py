"""Figures, drawn from traces. Light to import: what draws loads later."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lbbench.plan import registry
from lbbench.progress import watched
from lbbench.report import views

if TYPE_CHECKING:
    from lbbench.report.collection import Collection
    from lbbench.report.figures.canvas import Sheet
    from lbbench.report.variants import Variant

FORMATS = ("png", "pdf")


@dataclass(frozen=True)
class Options:
    """What was asked of figures, of which each heeds what is about it."""

    problems: Sequence[str] = ()  # those that figure 2 shows; else Michalewicz, or what is at hand
    swept: Sequence[str] = ()  # the last names of the settings that figure 4 varies; else those that vary at hand
    band: str = "se"  # the bands of curves, one of `style.BANDS`


AS_USUAL = Options()


def file_name(text: str) -> str:
    """A text as part of a file's name: `agnp+berkenkamp`, `g=t^0.25`."""
    return re.sub(r"[^\w.=^-]", "+", text)


class Drawn(NamedTuple):
    """What became of a figure: the files written, none if it lacked traces, and the variants in it."""

    name: str
    files: list[Path]
    variants: "list[Variant]"


def draw(
    collection: "Collection",
    names: Sequence[str],
    out: Path,
    formats: Sequence[str] = FORMATS,
    options: Options = AS_USUAL,
    suffix: str = "",
) -> Iterator[Drawn]:
    """Draw the named figures (of `views.figures`) one by one into `<out>/figures`, each in all `formats`.

    `suffix` ends the names of files made from traces. The same traces give the same bytes.
    """
    from matplotlib import style

    from lbbench.report.figures import canvas

    for name in watched(names, f"drawing {len(names):,} figures"):
        kind, figure = views.figures()[name]
        files, variants = list[Path](), list["Variant"]()
        with style.context(["default", canvas.STYLE]):  # whatever the user's matplotlibrc says
            sheets: Sequence[Sheet] = registry.find(figure.draw)(collection.of_kind(kind), options)
            for sheet in sheets:
                files += canvas.save(sheet, out / "figures", formats, suffix if sheet.variants else "")
                variants += sheet.variants
        yield Drawn(name, files, variants)
