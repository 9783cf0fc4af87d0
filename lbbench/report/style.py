"""One look everywhere: each method's name, place, colour, line and marker, in tables, figures and the report."""

from typing import NamedTuple

LABELS = {
    "lb": "LB",
    "lnb": "LNB",
    "agpucb": "A-GP-UCB",
    "mle": "MLE",
    "mcmc": "MCMC",
    "oracle": "Oracle",
    "random": "Random",
    "igpucb": "IGP-UCB",
    "gpucb": "GP-UCB",
    "gpts": "GP-TS",
    "ei": "GP-EI",
    "pi": "GP-PI",
    "tight": "tight",
}
ORDER = tuple(LABELS)
BANDS = {"se": "standard error", "sd": "standard deviation"}  # what may lie around a mean, on either side


class Look(NamedTuple):
    """How a method is drawn: a colour `#rrggbb`, and matplotlib's names of a line style and a marker."""

    colour: str
    line: str
    marker: str


# The first colours are Okabe and Ito's, which the colour-blind tell apart; line and marker tell them apart in grey.
LOOKS = {
    "lb": Look("#0072B2", "-", "o"),
    "lnb": Look("#56B4E9", "--", "v"),
    "agpucb": Look("#D55E00", "--", "s"),
    "mle": Look("#009E73", "-.", "^"),
    "mcmc": Look("#CC79A7", ":", "D"),
    "oracle": Look("#000000", "-", "*"),
    "random": Look("#999999", ":", "x"),
    "igpucb": Look("#7B1E3B", "--", "p"),
    "gpucb": Look("#2E2585", "-.", "<"),
    "gpts": Look("#A69100", ":", ">"),
    "ei": Look("#00A6A6", "--", "d"),
    "pi": Look("#9B51E0", "-.", "+"),
    "tight": Look("#E3170A", "-", "H"),
}
SPARE = (Look("#E69F00", "-.", "P"), Look("#8B6F47", "--", "X"), Look("#5D3A9B", ":", "h"))  # of methods unknown here


def label(method: str) -> str:
    """The display name of a method; of `module:name` that is the name."""
    return LABELS.get(method, method.rpartition(":")[2])


def order(method: str) -> tuple[int, str]:
    """A sort key: the methods of `ORDER` in that order, then others alphabetically."""
    return (ORDER.index(method) if method in ORDER else len(ORDER), method)


def look(method: str) -> Look:
    """How a method is drawn: always the same, also for a method that is unknown here."""
    return LOOKS.get(method) or SPARE[sum(method.encode()) % len(SPARE)]


def colour(method: str) -> str:
    """The colour of a method, `#rrggbb`."""
    return look(method).colour
