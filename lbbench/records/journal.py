"""The journal of a run that is not finished: what has been evaluated so far, and the lock of the process that plays it.

It is a file of JSON lines beside the traces: a head with the settings and circumstances of each process that has played
the run, followed by the rows that it evaluated.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError
from lbbench.records import files

VERSION = 1
HEAD = "lbbench"  # the key that tells a head from a row
BEGINNING = f'{{"{HEAD}"'.encode()
SYNC_S = 0.1  # the work, in seconds, that may be lost with the machine; with the process none is

Entry = dict[str, Any]


class Busy(Exception):  # noqa: N818 (it is no error)
    """Another process plays the run."""


class Journal:
    """A run's journal, held by this process alone until it is closed.

    `heads` are those of earlier processes, each with the number of `evaluations` before it, and `rows` what they
    evaluated. A last line that was cut off when a process died is forgotten.
    """

    def __init__(self, path: Path, top: Path) -> None:
        """Take hold of the journal at `path`, which is made if there is none.

        `top` is the directory that goes with the last journal in it. Raises `Busy`, or `UsageError` if the file is no
        journal of this version, which is left as it is.
        """
        self.path, self.top = path, top
        with files.naming(path):
            self._descriptor = _lock(path)
            try:
                self.heads, self.rows, self._size = _parse(path, path.read_bytes())
                os.ftruncate(self._descriptor, self._size)
            except BaseException:
                os.close(self._descriptor)
                raise
        self._synced = time.monotonic()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *exception: object) -> None:
        """Let go of the run."""
        try:
            with files.naming(self.path):
                os.close(self._descriptor)
        except OSError:
            if self.path.exists():  # else all that was in it is in the trace
                raise

    def begin(self, head: Mapping[str, Any]) -> None:
        """Note that this process takes the run up."""
        self._write({HEAD: {"version": VERSION, "evaluations": len(self.rows), **head}})

    def append(self, row: Entry) -> None:
        """Note an evaluation."""
        self._write(row)
        self.rows.append(row)

    def remove(self) -> None:
        """Remove the file, once the trace is on disk."""
        files.remove(self.path, self.top)

    def _write(self, entry: Entry) -> None:
        line = json.dumps(entry).encode() + b"\n"
        with files.naming(self.path):
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._descriptor, line[written:])
            except OSError:
                with contextlib.suppress(OSError):  # else the line is forgotten as it is read
                    os.ftruncate(self._descriptor, self._size)
                raise
            self._size += len(line)
            if time.monotonic() - self._synced > SYNC_S:
                os.fsync(self._descriptor)
                self._synced = time.monotonic()


def is_held(path: Path) -> bool:
    """Whether a process is playing the run of this journal."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    with files.naming(path):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def peek(path: Path) -> tuple[list[Entry], list[Entry]]:
    """The heads and rows of a journal that any process may hold; none if there is no such file.

    Raises `UsageError` as `Journal` does.
    """
    try:
        with files.naming(path):
            content = path.read_bytes()
    except FileNotFoundError:
        return [], []
    heads, rows, _ = _parse(path, content)
    return heads, rows


def _lock(path: Path) -> int:
    while True:
        descriptor = files.within(path.parent, lambda: os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):  # whoever was done with it may have removed it
                if os.fstat(descriptor).st_ino == path.stat().st_ino:
                    return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise Busy from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _parse(path: Path, content: bytes) -> tuple[list[Entry], list[Entry], int]:
    """The heads, the rows, and the length in bytes of the lines that are whole."""
    heads: list[Entry] = []
    rows: list[Entry] = []
    size = 0
    for line, entry in _lines(content):
        if HEAD in entry:
            heads.append(entry[HEAD])
        elif heads:
            rows.append(entry)
        else:
            break
        size += len(line)
    torn = BEGINNING.startswith(content[: len(BEGINNING)].rstrip(b"\0"))  # the machine may have died as it was begun
    if not (heads or torn) or any(head.get("version") != VERSION for head in heads):
        raise UsageError(f"{path} is no journal that this version knows; move it away")
    return heads, rows, size


def _lines(content: bytes) -> Iterator[tuple[bytes, Entry]]:
    """The lines up to the first that is not whole, each with its entry."""
    for line in content.splitlines(keepends=True):
        try:
            entry = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            return
        if not isinstance(entry, dict):
            return
        yield line, entry
