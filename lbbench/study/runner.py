"""Many runs: which there are, in parallel, one trace each."""

import contextlib
import functools
import os
import shlex
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError, printable
from lbbench.records import failures, files
from lbbench.records.journal import Busy, Journal, is_held
from lbbench.records.run import Run
from lbbench.study import machine
from lbbench.study.execution import Executor, executor
from lbbench.study.worker import Outcome, Task

POLL_S = 0.2  # how often to look whether other processes are done


def prepare(out: Path, arguments: Iterable[str] = ()) -> None:
    """Make sure that files can be written below `out`, and note what was asked for in `<out>/commands.log`.

    Raises `UsageError` if they cannot.
    """
    line = f"{datetime.now().isoformat(timespec='seconds')} {shlex.join(['lbbench', 'run', *arguments])}\n"
    try:
        with files.within(out / "traces", lambda: tempfile.TemporaryFile(dir=out / "traces")):
            pass
        with (out / "commands.log").open("a", encoding="utf-8") as log:
            log.write(line)
    except OSError as error:
        raise UsageError(f"out={printable(str(out))} cannot be written to: {error.strerror}") from None


def execute(
    todo: Iterable[Run], study: Mapping[str, Any], report: Callable[[Outcome], None], player: str | None = None
) -> list[Outcome]:
    """Play all runs in parallel, where and as the settings in `study` say, and keep a file of each failure.

    `report` is called in this process as each run ends, and before that if another process is at it. The first SIGINT
    or SIGTERM, or with `fail_fast` the first failure, lets every run finish the step at hand; the second signal ends
    them there and then.
    """
    todo = list(todo)
    provenance = machine.provenance()
    task = functools.partial(Task, provenance=provenance, on_nan=study["on_nan"], force=study["force"], player=player)
    outcomes = []
    with executor(study, len(todo)) as crew, _stopped_by_signals(crew):
        if study["force"]:
            for run in todo:
                forget(run)
        for outcome in _play(crew, task, todo):
            if outcome.status != "busy":
                _record(outcome, provenance)
                outcomes.append(outcome)
            if outcome.failure is not None and study["fail_fast"]:
                crew.stop()
            report(outcome)
    return outcomes


def forget(run: Run) -> None:
    """Remove the journal of a run that is done, or shall begin anew, unless a process is at it."""
    if run.journal.exists():
        with contextlib.suppress(Busy), Journal(run.journal, run.out / "journal") as journal:
            journal.remove()


def _play(crew: Executor, task: Callable[..., Task], todo: Sequence[Run]) -> Iterator[Outcome]:
    """What becomes of each run, and of those that other processes are at, first that.

    A run whose process dies is played once more, alone, and that is `died` then. Those of other processes are waited
    for, and taken over if they die.
    """
    left, busy, died = list(todo), list[Run](), dict[Run, str]()
    while left or busy:
        suspects = []
        for outcome in crew.play(task(run, died=died.get(run, "")) for run in left):
            if outcome.status == "crashed" and outcome.failure is not None:
                died[outcome.run] = outcome.failure.reason
                suspects.append(outcome.run)
            else:
                yield replace(outcome, died=died.get(outcome.run, ""))
            if outcome.status == "busy":
                busy.append(outcome.run)
        for run in suspects:
            yield (outcome := replace(crew.alone(task(run, died=died[run])), died=died[run]))
            if outcome.status == "busy":
                busy.append(outcome.run)
        left = [run for run in busy if crew.stopping or not is_held(run.journal)]
        busy = [run for run in busy if run not in left]
        if busy and not left:
            time.sleep(POLL_S)


def _record(outcome: Outcome, provenance: Mapping[str, Any]) -> None:
    """Keep a failure, or forget an earlier one of a run that is done."""
    run = outcome.run
    if run.failure.exists():
        try:
            failures.read(run.failure)
        except UsageError:  # what is no record of ours stays
            return
    if outcome.failure is not None:
        with contextlib.suppress(OSError):  # on a full disk it can only be told
            failures.write(run.failure, outcome.failure, {**run.about, **provenance})
    elif outcome.status != "interrupted":
        files.remove(run.failure, run.out / "failures")


@contextlib.contextmanager
def _stopped_by_signals(crew: Executor) -> Iterator[None]:
    """The first signal stops the crew, the second kills it."""

    def stop(number: int, frame: object) -> None:
        if crew.stopping:
            crew.kill()
        else:
            crew.stop()
            os.write(2, b"lbbench: stopping after the steps at hand; again to stop at once\n")

    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
