"""What lies in an output directory: the files that runs have left there, and others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError
from lbbench.progress import watched
from lbbench.records import failures, files, traces
from lbbench.records.inspection import key_of
from lbbench.records.journal import peek

Runs = Sequence[Mapping[str, Any]]  # the settings and seed of each, among other things

OTHERS = {"commands.log", "figures", "findings.md", "report.html", "settings.csv", "slurm"}  # that lbbench writes


def _journal(path: Path) -> Runs:
    """The run of a journal; none if that is about to begin."""
    heads, _ = peek(path)
    try:
        for head in heads:
            key_of(head)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise UsageError(f"{path} is a journal without settings") from None
    return heads[:1]


FOLDERS: dict[str, tuple[str, Callable[[Path], Runs]]] = {
    "traces": (".parquet", traces.read_runs),
    "journal": (".jsonl", _journal),
    "failures": (".json", lambda path: [failures.about(path)]),
}


def found(out: Path, folder: str) -> Iterator[tuple[Path, Runs | str]]:
    """Each file in one of the `FOLDERS` of an output directory, with the runs that it is of, or what is wrong with it.

    A directory there counts as a file if its name ends like one.
    """
    suffix, read = FOLDERS[folder]
    paths = files.below(out / folder, "")
    for path in watched(paths, f"reading {len(paths):,} {folder}"):
        if path.suffix == suffix:
            try:
                yield path, read(path)
            except UsageError as error:
                yield path, str(error)
            except OSError as error:
                yield path, f"{path} cannot be read: {error.strerror}"
        elif not path.is_dir():
            left = path.name.startswith(".") and path.name.endswith(".tmp")
            what = "was left by a process that was killed, or is being written" if left else "is none of lbbench's"
            yield path, f"{path} {what}"


def exports(out: Path) -> list[Path]:
    """The directories in an output directory that have traces of their own, such as an export."""
    return sorted(path for path in out.glob("*") if (path / "traces").is_dir())


def foreign(out: Path) -> list[Path]:
    """What else is in an output directory that is none of lbbench's, or was left by a process that was killed."""
    ours = {*OTHERS, *FOLDERS, *(path.name for path in exports(out))}
    return sorted(path for path in out.glob("*") if path.name not in ours)
