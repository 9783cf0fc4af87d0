"""What a worker does with a run: plays it from where its journal ends, and writes its trace."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lbbench.errors import UsageError
from lbbench.plan.kinds import KINDS
from lbbench.records.failures import Failure
from lbbench.records.journal import Busy, Journal, peek
from lbbench.records.run import Run
from lbbench.records.signatures import conflict
from lbbench.study import machine


@dataclass(frozen=True)
class Task:
    """A run to play, and what its trace says of the circumstances beside its settings."""

    run: Run
    provenance: Mapping[str, Any]
    on_nan: str = "error"
    force: bool = False  # even if the trace is there
    player: str | None = None  # what yields the rows, as `module:name`, if not that of its kind
    died: str = ""  # as in `Outcome`


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    `status` is "done"; "there", if another process has done it; "busy", if one is at it; "interrupted"; or one of
    `Failure`, which then says why. `first` is the step at which a run was taken up that had been begun, and `died`
    how the process ended that played it before in this study, if it died.
    """

    run: Run
    status: str
    seconds: float = 0.0
    result: str = ""  # what it came to, in a few words
    failure: Failure | None = None
    first: int | None = None
    died: str = ""


def attempt(task: Task, stopped: Callable[[], bool], threads: int) -> Outcome:
    """Play a run from where its journal ends, and write its trace, unless another process is at it or has done so.

    Never raises: what ends the run is in the outcome.
    """
    started = time.perf_counter()
    try:
        with Journal(task.run.journal, task.run.out / "journal") as journal:
            if task.run.path.exists() and not task.force:
                journal.remove()
                return Outcome(task.run, "there")
            return _play(task, journal, stopped, threads, started)
    except Busy:
        return Outcome(task.run, "busy")
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # no signal: those are the parent's
        return Outcome(task.run, "failed", time.perf_counter() - started, failure=Failure.of(error))


def _play(task: Task, journal: Journal, stopped: Callable[[], bool], threads: int, started: float) -> Outcome:
    from lbbench.plan import build, registry
    from lbbench.records import traces
    from lbbench.records.rows import row_of

    run = task.run
    if run.path.exists():
        traces.read_runs(run.path)  # what is no trace stays where it is
    about = {**run.about, "signature": build.signature(run.settings), "threads": threads, **task.provenance}
    _compare(journal, about)
    past = list(journal.rows)
    journal.begin(about)
    kind = KINDS[run.settings.kind]
    for row in registry.find(task.player or kind.player)(run.settings, run.seed, past, task.on_nan):
        journal.append(row)
        if stopped() and row["t"] < run.settings["iterations"]:
            return Outcome(run, "interrupted", time.perf_counter() - started)
    seconds = time.perf_counter() - started
    own = row_of(run.settings.kind)
    before = sum(row[column] for row in past for column in own.seconds)
    circumstances = {"wall_s": before + seconds, "peak_memory_mb": machine.peak_memory_mb(), "on_nan": task.on_nan}
    if journal.heads:
        circumstances["earlier"] = [_circumstances(head) for head in journal.heads]
    if task.died:
        circumstances["died"] = task.died
    traces.write(run.path, journal.rows, {**about, **circumstances})
    journal.remove()
    first = past[-1]["t"] + 1 if past else None
    return Outcome(run, "done", seconds, own.result(journal.rows[-1]), first=first)


def _compare(journal: Journal, about: Mapping[str, Any]) -> None:
    """Raises `UsageError` if earlier processes played another objective."""
    for head in journal.heads:
        if conflict(head["signature"], about["signature"]):
            raise UsageError(f"the objective has changed since {journal.path} was begun; force=true starts anew")


def _circumstances(head: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in head.items() if key not in ("version", "settings", "seed", "signature")}


def ended(run: Run, status: str, error: str) -> Failure:
    """The failure of a run whose process could not say how far it got."""
    with contextlib.suppress(UsageError, OSError):
        _, rows = peek(run.journal)
        return Failure(status, error, t=rows[-1]["t"] + 1 if rows else None)
    return Failure(status, error)
