"""What `lbbench worker-plan` tells: how long runs will take, by what the steps of others took."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from lbbench.plan.keys import last
from lbbench.plan.rules import directory
from lbbench.plan.settings import Settings
from lbbench.plan.sweeps import Plan
from lbbench.plan.words import command_line, word
from lbbench.progress import watched
from lbbench.records.journal import peek
from lbbench.records.rows import row_of
from lbbench.records.run import Run
from lbbench.report import style
from lbbench.report.collection import Collection
from lbbench.report.naming import names
from lbbench.report.tables import Cell, Table
from lbbench.report.variants import variant_of
from lbbench.study import machine
from lbbench.study.execution.remote import AT_ONCE


@dataclass(frozen=True)
class Measured:
    """The mean `seconds` of each step t of some runs, and how their settings differ from those that were asked for."""

    seconds: pd.Series
    runs: int
    changes: int

    def total(self, first: int, last: int) -> float:
        """The seconds of some steps; one later than all that were measured is taken for one of the last tenth."""
        late = self.seconds.tail(max(1, len(self.seconds) // 10)).mean()
        return float(self.seconds.reindex(range(first, last + 1)).bfill().fillna(late).sum())

    def source(self, iterations: int) -> str:
        """What was measured, for a run of so many steps."""
        steps = self.seconds.index.max()
        return (
            f"{self.runs} runs"
            + (" of other settings" if self.changes else "")
            + (f", up to step {steps}: at least" if steps < iterations else "")
        )


class Expected(NamedTuple):
    """How many `seconds` a run on a problem, as that is called, will take, and by what that is told."""

    problem: str
    method: str
    seconds: float
    source: str


def measured(collection: Collection, settings: Settings) -> Measured | None:
    """The runs of a problem and method at hand whose settings are nearest, steps aside; None if there are none."""
    changes = {
        variant.run_id: (variant.settings.objective != settings.objective, _changes(variant.settings, settings))
        for variant in collection.variants
        if variant.key[:2] == (settings.problem, settings.method)
    }
    if not changes:
        return None
    fewest = min(changes.values())  # on the same objective, if there are any
    nearest = [variant for variant in collection.variants if changes.get(variant.run_id) == fewest]
    columns = list(row_of(settings.kind).seconds)
    rows = collection.read(nearest, ["t", *columns], thinned=True)
    seconds = rows[columns].sum(axis=1).groupby(rows.t).mean()
    return Measured(seconds, len(collection.of(nearest)), sum(fewest))


def _changes(one: Settings, other: Settings) -> int:
    keys = (one.flat.keys() | other.flat.keys()) - {"iterations"}
    return sum(one.flat.get(key) != other.flat.get(key) for key in keys)


def at_hand(planned: Plan, asked: Sequence[Run]) -> Collection:
    """The runs at hand of the problems and methods that were asked for, in files of their own or exported."""
    wanted = {
        "problem": sorted({run.settings.problem for run in asked}),
        "method": sorted({run.settings.method for run in asked}),
    }
    return Collection.at(directory("out", planned.study["out"]), wanted)


def estimate(planned: Plan, todo: Sequence[Run], collection: Collection) -> tuple[Table, list[str]]:
    """The expected times of runs that are not there, a row per problem and method, and what cannot be told.

    They are measured on a collection. What earlier processes have evaluated of a run is taken off. The note has the
    total, in core-hours and hours.
    """
    called = names([*(trace.settings for trace in collection.everything), *(run.settings for run in todo)])
    cores = machine.cores_per_run(planned.study["cores_per_run"])
    asked = dict.fromkeys(run.settings for run in todo)
    looked = watched(asked, f"measuring {len(asked):,} settings")
    found = {settings: measured(collection, settings) for settings in looked}
    expected: list[Expected] = []
    unknown: dict[tuple[str, str], list[Settings]] = {}
    for run in watched(todo, f"adding up {len(todo):,} runs"):
        problem = called[run.settings.objective].text
        if (known := found[run.settings]) is None:
            unknown.setdefault((problem, run.settings.method), []).append(run.settings)
        else:
            iterations = run.settings["iterations"]
            seconds = known.total(_first(run), iterations)
            expected.append(Expected(problem, run.settings.method, seconds, known.source(iterations)))
    rows = list(_rows(expected, cores))
    times = [one.seconds for one in expected]
    note = f"total: {len(times)} runs, {sum(times) * cores / 3600:.3g} core-hours, {_wall(planned, times, cores)}"
    header = ("problem", "method", "runs", "s/run", "core-hours", "measured on")
    return Table(header, rows, note=note if rows else ""), [
        f"no times of {style.label(method)} on {problem} ({len(own)} runs); to measure some: "
        + _command(planned, own[0])
        for (problem, method), own in unknown.items()
    ]


def _first(run: Run) -> int:
    """The first step that is not in a run's journal."""
    _, rows = peek(run.journal)
    return int(rows[-1]["t"]) + 1 if rows else 1 - int(run.settings.get("problem.initial") or 0)


def _rows(expected: Sequence[Expected], cores: int) -> Iterator[tuple[Cell, ...]]:
    groups: dict[tuple[str, str], list[Expected]] = {}
    for one in expected:
        groups.setdefault((one.problem, one.method), []).append(one)
    for (problem, method), own in groups.items():
        total = sum(one.seconds for one in own)
        sources = "; ".join(dict.fromkeys(one.source for one in own))
        yield problem, style.label(method), len(own), total / len(own), total * cores / 3600, sources


def _wall(planned: Plan, seconds: Sequence[float], cores: int) -> str:
    """How long it takes to play runs in their order, and how many are played at a time."""
    here = planned.study["execution"]["name"] == "local"
    jobs = machine.jobs(planned.study["jobs"] if here or planned.study["jobs"] != "auto" else AT_ONCE, cores)
    ends = [0.0] * max(1, min(jobs, len(seconds)))
    for own in seconds:
        heapq.heapreplace(ends, ends[0] + own)
    minutes, rest = divmod(round(max(ends)), 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{text} with {len(ends)} at a time"


def _command(planned: Plan, settings: Settings) -> str:
    """What plays one run of some settings."""
    changes = [word(key, value) for key, value in variant_of(settings, ()).changed.items()]
    out = [argument for argument in planned.arguments if last(argument.partition("=")[0]) == "out"]
    names = [f"method={settings.method}", f"problem={settings.problem}"]
    return command_line("lbbench", "run", *names, *changes, "seeds=1", *out)
