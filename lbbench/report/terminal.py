"""A study at the terminal: what is missing is run, with progress; then the closing table."""

import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lbbench.report.stats import summary
from lbbench.report.tables import summary_table
from lbbench.study import traces
from lbbench.study.overrides import Plan
from lbbench.study.runner import Outcome, Run, execute, prepare, runs

UNCUT = 1_000  # columns; the table takes what it needs of them


class Session:
    """Runs a plan and tells how it goes; a live bar on a terminal, a line per run elsewhere."""

    def __init__(self, plan: Plan, console: Console | None = None) -> None:
        self.plan = plan
        self.console = console or Console(highlight=False, soft_wrap=True)

    def run(self) -> int:
        """Run what is missing and print the closing table. Returns the exit code: 1 if a run failed."""
        everything = runs(self.plan)
        prepare(Path(self.plan.study["out"]).expanduser())
        force = self.plan.study["force"]
        todo = [run for run in everything if force or not run.path.exists()]
        skipped = len(everything) - len(todo)
        if skipped:
            self.console.print(f"{skipped} of {len(everything)} runs are already there (force=true runs them again)")
        if todo:
            self.console.print(f"{len(todo)} runs to do", style="dim")
        started = time.perf_counter()
        failures = self._execute(todo) if todo else []
        self._close(everything, failures, len(todo), time.perf_counter() - started)
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

    def _close(self, everything: list[Run], failures: list[Outcome], attempted: int, seconds: float) -> None:
        failed = {outcome.run.path for outcome in failures}
        there = {run.path: run.settings for run in everything if run.path not in failed or run.path.exists()}
        if there:
            columns = ["problem", "method", "growth", "run_id", "seed", "t", "simple_regret", "cumulative_regret"]
            frame = traces.read(there, [*columns, "suggest_s", "evaluate_s"])
            varied = {
                key.rpartition(".")[2]: {settings.id: settings.get(key) for settings in there.values()}
                for key in self.plan.swept
            }
            table = summary_table(summary(frame), varied)
            self.console.print()
            uncut = Console(file=self.console.file, highlight=False, width=UNCUT)  # a wrapped line loses nothing
            uncut.print(table)
            self.console.print("\nfinal regret, mean ± standard error over seeds", style="dim")
        out = self.plan.study["out"]
        if attempted:
            self.console.print(
                f"{attempted - len(failures)} runs in {seconds:.0f} s; traces in {out}/traces", markup=False
            )
        for outcome in failures:
            self.console.print(f"failed: {outcome.run.name}: {outcome.error}", markup=False, style="red")
