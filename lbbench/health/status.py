"""How far the runs of a study are, from the files that they have left."""

import contextlib
import shlex
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lbbench.errors import UsageError
from lbbench.health import contents
from lbbench.plan.rules import directory
from lbbench.plan.settings import Settings
from lbbench.plan.sweeps import Plan, plan
from lbbench.plan.words import read
from lbbench.progress import watched
from lbbench.records import failures, files, traces
from lbbench.records.inspection import Key
from lbbench.records.journal import is_held, peek
from lbbench.records.run import Run, is_of_one_run, runs
from lbbench.report.collection import Collection
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


def statuses(planned: Plan) -> list[Status]:
    """How far the runs of a command line are; without settings those of all commands on `out`, and all with a file.

    A run is done if its trace is at hand, in a file of its own or exported to any other, thinned or not.
    """
    out = directory("out", planned.study["out"])
    paths = files.below(out / "traces", ".parquet")
    if chosen := set(read(planned.arguments)) - OUT:
        asked = runs(planned)
        own = {run.path.name for run in asked}
        paths = [path for path in paths if path.name in own or not is_of_one_run(path)]
    at_hand = {trace.key: trace for trace in Collection.of_files(paths).traces}
    if not chosen:
        commands = _commands(out)
        looked = watched(commands, f"planning {len(commands):,} commands")
        commanded = (run for command in looked for run in _runs(command, out))
        played = (Run(trace.settings, trace.seed, out) for trace in at_hand.values())
        found: dict[Key, Run] = {}
        for run in (*commanded, *played, *_begun(out)):
            found.setdefault(run.key, run)
        asked = list(found.values())
    return [status(run, at_hand) for run in watched(asked, f"looking at {len(asked):,} runs")]


def status(run: Run, at_hand: Container[Key] = ()) -> Status:
    """What the files of a run say, whose trace is not looked at if it is known to be `at_hand`."""
    try:
        heads, rows = peek(run.journal)
        step = f"step {rows[-1]['t']} of {run.settings['iterations']}" if rows else "about to begin"
        if heads and is_held(run.journal):
            return Status(run, "running", step)
        if run.key in at_hand:
            return Status(run, "done")
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
    except OSError as error:
        return Status(run, "failed", f"{error.filename} cannot be used: {error.strerror}")


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


def _begun(out: Path) -> Iterator[Run]:
    """The runs that have left a journal or the record of a failure, whichever command they were for."""
    for folder in ("journal", "failures"):
        for _, about in contents.found(out, folder):
            if not isinstance(about, str):
                yield from (Run(Settings(run["settings"]), run["seed"], out) for run in about)


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
