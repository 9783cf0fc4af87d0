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
MANY_CORES, CORES_PER_RUN = 16, 4  # on many cores the paper gives each run four


def usable_cores() -> int:
    """Cores that this process may use, by its affinity and its control group's quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(cores, int(quota))) if quota else cores


def _cgroup_quota() -> float | None:
    """The quota in cores of control group v2 or v1, if there is one."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            limit = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").read_text()
            period = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").read_text()
        except OSError:
            return None
    return int(limit) / int(period) if limit.strip().lstrip("-").isdigit() and int(limit) > 0 else None


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
