"""Runs on other machines: what a worker there does, and what is the same for all clusters here."""

import contextlib
import functools
import os
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError
from lbbench.records import files, traces
from lbbench.records.failures import Failure
from lbbench.records.journal import Busy, Journal
from lbbench.records.run import Run
from lbbench.study import machine
from lbbench.study.worker import Outcome, Task, attempt, ended

POLL_S = 0.2  # how often to look for runs that have ended
ASK_S = 1.0  # how often a worker asks whether to stop
AT_ONCE = 900  # runs with the cluster, unless `jobs` is a number; here each may hold a file open, a job array has 1000

provenance = functools.cache(machine.provenance)
one_run = threading.Lock()  # in a process, whose number of threads is that of its run


@dataclass(frozen=True)
class Order:
    """A run for a worker; `journal` is the content of the caller's if the two share no storage."""

    task: Task
    threads: int
    timeout: float
    journal: bytes | None = None


@dataclass(frozen=True)
class Answer:
    """What became of the run, and the content of its files if worker and caller share no storage."""

    outcome: Outcome
    journal: bytes = b""
    trace: bytes = b""


def play(order: Order, stopped: Callable[[], bool]) -> Answer:
    """What a worker does: plays a run where its output belongs, or in a temporary directory if an order says so.

    `stopped` is asked after each step, but at most each `ASK_S`.
    """
    with one_run, machine.limited_threads(order.threads):
        from lbbench.study import optimising  # noqa: F401 (so that no run pays for it)

        task = replace(order.task, provenance=provenance())
        if order.journal is None:
            return Answer(_attempt(order, task, stopped))
        with tempfile.TemporaryDirectory(prefix="lbbench-") as out:
            run = replace(task.run, out=Path(out))
            run.journal.parent.mkdir(parents=True)
            run.journal.write_bytes(order.journal)
            outcome = _attempt(order, replace(task, run=run), stopped)
            return Answer(outcome, *(path.read_bytes() if path.exists() else b"" for path in (run.journal, run.path)))


def _attempt(order: Order, task: Task, stopped: Callable[[], bool]) -> Outcome:
    """Play a run, which ends after the step at hand once it has taken too long."""
    started = asked = time.monotonic()
    if stopped():
        return Outcome(task.run, "interrupted")

    def late() -> bool:
        return time.monotonic() - started > order.timeout

    def enough() -> bool:
        nonlocal asked
        if not late() and time.monotonic() - asked < ASK_S:
            return False
        asked = time.monotonic()
        return late() or stopped()

    outcome = attempt(task, enough, order.threads)
    if outcome.status == "interrupted" and late():
        failure = ended(task.run, "timeout", f"took longer than timeout={order.timeout:g} s")
        return replace(outcome, status="timeout", failure=failure)
    return outcome


@dataclass(frozen=True)
class Flight:
    """A run that is with a worker. Its `journal` is held here if the worker does not share it."""

    task: Task
    journal: Journal | None = None

    def order(self, threads: int, timeout: float) -> Order:
        """What the worker is told, whose current directory is another."""
        run = replace(self.task.run, out=self.task.run.out.absolute())
        content = None if self.journal is None else self.journal.path.read_bytes()
        return Order(replace(self.task, run=run), threads, timeout, content)

    def land(self, result: Callable[[], Answer]) -> Outcome:
        """What became of the run, once what it has sent is on disk."""
        run = self.task.run
        try:
            answer = result()
        except Exception as error:
            reason = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:2]])
            failure = ended(run, "crashed", f"its worker was lost ({reason})")
            return Outcome(run, "crashed", failure=replace(failure, traceback=str(error)))
        try:
            if self.journal is not None:
                _keep(run, self.journal, answer)
        except (UsageError, OSError) as error:
            return Outcome(run, "failed", failure=Failure.of(error))
        return replace(answer.outcome, run=run)

    def close(self) -> None:
        """Let go of the run."""
        if self.journal is not None:
            self.journal.__exit__()


def _keep(run: Run, journal: Journal, answer: Answer) -> None:
    """Write what a worker has sent. Raises `UsageError` for a file in the way that is no trace, which stays."""
    if answer.trace:
        if run.path.exists():
            traces.read_runs(run.path)
        with files.replacing(run.path) as file:
            file.write(answer.trace)
        journal.remove()
    else:
        with files.naming(journal.path), journal.path.open("ab") as lines:
            lines.write(answer.journal[lines.tell() :])
            os.fsync(lines.fileno())


class Remote(ABC):
    """Plays runs on a cluster, so many `at_once`; with `collect` the workers do not share the output directory."""

    def __init__(self, threads: int, timeout: float, at_once: int, collect: bool) -> None:
        self.threads, self.timeout, self.at_once, self.collect = threads, timeout, at_once, collect
        self.stopping = self._killed = False
        self._flights: dict[Any, Flight] = {}  # with the cluster, by what it gave for them

    @abstractmethod
    def _submit(self, orders: Sequence[Order]) -> Sequence[Any]:
        """Send runs to the cluster; what it gives for each has the methods `done` and `result`."""

    @abstractmethod
    def _halt(self, futures: Sequence[Any]) -> Sequence[Any]:
        """Have runs end after the step at hand, and cancel those that have not begun, which it returns."""

    @abstractmethod
    def _cancel(self, futures: Sequence[Any]) -> None:
        """Have runs end now, as far as they can be."""

    def __enter__(self) -> "Remote":
        return self

    def __exit__(self, *exception: object) -> None:
        """Cancel the runs that an error has left."""
        self._cancel(list(self._flights))
        for flight in self._flights.values():
            flight.close()

    def play(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Play all tasks; yields what became of each as it ends. One whose worker was lost has the status "crashed"."""
        left, flights, halted = deque(tasks), self._flights, False
        while left or flights:
            ready = list[Flight]()
            while left and (self.stopping or len(flights) + len(ready) < self.at_once):
                prepared = self._prepare(left.popleft())
                if isinstance(prepared, Flight):
                    ready.append(prepared)
                else:
                    yield prepared
            if ready:
                orders = [flight.order(self.threads, self.timeout) for flight in ready]
                flights.update(zip(self._submit(orders), ready, strict=True))
            gone = set[Any]()
            if self._killed:
                gone = set(flights)
                self._cancel(list(flights))
            elif self.stopping and not halted:
                halted, gone = True, set(self._halt(list(flights)))
            for future in [future for future in flights if future in gone or future.done()]:
                with contextlib.closing(flights.pop(future)) as flight:
                    outcome = Outcome(flight.task.run, "crashed") if future in gone else flight.land(future.result)
                lost = self.stopping and outcome.status == "crashed"
                yield Outcome(flight.task.run, "interrupted") if lost else outcome
            if flights:
                time.sleep(POLL_S)

    def alone(self, task: Task) -> Outcome:
        """Play one task, with no other of this study beside it."""
        (outcome,) = self.play([task])
        return outcome

    def stop(self) -> None:
        """Have every run end after the step at hand, and begin no other."""
        self.stopping = True

    def kill(self) -> None:
        """Cancel all runs."""
        self.stopping = self._killed = True

    def _prepare(self, task: Task) -> Flight | Outcome:
        """A run that is to be played, or what became of it if it is not."""
        run = task.run
        if self.stopping:
            return Outcome(run, "interrupted")
        if not self.collect:
            return Flight(task)
        try:
            journal = Journal(run.journal, run.out / "journal")
        except Busy:
            return Outcome(run, "busy")
        except (UsageError, OSError) as error:
            return Outcome(run, "failed", failure=Failure.of(error))
        if task.force or not run.path.exists():
            return Flight(task, journal)
        with journal:
            journal.remove()
        return Outcome(run, "there")
