"""Files are whole or not there, are found and made while other processes add and remove some, and name themselves."""

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
from chaos.terminal import call

from lbbench.plan.sweeps import plan
from lbbench.records import failures, files, journal, traces
from lbbench.records.failures import Failure
from lbbench.records.journal import Journal
from lbbench.records.run import runs
from lbbench.study import runner, worker
from lbbench.study.execution.slurm import Slurm
from lbbench.study.worker import Task


def test_files_are_found_sorted_while_directories_go(tmp_path, monkeypatch):
    for name in ("b/2.json", "a/x/1.json", "a/1.json", "a/1.jsonl", "c/1.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    scandir = os.scandir

    def scan(path):
        files.remove(tmp_path / "c" / "1.json", tmp_path / "c")
        return scandir(path)

    found = [tmp_path / name for name in ("a/1.json", "a/x/1.json", "b/2.json", "c/1.json")]
    assert files.below(tmp_path, ".json") == found
    monkeypatch.setattr(os, "scandir", scan)
    assert files.below(tmp_path, ".json") == found[:3]
    assert files.below(tmp_path / "nowhere", ".json") == []


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    file = tmp_path / "deep" / "a.txt"
    with files.replacing(file) as writing:
        writing.write(b"first")
    with pytest.raises(TypeError), files.replacing(file) as writing:
        writing.writelines([b"half of the sec", None])
    assert [(path.name, path.read_bytes()) for path in file.parent.iterdir()] == [("a.txt", b"first")]


@pytest.mark.parametrize(
    ("error", "told"),
    [(OSError(28, "No space left on device"), "a.txt"), (OSError("of its own"), "of its own")],
)
def test_an_error_of_the_disk_names_the_file(error, told, tmp_path):
    with pytest.raises(OSError, match=told), files.replacing(tmp_path / "a.txt"):
        raise error


def test_empty_directories_go_up_to_the_top(tmp_path):
    file = tmp_path / "top" / "a" / "b" / "1.json"
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "top" / "other").touch()
    files.remove(file, tmp_path / "top")
    assert list((tmp_path / "top").iterdir()) == [tmp_path / "top" / "other"]
    files.remove(tmp_path / "top" / "other", tmp_path / "top")
    assert list(tmp_path.iterdir()) == []


PLACED = {
    "journal/a/b": lambda out: Journal(out / "journal/a/b/1.jsonl", out / "journal").__exit__(),
    "failures/a/b": lambda out: failures.write(out / "failures/a/b/1.json", Failure("failed", "it broke"), {}),
    "traces": runner.prepare,
    "slurm": lambda out: Slurm(1, 60.0, 1, out, "local", "default", 1, 1, False),
}


@pytest.fixture(params=["as it is looked at", "before it is used"])
def pruning(request, monkeypatch):
    """What makes another process remove an empty directory, and all that are empty above it, at that moment, twice."""
    mkdir, is_dir = Path.mkdir, Path.is_dir

    def begin(directory, top):
        left = [None, None]

        def prune(path):
            if path == directory and left and is_dir(path):
                left.pop()
                files.remove(directory / "the last one", top)

        def looked_at(path):
            prune(path)
            return is_dir(path)

        def made(path, *arguments, **options):
            mkdir(path, *arguments, **options)
            prune(path)

        if request.param == "as it is looked at":  # which mkdir does if the directory was there
            mkdir(directory, parents=True)
            monkeypatch.setattr(Path, "is_dir", looked_at)
            left.pop()  # it is there but once
        else:
            monkeypatch.setattr(Path, "mkdir", made)
        return left

    return begin


@pytest.mark.parametrize("place", PLACED)
def test_a_directory_that_another_process_removes_is_made_again(place, pruning, tmp_path):
    left = pruning(tmp_path / place, tmp_path)
    PLACED[place](tmp_path)
    assert left == []
    assert any((tmp_path / place).iterdir()) or place == "traces"  # whose file is a temporary one


@pytest.mark.parametrize("what", ["file", "link"])
def test_what_is_in_the_way_of_a_directory_is_told_and_stays(what, tmp_path):
    there = tmp_path / "there"
    there.write_text("mine") if what == "file" else there.symlink_to(tmp_path / "nowhere" / "deeper")
    started = time.monotonic()
    for directory in (there, there / "deeper"):
        with pytest.raises((FileExistsError, NotADirectoryError), match="there"):
            files.within(directory, lambda: pytest.fail("there is no such directory"))
    assert time.monotonic() - started < 10
    assert list(tmp_path.iterdir()) == [there]


FAULTS = {
    "fsync": (os, errno.EIO), "ftruncate": (os, errno.EIO), "write": (os, errno.ENOSPC), "close": (os, errno.EDQUOT),
    "flock": (fcntl, errno.ENOLCK),
}  # fmt: skip


@contextlib.contextmanager
def broken(name, suffix, after=0):
    """A call of the system fails for files whose names end so, once it was called `after` times; gives what it says."""
    module, code = FAULTS[name]
    call, left = getattr(module, name), [None] * after

    def fail(descriptor, *arguments):
        if not os.readlink(f"/proc/self/fd/{descriptor}").endswith(suffix):
            return call(descriptor, *arguments)
        if left:
            left.pop()
            return call(descriptor, *arguments)
        if name == "close":
            call(descriptor)
        raise OSError(code, os.strerror(code))

    with mock.patch.object(module, name, fail):
        yield os.strerror(code)


LINE = ["method=random", "problem=berkenkamp", "iterations=2", "seeds=1"]
CASES = pytest.mark.parametrize(
    ("name", "suffix", "after"),
    [
        ("flock", ".jsonl", 0), ("ftruncate", ".jsonl", 0), ("write", ".jsonl", 0), ("write", ".jsonl", 4),
        ("fsync", ".jsonl", 0), ("fsync", ".jsonl", 3), ("fsync", ".parquet.tmp", 0),
    ],
)  # fmt: skip


@CASES
def test_an_error_of_the_system_names_the_file_and_loses_nothing(name, suffix, after, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "SYNC_S", 0.0)  # so that each line is put on disk
    sound, run = (runs(plan([*LINE, f"out={tmp_path / out}"]))[0] for out in ("sound", "out"))
    assert worker.attempt(Task(sound, {}), lambda: False, 1).status == "done"
    with broken(name, suffix, after) as told:
        code, printed, _ = call(["run", *LINE, f"out={run.out}"])
    file = run.path if suffix == ".parquet.tmp" else run.journal
    assert code == 1
    assert printed.count(f"failed: {run.name}: OSError: ") == 2
    assert f"{told}: '{file}'" in printed
    evaluated = len(journal.peek(run.journal)[1])
    assert evaluated == {"write": max(0, after - 1), "fsync": 5 if suffix != ".jsonl" else max(0, after)}.get(name, 0)
    assert call(["run", *LINE, f"out={run.out}"])[0] == 0
    played = [traces.read([one.path]).drop(columns=["suggest_s", "evaluate_s"]) for one in (run, sound)]
    pd.testing.assert_frame_equal(*played, check_exact=True)
    assert not [path for path in run.out.rglob("*") if path.is_file() and path.suffix not in (".parquet", ".log")]


@pytest.mark.parametrize(("stops", "status"), [(True, "failed"), (False, "done")])
def test_an_error_as_a_journal_is_closed_matters_while_it_is_there(stops, status, tmp_path):
    (run,) = runs(plan([*LINE, f"out={tmp_path}"]))
    with broken("close", ".jsonl" if stops else ".jsonl (deleted)") as told:
        outcome = worker.attempt(Task(run, {}), lambda: stops, 1)
    assert outcome.status == status
    assert outcome.failure is None or f"{told}: '{run.journal}'" in outcome.failure.error
    assert run.path.exists() != run.journal.exists() == stops


@pytest.mark.parametrize("name", ["flock", "close"])
def test_an_error_of_the_lock_of_an_experiment_names_its_directory(name, tmp_path):
    (tmp_path / "experiment.yaml").write_text("inputs: {x: [0, 1]}\n")
    with broken(name, tmp_path.name) as told:
        code, _, printed = call(["ask", str(tmp_path)])
    assert (code, printed) == (1, f"lbbench: {tmp_path} cannot be used: {told}\n")
    assert call(["ask", str(tmp_path)])[0] == 0


def test_an_error_of_a_lock_that_is_looked_at_names_the_journal(tmp_path):
    (run,) = runs(plan([*LINE, f"out={tmp_path}"]))
    with Journal(run.journal, tmp_path / "journal") as held:
        held.begin({})
    with broken("flock", ".jsonl") as told:
        code, printed, _ = call(["status", *LINE, f"out={tmp_path}"])
    assert code == 0
    assert f"failed: {run.name}: {run.journal} cannot be used: {told}" in printed
