"""What the terminal shows while one waits: nothing at first, then bars; elsewhere a line. All of it on stderr."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lbbench import progress

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 2.0  # seconds of a command in which nothing is shown
SHORT = 0.25  # share of them that work must take to be shown later on
VARIABLE = "LBBENCH_PROGRESS"  # of the environment; where it is "off", nothing is shown at all


@contextmanager
def waiting(patience: float = PATIENCE) -> Iterator[None]:
    """Whatever is watched within, and takes longer than so many seconds, is shown."""
    if os.environ.get(VARIABLE) == "off":
        yield
        return
    display = Waiting(patience)
    with progress.shown(display):
        try:
            yield
        finally:  # also of work that an error has left
            display.end()


class Waiting:
    """A `progress.Display`: a bar on a terminal for each work, also within another; else a line for the outermost."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.started = time.monotonic()
        self.bars: Progress | None = None
        self.timer: threading.Timer | None = None
        self.lock = threading.Lock()  # the timer is a thread of its own

    @contextmanager
    def __call__(self, what: str, total: int) -> Iterator[progress.Advance]:
        outermost = self.bars is None
        bars = self._begin(what) if self.bars is None else self.bars
        task = bars.add_task(what, total=total)
        try:
            yield lambda: bars.advance(task)
        finally:
            bars.remove_task(task)
            if outermost:
                self.end()

    def _begin(self, what: str) -> "Progress":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        console = Console(stderr=True, soft_wrap=True, highlight=False)
        self.bars = Progress(
            *columns,
            console=console,
            transient=True,
            disable=not console.is_terminal,
            redirect_stdout=sys.stdout.isatty(),  # what the terminal shows of it belongs above the bars
        )
        rest = max(SHORT * self.patience, self.patience - (time.monotonic() - self.started))
        self.timer = threading.Timer(rest, self._show, (self.bars, what))
        self.timer.daemon = True
        self.timer.start()
        return self.bars

    def _show(self, bars: "Progress", what: str) -> None:
        with self.lock:
            if bars is not self.bars:  # it has ended just now
                return
            if bars.disable:
                print(f"{what} …", file=sys.stderr, flush=True)
                self.started = time.monotonic()  # the next line has as long to wait
            else:
                bars.start()

    def end(self) -> None:
        """Take away what is shown."""
        with self.lock:
            bars, self.bars = self.bars, None
            if self.timer is not None:
                self.timer.cancel()
            if bars is not None:
                bars.stop()
