"""How far the runs of a study are, from the files that they have left."""

import contextlib
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError
from lbbench.plan.rules import directory
from lbbench.plan.settings import Settings
from lbbench.plan.sweeps import Plan, plan
from lbbench.plan.words import read
from lbbench.progress import watched
from lbbench.records import failures, files, traces
from lbbench.records.journal import is_held, peek
from lbbench.records.run import Run, runs
from lbbench.report.naming import names
from lbbench.report.tables import Cell, Table
from lbbench.report.variants import shared_changes, typed, variant_of

OUT = {"out", "study.out"}
WORDS = ("done", "running", "failed", "missing")


@dataclass(frozen=True)
class Status:
    """One of `WORDS` for a run, with what there is to say about it."""

    run: Run
    word: str
    detail: str = ""


def status(run: Run) -> Status:
    """What the files of a run say."""
    try:
        heads, rows = peek(run.journal)
        step = f"step {rows[-1]['t']} of {run.settings['iterations']}" if rows else "about to begin"
        if heads and is_held(run.journal):
            return Status(run, "running", step)
        if run.path.exists():
            traces.read_runs(run.path)
            return Status(run, "done")
        if run.failure.exists():
            failure = failures.read(run.failure)
            word = "" if failure.status == "failed" else f"{failure.status}: "
            return Status(run, "failed", f"{word}{failure.reason}; {run.failure}")
        return Status(run, "missing", f"begun, {step}" if rows else "")
    except UsageError as error:
        return Status(run, "failed", str(error))


def asked_for(planned: Plan) -> list[Run]:
    """The runs of a command line; without settings those of all commands on `out`, and all that have left a file."""
    out = directory("out", planned.study["out"])
    if set(read(planned.arguments)) - OUT:
        return runs(planned)
    commands = _commands(out)
    looked = watched(commands, f"planning {len(commands):,} commands")
    found = {run.path: run for command in looked for run in _runs(command, out)}
    for run in _left(out):
        found.setdefault(run.path, run)
    return list(found.values())


def _commands(out: Path) -> list[list[str]]:
    """The arguments of the commands in `<out>/commands.log`, each once."""
    try:
        lines = (out / "commands.log").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    commands = []
    for line in dict.fromkeys(line.partition(" lbbench run ")[2] for line in lines):
        with contextlib.suppress(ValueError):  # of a line that is cut off within quotes
            commands.append(shlex.split(line))
    return [arguments for arguments in commands if arguments]


def _runs(arguments: Sequence[str], out: Path) -> list[Run]:
    """The runs of a command that was given earlier; none if it is a mistake by now."""
    try:
        own = [argument for argument in arguments if argument.partition("=")[0] not in OUT]
        return runs(plan([*own, f"out={out}"]))
    except UsageError:
        return []


def _left(out: Path) -> Iterator[Run]:
    """The runs that have left a trace, a journal or the record of a failure, whichever command they were for."""
    readers: list[tuple[str, str, Callable[[Path], list[dict[str, Any]]]]] = [
        ("traces", ".parquet", traces.read_runs),
        ("journal", ".jsonl", lambda path: peek(path)[0]),
        ("failures", ".json", lambda path: [failures.about(path)]),
    ]
    for folder, suffix, reader in readers:
        paths = files.below(out / folder, suffix)
        for path in watched(paths, f"reading {len(paths):,} {folder}"):
            with contextlib.suppress(UsageError):
                yield from (Run(Settings(about["settings"]), about["seed"], out) for about in reader(path)[:1])


def table(statuses: Sequence[Status]) -> Table:
    """A row per problem and setting of a method, with the number of runs of each status."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    settings = {status.run.settings.id: status.run.settings for status in statuses}
    called = names(settings.values())
    variants = {key: variant_of(own, (), called) for key, own in settings.items()}
    shared = shared_changes(list(variants.values()))
    for status in statuses:
        own = variants[status.run.settings.id]
        counts.setdefault((own.problem, own.label(shared)), Counter())[status.word] += 1
    rows: list[tuple[Cell, ...]] = [(*key, *(found[word] for word in WORDS)) for key, found in counts.items()]
    total = Counter(status.word for status in statuses)
    note = ", ".join(f"{total[word]} {word}" for word in WORDS if total[word])
    return Table(("problem", "method", *WORDS), rows, note=f"{note}; {typed(shared)}" if shared else note)


def details(statuses: Sequence[Status]) -> Iterator[str]:
    """What is known of the runs that are neither done nor untouched."""
    for status in statuses:
        if status.detail:
            yield f"{status.word}: {status.run.name}: {status.detail}"
