"""Files that are whole or not there at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes its place at `path` once it is whole and on disk.

    Its temporary name is always the same, so that one left behind by a process that was killed is replaced as well;
    two processes must not write to one path at once.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:  # a write that fails does not say where
        if error.errno is None or error.filename:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def below(top: Path, suffix: str) -> list[Path]:
    """All below a directory whose name ends so, sorted, while other processes may add and remove some."""
    found = os.walk(top)  # which, unlike a glob, passes over directories that go meanwhile
    paths = (Path(where, name) for where, folders, names in found for name in (*folders, *names))
    return sorted(path for path in paths if path.name.endswith(suffix))


def remove(path: Path, top: Path) -> None:
    """Remove a file, if it is there, and its directories below and including `top` as far as they are empty then."""
    path.unlink(missing_ok=True)
    for directory in path.parents:
        if not directory.is_relative_to(top):
            return
        try:
            directory.rmdir()
        except OSError:  # it is not empty, or another process has removed it
            return


def _sync(directory: Path) -> None:
    """Put a directory on disk, and with it the names in it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems do not know how
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
