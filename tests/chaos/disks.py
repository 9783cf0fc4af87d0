"""Disks that are full: a limit to the size of any file, and a small file system."""

import errno
import os
import resource
import subprocess
from contextlib import contextmanager

from chaos.studies import LINE, assert_whole, complete, end, start
from lbbench.plan.sweeps import plan
from lbbench.records.run import runs


def limit_file_size(size):
    """What a child process calls: a write past so many bytes of a file fails."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def full(out, undisturbed, code, count, **options):
    """A study whose disk is full, told with path and reason; `complete` without it."""
    count("faults", 1)
    printed = end(start(out, **options), 1)
    told = [line for line in printed.splitlines() if line.startswith("failed: ")]
    assert told
    for line in told:
        assert os.strerror(code) in line
        assert f"{out}/" in line
    for run in runs(plan([*LINE, f"out={out}"])):
        assert run.path.exists() != any(line.startswith(f"failed: {run.name}: ") for line in told), printed
    assert not list(out.rglob(".*"))
    assert all(path.read_bytes()[-1:] in (b"", b"\n") for path in out.rglob("*.jsonl"))  # nothing is torn


def full_and_then_not(out, undisturbed, size, count):
    """Files may have no more than `size` bytes; then they may, and nothing is lost."""
    full(out, undisturbed, errno.EFBIG, count, preexec_fn=limit_file_size(size))
    complete(out)
    assert_whole(out, undisturbed, count)


@contextmanager
def small(directory, kib):
    """A file system of so many KiB; raises `OSError` where none may be mounted."""
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", directory], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        raise OSError(mounted.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", directory], check=True)


def grow(directory, kib):
    """Give a file system that is mounted there so many KiB."""
    subprocess.run(["mount", "-o", f"remount,size={kib}k", directory], check=True)
