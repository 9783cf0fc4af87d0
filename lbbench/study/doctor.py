"""What `lbbench doctor` checks."""

import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lbbench.study import machine
from lbbench.study.configs import config_dir, options

LOW_MEMORY_GB, LOW_DISK_GB = 1.0, 1.0


@dataclass(frozen=True)
class Check:
    """One thing looked at, what was found, and what to do about it if that is a problem."""

    name: str
    found: str
    advice: str = ""


def checks() -> Iterator[Check]:
    """Look at everything a study needs."""
    for package, version in machine.versions().items():
        yield Check(package, version)
    if importlib.util.find_spec("bocode") is None:
        yield Check("data", "bocode is missing", "for agnp and crossedbarrel: pip install 'bocode>=1.0.1'")
    yield Check("processor", machine.cpu())
    cores = machine.cores_per_run("auto")
    yield Check("cores", f"{machine.usable_cores()} usable: {machine.jobs('auto', cores)} jobs of {cores} thread(s)")
    available = _available_memory_gb()
    if available is not None:
        advice = "close other programs, or set jobs=1" if available < LOW_MEMORY_GB else ""
        yield Check("memory", f"{available:.1f} GB available", advice)
    free = shutil.disk_usage(".").free / 1e9
    yield Check("disk", f"{free:.1f} GB free here", "free some, or set out=" if free < LOW_DISK_GB else "")
    yield Check("configs", f"{config_dir()} ({len(options('method'))} methods, {len(options('problem'))} problems)")


def _available_memory_gb() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) / 1e6 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None
