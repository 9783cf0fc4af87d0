"""Files that are whole or not there at all, in directories that go with the last file in them."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

TRIES = 1_000  # at a directory that other processes remove; what is in the way for so long will stay

T = TypeVar("T")


def within(directory: Path, make: Callable[[], T]) -> T:
    """What `make` makes in a directory, which is made before, and anew if another process removes it meanwhile.

    `make` may be called several times. Raises the `OSError` of what is in the way, such as a file of that name.
    """
    tries = TRIES
    while True:
        try:
            directory.mkdir(parents=True, exist_ok=True)  # which raises FileExistsError if it goes as it is looked at
            return make()
        except (FileExistsError, FileNotFoundError):
            tries -= 1
            if not tries:
                raise


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """An error of the system in here, where descriptors are used, says of which file it is."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes its place at `path` once it is whole and on disk.

    Its temporary name is always the same, so that one left behind by a process that was killed is replaced as well;
    two processes must not write to one path at once.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    opened = within(path.parent, lambda: temporary.open("wb"))
    try:
        with naming(path), opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync(path.parent)
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
    with contextlib.suppress(OSError):  # some file systems do not know how, and it may have gone with what is in it
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
