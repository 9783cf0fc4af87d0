"""What "On Kernelized Multi-armed Bandits" (Chowdhury and Gopalan 2017, §6) found, checked on traces, as Markdown."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lbbench.errors import UsageError
from lbbench.plan.words import command_line
from lbbench.progress import watched
from lbbench.records import thinning, traces
from lbbench.records.rows import RUN
from lbbench.report.collection import Collection
from lbbench.report.export import runs_of_preset
from lbbench.report.findings import document
from lbbench.report.findings.document import TIE, conclude, mean, provenance, verdict
from lbbench.report.stats import REGRETS, paired
from lbbench.report.style import label
from lbbench.report.tables import Cell, Table, markdown, plus_minus
from lbbench.report.variants import shared_changes, typed

UNTOLD = ("lb", "lnb")  # the methods that are not told the length scale
WIDTHS = ("igpucb", "gpucb", "gpts", "tight", *UNTOLD)  # those whose regret has a sub-linear bound
TOLD = ("tight", "igpucb", "gpts", "gpucb")  # what those are compared with


class Claim(NamedTuple):
    """That a method's cumulative regret is `allowed` to be "lower", "higher" or a "tie" beside that of others."""

    text: str
    ours: str
    others: tuple[str, ...]
    allowed: tuple[str, ...]


CLAIMS = (
    Claim("IGP-UCB improves on GP-UCB in every setting", "igpucb", ("gpucb",), ("lower",)),
    Claim("IGP-UCB is the best of the five (ties allowed)", "igpucb", ("gpucb", "gpts", "ei", "pi"), ("lower", "tie")),
    Claim(
        "GP-TS fares well beside GP-UCB, GP-EI and GP-PI (lower, or a tie)",
        "gpts",
        ("gpucb", "ei", "pi"),
        ("lower", "tie"),
    ),
    Claim("GP-EI and GP-PI perform alike", "ei", ("pi",), ("tie",)),
)


class Trials:
    """The last step T of each run, and as `early` step `since`: the first from T/10 on that thin=10 keeps."""

    def __init__(self, collection: Collection, command: str) -> None:
        self.command = command
        self.metadata = collection.metadata
        self.variants = collection.variants
        self.problems = list(dict.fromkeys(variant.settings.problem for variant in self.variants))
        self.methods = list(dict.fromkeys(variant.method for variant in self.variants))
        lengths = {variant.settings["iterations"] for variant in self.variants}
        if len(lengths) > 1 or len(self.variants) > len({(v.settings.problem, v.method) for v in self.variants}):
            raise UsageError("the findings are about one setting of each method on a problem, and one of iterations")
        (self.iterations,) = lengths
        self.since = next(int(t) for t in thinning.steps(self.iterations, 10) if t >= self.iterations / 10)
        keys = {trace.key for trace in collection.traces}
        early, last = [], []
        paths = dict.fromkeys(trace.path for trace in collection.traces)
        for path in watched(paths, f"reading {len(paths):,} traces"):
            rows = traces.read([path], [*RUN, "t", *REGRETS])
            rows = rows[rows["t"] >= self.since]
            runs = rows.groupby(RUN, sort=False)["t"]
            ours = [key in keys for key, _ in runs]
            early.append(rows.loc[runs.idxmin()[ours]])
            last.append(rows.loc[runs.idxmax()[ours]])
        self.early, self.last = pd.concat(early), pd.concat(last)

    def of(self, problem: str, method: str) -> pd.DataFrame:
        """The last steps of a method on a problem. Raises `UsageError` if it has none."""
        return _only(self.last, problem, method)

    def slope(self, problem: str, method: str) -> tuple[float, int]:
        """d ln R/d ln t of the mean cumulative regret R from the early step on, and how often it is 1 or more."""
        early, last = (_only(rows, problem, method).set_index("seed") for rows in (self.early, self.last))
        before, after = early["cumulative_regret"], last["cumulative_regret"]
        ratio = float(last["t"].iloc[0] / early["t"].iloc[0])
        if ratio == 1.0 or not before.mean() > 0.0:
            return math.nan, 0
        return math.log(after.mean() / before.mean()) / math.log(ratio), int(
            ((after > 0.0) & (after >= ratio * before)).sum()
        )


def _only(rows: pd.DataFrame, problem: str, method: str) -> pd.DataFrame:
    found: pd.DataFrame = rows[(rows["problem"] == problem) & (rows["method"] == method)]
    if found.empty:
        raise UsageError(f"the findings need method={method} problem={problem} as well")
    return found


def write(line: Sequence[str], file: Path) -> None:
    """Write the findings on the runs that `lbbench run` makes of a line; raises `UsageError` if one is missing.

    Where they are may be more runs, and thinned ones.
    """
    found = runs_of_preset(Collection.at(file.parent), line)
    words = [one for one in line if not one.startswith("out=")]  # which is where these are, perhaps exported
    document.write(report(Trials(found, command_line("lbbench", "run", *words))), file)


def report(trials: Trials) -> Iterator[str]:
    """The lines of the document."""
    yield "# Kernelised bandits: the paper's findings, checked"
    yield ""
    yield f"Made by `{trials.command}` from {len(trials.last)} runs"
    yield f"({provenance(trials.metadata)})."
    yield ""
    yield "f is a posterior mean of a GP (`rkhs…`) or a draw of one (`gp…`), with a squared exponential (`…rbf`) or a"
    yield "Matérn-5/2 kernel, on other arms in each trial. All methods but LB and LNB are told its length scale, and"
    yield f"all but LNB its norm B. Settings of all: {typed(shared_changes(trials.variants))}."
    yield ""
    yield f"T = {trials.iterations} steps. Means ± standard errors over trials. Differences are paired by trial (same"
    yield f"arms, f and noise); one within {TIE:g} standard errors of 0 counts as a tie."
    sections = [_regrets(trials), _slopes(trials)]
    sections += [_claim(trials, number, claim) for number, claim in enumerate(CLAIMS, start=1)]
    for section in (*sections, _untold(trials)):
        yield ""
        yield from section
    yield ""


def _regrets(trials: Trials) -> Iterator[str]:
    yield "## Regret at T"
    for column in ("cumulative_regret", "simple_regret"):
        rows = [
            [label(method), *(mean(trials.of(problem, method), column) for problem in trials.problems)]
            for method in trials.methods
        ]
        yield ""
        yield from markdown(Table([column.replace("_", " "), *trials.problems], rows))


def _slopes(trials: Trials) -> Iterator[str]:
    yield "## Regret is sub-linear: d ln R/d ln t < 1 for every method with a bound"
    yield ""
    yield f"The slope of the mean cumulative regret R from t = {trials.since} to T; in brackets the trials in which"
    yield "it is 1 or more."
    yield ""
    rows, failures = [], []
    for method in trials.methods:
        slopes = [trials.slope(problem, method) for problem in trials.problems]
        rows.append([label(method), *(f"{slope:.4f} ({count})" for slope, count in slopes)])
        failures += [
            f"{label(method)} on {problem}"
            for problem, (slope, _) in zip(trials.problems, slopes, strict=True)
            if method in WIDTHS and not slope < 1.0
        ]
    yield from markdown(Table(["slope", *trials.problems], rows))
    yield ""
    yield conclude(failures)


def _claim(trials: Trials, number: int, claim: Claim) -> Iterator[str]:
    """The table of a method's cumulative regret minus each other's, and whether the claim holds."""
    yield f"## {number}. {claim.text}"
    yield ""
    rows, failures = [], []
    for problem in trials.problems:
        row = [problem]
        for other in claim.others:
            difference, error, _ = paired(
                trials.of(problem, claim.ours), trials.of(problem, other), "cumulative_regret"
            )
            found = verdict(difference, error)
            row.append(f"{plus_minus(difference, error)} ({found})")
            if found not in claim.allowed:
                than = f"{found} than {label(other)}" if found != "tie" else f"a tie with {label(other)}"
                failures.append(f"{than} on {problem}")
        rows.append(row)
    yield from markdown(Table([f"{label(claim.ours)} minus", *map(label, claim.others)], rows))
    yield ""
    yield conclude(failures)


def _untold(trials: Trials) -> Iterator[str]:
    yield f"## {len(CLAIMS) + 1}. LB and LNB, which are not told the length scale"
    yield ""
    yield "Mean cumulative regret as a multiple of that of methods that are told it; trials that found the best arm:"
    yield ""
    rows: list[tuple[Cell, ...]] = []
    for method in UNTOLD:
        for problem in trials.problems:
            own = trials.of(problem, method)
            others = [float(trials.of(problem, other)["cumulative_regret"].mean()) for other in TOLD]
            ratios = [float(own["cumulative_regret"].mean()) / other for other in others]
            found = int((own["simple_regret"] == 0.0).sum())
            rows.append((label(method), problem, *ratios, f"{found} of {len(own)}"))
    yield from markdown(Table(["", "problem", *(f"× {label(other)}" for other in TOLD), "best arm"], rows))
