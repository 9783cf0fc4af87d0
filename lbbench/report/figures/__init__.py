"""The paper's figures, and three more, drawn from traces. Light to import: what draws loads later."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lbbench.report.collection import Collection
    from lbbench.report.figures.canvas import Sheet
    from lbbench.report.variants import Variant

# Each figure, and the command that makes the traces that it needs (none for figure 1).
SOURCES = {
    "1": "",
    "2": "lbbench run +experiment=figure2",
    "3": "lbbench run +experiment=figure3",
    "4": "lbbench ablate g=t^0.25,t^0.5,t^0.75",
    "time": "lbbench run +experiment=figure3",
    "candidates": "lbbench run method=lb",
    "cumulative": "lbbench run +experiment=figure3",
}
# The methods with something to show in a figure, where these are not all.
METHODS = {
    "2": ("lb", "lnb", "agpucb", "mle", "mcmc"),
    "4": ("lb", "lnb", "agpucb", "mle", "mcmc", "oracle"),
    "candidates": ("lb",),
}
WHOLE = ("2", "candidates")  # the figures of which runs that were thinned have nothing
GROWING = ("lb", "lnb", "agpucb")  # the methods that have a g to vary; the others have
OTHERWISE = "lbbench ablate kernel=matern52,rbf"
FORMATS = ("png", "pdf")
BANDS = {"se": "standard error", "sd": "standard deviation"}  # of figures 3 and cumulative


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
    *,
    problems: Sequence[str] = (),
    swept: Sequence[str] = (),
    suffix: str = "",
    band: str = "se",
) -> Iterator[Drawn]:
    """Draw the named figures (keys of `SOURCES`) one by one into `<out>/figures`, each in all `formats`.

    `problems` are those that figure 2 shows (else Michalewicz, or what is at hand), and `swept` the last names of the
    settings that figure 4 varies (else those that vary at hand). `suffix` ends the names of files made from traces, and
    `band` is one of `BANDS`. The same traces give the same bytes.
    """
    from matplotlib import style

    from lbbench.report.figures import ablation, candidates, canvas, lengthscales, regrets, times, toy

    families: dict[str, Callable[[], Sequence[Sheet]]] = {
        "1": toy.draw,
        "2": lambda: lengthscales.draw(collection, problems),
        "3": lambda: regrets.draw(collection, band),
        "4": lambda: ablation.draw(collection, swept),
        "time": lambda: times.draw(collection),
        "candidates": lambda: candidates.draw(collection),
        "cumulative": lambda: regrets.draw_cumulative(collection, band),
    }
    for name in names:
        files, variants = [], []
        with style.context(["default", canvas.STYLE]):  # whatever the user's matplotlibrc says
            for sheet in families[name]():
                files += canvas.save(sheet, out / "figures", formats, suffix if sheet.variants else "")
                variants += sheet.variants
        yield Drawn(name, files, variants)
