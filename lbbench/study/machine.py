"""What a run may use of the machine, and what it ran on."""

import functools
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGES = ("lbbench", "numpy", "scipy", "torch", "botorch", "gpytorch", "pyro-ppl", "pandas", "pyarrow", "joblib",
            "hydra-core", "typer", "bocode")  # fmt: skip
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PROC, CONTROL_GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
MANY_CORES, CORES_PER_RUN = 16, 4  # on many cores the paper gives each run four


def usable_cores() -> int:
    """Cores that this process may use, by its affinity and its control group's quota."""
    quota = core_quota()
    return max(1, min(affine_cores(), int(quota))) if quota else affine_cores()


def affine_cores() -> int:
    """Cores that this process may be scheduled on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def core_quota() -> float | None:
    """The quota in cores of the control group, or of one above it that has less; None if there is none."""
    quotas = []
    for group in _control_groups("cpu"):
        words = _words(group / "cpu.max") or _words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us")
        if len(words) == 2 and words[0].isdigit():  # neither "max" nor -1
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def available_memory_gb() -> float | None:
    """Memory that can be had without swapping, by the system and by the control groups; None if they do not tell."""
    free = [_memory_left(group) for group in _control_groups("memory")]
    if (left := _entry(PROC / "meminfo", "MemAvailable:")) is not None:
        free.append(left * 1024)
    return min((left / 1e9 for left in free if left is not None), default=None)


def _memory_left(group: Path) -> int | None:
    """Bytes up to a control group's limit, if there is one; what it has read of files and not used lately is free."""
    limit = _words(group / "memory.max") or _words(group / "memory.limit_in_bytes")
    used = _words(group / "memory.current") or _words(group / "memory.usage_in_bytes")
    if not (limit and used and limit[0].isdigit()):
        return None
    names = ("inactive_file", "total_inactive_file")  # in version 2 and 1
    idle = max(_entry(group / "memory.stat", name) or 0 for name in names)
    return int(limit[0]) - int(used[0]) + idle


def _control_groups(controller: str) -> Iterator[Path]:
    """The directories of this process's control group, version 2 or 1, and of those above it, whose limits hold too."""
    for line in _words(PROC / "self/cgroup", "\n"):
        _, controllers, own = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        top = CONTROL_GROUPS / controller if controllers else CONTROL_GROUPS
        here = top / own.lstrip("/")
        yield from (group for group in (here, *here.parents) if group.is_relative_to(top))


def _words(file: Path, separator: str | None = None) -> list[str]:
    """What a file says; nothing if there is none."""
    try:
        return file.read_text().strip().split(separator)
    except OSError:
        return []


def _entry(file: Path, name: str) -> int | None:
    """The number behind a name in a file of lines."""
    words = _words(file)
    return int(words[words.index(name) + 1]) if name in words else None


def cores_per_run(setting: int | str) -> int:
    """Threads of one run; "auto" is 4 on a machine with 16 usable cores or more, else 1."""
    if isinstance(setting, int):
        return setting
    return CORES_PER_RUN if usable_cores() >= MANY_CORES else 1


def jobs(setting: int | str, cores: int) -> int:
    """Runs at a time; "auto" fills the usable cores with runs of `cores` threads."""
    return setting if isinstance(setting, int) else max(1, usable_cores() // cores)


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """BLAS, OpenMP and torch use that many threads inside the block, whether they are loaded before or within it."""
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        with threadpool_limits(threads):
            if "torch" in sys.modules:
                import torch

                torch.set_num_threads(threads)
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def thread_pools(threads: int) -> list[tuple[str, int]]:
    """Each thread pool of NumPy, SciPy and torch in this process, with its threads while they are limited."""
    with limited_threads(threads):
        import numpy  # noqa: F401
        import scipy.linalg  # noqa: F401
        import torch
        from threadpoolctl import threadpool_info

        found = [(pool["prefix"], pool["num_threads"]) for pool in threadpool_info()]
        return [*found, ("torch", torch.get_num_threads())]


@functools.cache
def cpu() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that affect results; missing ones are left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The git commit of the checkout that lbbench runs from, with "+" if it has changes; None when installed."""
    top = Path(__file__).resolve().parents[2]
    if not (top / ".git").exists():
        return None
    try:
        git = functools.partial(subprocess.run, cwd=top, capture_output=True, text=True, check=True, timeout=20)
        head = git(["git", "rev-parse", "HEAD"]).stdout.strip()
        changed = git(["git", "status", "--porcelain", "--untracked-files=no"]).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def peak_memory_mb() -> float:
    """The largest resident memory of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def provenance() -> dict[str, Any]:
    """What stays the same over a study: versions, commit, processor."""
    return {"versions": versions(), "commit": commit(), "cpu": cpu(), "platform": platform.platform()}
