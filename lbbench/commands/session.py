"""A study at the terminal: what is missing is run, with progress; then the closing table."""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lbbench.commands.printing import show
from lbbench.errors import UsageError
from lbbench.plan import registry
from lbbench.plan.keys import GROUPS, last
from lbbench.plan.sweeps import Plan
from lbbench.progress import watched
from lbbench.records import failures, traces
from lbbench.records.failures import Failure
from lbbench.records.run import Run, runs
from lbbench.report.collection import Collection
from lbbench.report.views import view_of
from lbbench.study.runner import execute, forget, prepare
from lbbench.study.worker import Outcome

INTERRUPTED = 130  # the exit code that a shell gives to Ctrl-C


class Session:
    """Runs a plan and tells how it goes; a live bar on a terminal, a line per run elsewhere."""

    def __init__(
        self,
        plan: Plan,
        console: Console | None = None,
        closing: str | None = None,
        player: str | None = None,
    ) -> None:
        self.plan = plan
        self.console = console or Console(highlight=False, soft_wrap=True)
        self.closing = closing
        self.player = player
        self.runs = runs(plan)

    def run(self) -> int:
        """Run what is missing and print the closing table.

        Returns the exit code: 1 if a run failed, `INTERRUPTED` if the user stopped it.
        """
        study = self.plan.study
        prepare(Path(study["out"]).expanduser(), self.plan.arguments)
        for clash in self._clashes():
            typer.echo(clash, err=True)
        done = [] if study["force"] else [run for run in self.runs if run.path.exists()]
        for run in done:
            forget(run)
        known = set(done)
        todo = [run for run in self.runs if run not in known]
        unreadable = _unreadable(done)
        if there := len(done) - len(unreadable):
            self._say(f"{there} of {len(self.runs)} runs are already there (force=true runs them again)")
        failed = {} if study["retry"] else _failed_before(todo)
        if failed:
            self._say(f"{len(failed)} of {len(self.runs)} runs failed before (retry=true tries them again)")
        failed |= unreadable
        todo = [run for run in todo if run not in failed]
        if todo:
            self._say(f"{_runs(len(todo))} to do", style="dim")
        started = time.perf_counter()
        outcomes = self._execute(todo) if todo else []
        failed |= {outcome.run: outcome.failure for outcome in outcomes if outcome.failure is not None}
        self._table([run for run in self.runs if run.path.exists() and run not in failed])
        left = sum(outcome.status == "interrupted" for outcome in outcomes)
        if outcomes:
            seconds = time.perf_counter() - started
            played = sum(outcome.status in ("done", "there") for outcome in outcomes)
            self._say(f"{_runs(played)} in {seconds:.0f} s; traces in {study['out']}/traces")
        for outcome in outcomes:
            if outcome.died and outcome.failure is None:
                self._say(f"{outcome.run.name}: {outcome.died}; played again, {outcome.status}", style="yellow")
        for run, failure in failed.items():
            self._say(f"{failure.status}: {run.name}: {failure.reason}", style="red")
            if run.failure.exists():
                self._say(f"  {run.failure}", style="dim")
        if left:
            self._say(f"{_runs(left)} {'is' if left == 1 else 'are'} left")
        return 1 if failed else INTERRUPTED if left else 0

    def _clashes(self) -> Iterator[str]:
        """What there is to say of names in the plan that an installed package registers as well."""
        for group in GROUPS:
            names = {getattr(combination, group) for combination in self.plan.combinations}
            yield from (clash for name, clash in registry.clashes(group).items() if name in names)

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
        with Progress(*columns, console=self.console, disable=not terminal, transient=True) as progress:
            task = progress.add_task("runs", total=len(todo), failed="")
            done = failed = 0

            def report(outcome: Outcome) -> None:
                nonlocal done, failed
                name = outcome.run.name
                if outcome.status == "busy":
                    self._say(f"waiting for {name}, which another process plays", style="dim")
                if outcome.status in ("busy", "interrupted"):
                    return
                done += 1
                if outcome.failure is not None:
                    failed += 1
                    progress.update(task, failed=f"{failed} failed")
                    self._say(f"{outcome.status}: {name}: {outcome.failure.reason}")
                elif not terminal:
                    self._say(f"[{done}/{len(todo)}] {name}: {_result(outcome)}")
                elif outcome.died:
                    self._say(f"{name}: {_result(outcome)}")
                progress.advance(task)

            return execute(todo, self.plan.study, report, self.player)

    def _table(self, there: list[Run]) -> None:
        """The closing table of the runs that are there."""
        if not there:
            return
        varied = {last(key): {run.settings.id: run.settings.get(key) for run in there} for key in self.plan.swept}
        self.console.print()
        collection = Collection.of_files(run.path for run in there)
        order = list(dict.fromkeys(run.settings.id for run in there))
        variants = sorted(collection.variants, key=lambda variant: order.index(variant.run_id))
        for kind in collection.kinds:
            own = [variant for variant in variants if variant.settings.kind == kind]
            closing = registry.find(self.closing or view_of(kind).closing)
            show(closing(collection, own, varied), self.console, titled=False)

    def _say(self, text: str, style: str | None = None) -> None:
        self.console.print(text, markup=False, style=style)


def _runs(count: int) -> str:
    return f"{count} run{'s' * (count != 1)}"


def _result(outcome: Outcome) -> str:
    """What there is to say of a run that did not fail."""
    again = f"{outcome.died}; played again, " if outcome.died else ""
    if outcome.status == "there":
        return f"{again}done by another process"
    since = "" if outcome.first is None else f", taken up at step {outcome.first}"
    return f"{again}{outcome.result or 'done'}, {outcome.seconds:.1f} s{since}"


def _failed_before(todo: Iterable[Run]) -> dict[Run, Failure]:
    """The runs that have a file of their failure."""
    return {run: failures.read(run.failure) for run in todo if run.failure.exists()}


def _unreadable(done: Sequence[Run]) -> dict[Run, Failure]:
    """The runs whose file is no trace, which is left as it is."""
    found = {}
    for run in watched(done, f"reading {len(done):,} traces"):
        try:
            traces.read_runs(run.path)
        except UsageError as error:
            found[run] = Failure("failed", f"{error}; move it away")
    return found


def ablate(plan: Plan) -> int:
    """Run what is missing, print the table and draw the figure into `<out>/figures`. Returns the exit code of `run`."""
    from lbbench.report import figures

    session = Session(plan, closing="lbbench.report.summaries:closing_ablation")
    code = session.run()
    collection = Collection.of_files(run.path for run in session.runs if run.path.exists())
    if collection:
        options = figures.Options(swept=[last(key) for key in plan.swept])
        (drawn,) = figures.draw(collection, ("4",), Path(plan.study["out"]).expanduser(), options=options)
        for file in drawn.files:
            session.console.print(f"wrote {file}", markup=False)
    return code
