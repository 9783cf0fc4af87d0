"""Runs in processes on this machine: each plays one at a time, may die or be stopped, and harms no other."""

import contextlib
import math
import multiprocessing
import queue
import signal
import time
from collections.abc import Iterable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from lbbench.study import machine
from lbbench.study.worker import Outcome, Task, attempt, ended


class Crew:
    """Up to `size` workers of so many `threads` each. A run ends after `timeout` seconds at most."""

    def __init__(self, size: int, threads: int, timeout: float = math.inf) -> None:
        self.size, self.timeout = size, timeout
        self.stopping = False
        stop, self._stop = multiprocessing.Pipe(duplex=False)
        self._workers = [Worker(threads, stop) for _ in range(size)]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        """Send the workers home; after an error at once."""
        if kind is not None:
            self.kill()
        for worker in self._workers:
            worker.close()

    def play(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Play all tasks; yields what became of each as it ends. One whose worker has died has the status "crashed"."""
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=self.size, backend="threading", batch_size=1, return_as="generator_unordered")
        yield from parallel(delayed(self._play)(task) for task in tasks)

    def alone(self, task: Task) -> Outcome:
        """Play one task in a new process, with no other beside it."""
        for worker in self._workers:
            worker.close()
        return self._play(task)

    def stop(self) -> None:
        """Have every worker end its run after the step at hand, and begin no other."""
        self.stopping = True
        self._stop.close()  # which all workers see

    def kill(self) -> None:
        """Have no worker do anything any more."""
        self.stop()
        for worker in self._workers:
            worker.kill()

    def _play(self, task: Task) -> Outcome:
        worker = self._idle.get()
        try:
            outcome = Outcome(task.run, "interrupted") if self.stopping else worker.play(task, self.timeout)
        finally:
            self._idle.put(worker)
        return Outcome(task.run, "interrupted") if self.stopping and outcome.status == "crashed" else outcome


class Worker:
    """A process that plays runs one after the other, and is replaced when it has died.

    It ends the run at hand when the other end of the connection `stop` closes, as it does when this process dies.
    """

    def __init__(self, threads: int, stop: Connection) -> None:
        self.threads, self.stop = threads, stop
        self._process: BaseProcess | None = None

    def play(self, task: Task, timeout: float) -> Outcome:
        """Play a run; the clock starts when the process is ready."""
        with contextlib.suppress(EOFError, OSError):  # it has died
            process = self._ready()
            started = time.monotonic()
            self._connection.send(task)
            if wait([self._connection, process.sentinel], None if math.isinf(timeout) else timeout):
                outcome: Outcome = self._connection.recv()
                return outcome
            self.kill()
            self.close()
            error = f"took longer than timeout={timeout:g} s"
            return Outcome(task.run, "timeout", time.monotonic() - started, failure=ended(task.run, "timeout", error))
        return Outcome(task.run, "crashed", failure=ended(task.run, "crashed", f"its process died{self._cause()}"))

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Let the process go once it is idle."""
        if self._process is not None:
            self._connection.close()
            self._process.join()

    def _ready(self) -> BaseProcess:
        if self._process is not None and self._process.is_alive():
            return self._process
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, self.stop, self.threads))
        resource_tracker.ensure_running()  # which would unblock the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C reaches all; the parent decides
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._process = process
        self._connection.recv()
        return process

    def _cause(self) -> str:
        if self._process is None:
            return ""
        self._process.join()
        code = self._process.exitcode or 0
        return f" ({signal.Signals(-code).name})" if code < 0 else f" (exit code {code})"


def serve(connection: Connection, stop: Connection, threads: int) -> None:
    """What a worker's process does: plays the tasks that come through the connection until it closes."""
    with machine.limited_threads(threads), contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        from lbbench.records import traces  # noqa: F401 (so that no run pays for it)
        from lbbench.study import optimising  # noqa: F401

        connection.send("ready")
        while True:
            connection.send(attempt(connection.recv(), stop.poll, threads))
