"""A study at the terminal: what is missing is run, with progress; then the closing table."""

import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lbbench.report.summaries import COLUMNS, Varied, summary
from lbbench.report.tables import Table, grid
from lbbench.study import traces
from lbbench.study.overrides import Plan, last
from lbbench.study.runner import Outcome, Run, execute, prepare, runs

UNCUT = 1_000  # columns; the table takes what it needs of them


def show(table: Table, console: Console | None = None, titled: bool = True) -> None:
    """Print a table, whole however narrow the terminal."""
    console = console or Console(highlight=False, soft_wrap=True)
    if titled:
        console.print(f"\n{table.title}\n", style="bold", markup=False)
    if table.rows:
        uncut = Console(file=console.file, highlight=False, markup=False, width=UNCUT)  # a wrapped line loses nothing
        uncut.print(grid(table))
        console.print()
    console.print(table.note, style="dim", markup=False)


class Session:
    """Runs a plan and tells how it goes; a live bar on a terminal, a line per run elsewhere."""

    def __init__(
        self,
        plan: Plan,
        console: Console | None = None,
        closing: Callable[[pd.DataFrame, Varied], Table] = summary,
    ) -> None:
        self.plan = plan
        self.console = console or Console(highlight=False, soft_wrap=True)
        self.closing = closing
        self.runs = runs(plan)

    def run(self) -> int:
        """Run what is missing and print the closing table. Returns the exit code: 1 if a run failed."""
        prepare(Path(self.plan.study["out"]).expanduser())
        force = self.plan.study["force"]
        todo = [run for run in self.runs if force or not run.path.exists()]
        skipped = len(self.runs) - len(todo)
        if skipped:
            self.console.print(f"{skipped} of {len(self.runs)} runs are already there (force=true runs them again)")
        if todo:
            self.console.print(f"{len(todo)} runs to do", style="dim")
        started = time.perf_counter()
        failures = self._execute(todo) if todo else []
        self._close(failures, len(todo), time.perf_counter() - started)
        return 1 if failures else 0

    def _execute(self, todo: list[Run]) -> list[Outcome]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("[red]{task.fields[failed]}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
        )
        terminal = self.console.is_terminal
        failures: list[Outcome] = []
        with Progress(*columns, console=self.console, disable=not terminal, transient=True) as progress:
            task = progress.add_task("runs", total=len(todo), failed="")
            done = 0

            def report(outcome: Outcome) -> None:
                nonlocal done
                done += 1
                if outcome.error is not None:
                    failures.append(outcome)
                    progress.update(task, failed=f"{len(failures)} failed")
                    self.console.print(f"failed: {outcome.run.name}: {outcome.error}", markup=False)
                elif not terminal:
                    result = f"simple regret {outcome.simple_regret:.4g}, {outcome.seconds:.1f} s"
                    self.console.print(f"[{done}/{len(todo)}] {outcome.run.name}: {result}", markup=False)
                progress.advance(task)

            execute(todo, self.plan.study, report)
        return failures

    def _close(self, failures: list[Outcome], attempted: int, seconds: float) -> None:
        failed = {outcome.run.path for outcome in failures}
        there = {run.path: run.settings for run in self.runs if run.path not in failed or run.path.exists()}
        if there:
            frame = traces.read(there, COLUMNS)
            varied = {
                last(key): {settings.id: settings.get(key) for settings in there.values()} for key in self.plan.swept
            }
            self.console.print()
            show(self.closing(frame, varied), self.console, titled=False)
        out = self.plan.study["out"]
        if attempted:
            self.console.print(
                f"{attempted - len(failures)} runs in {seconds:.0f} s; traces in {out}/traces", markup=False
            )
        for outcome in failures:
            self.console.print(f"failed: {outcome.run.name}: {outcome.error}", markup=False, style="red")
