"""What documents of findings share: how they are judged, and how they are written."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lbbench.records import files
from lbbench.report.stats import standard_error
from lbbench.report.tables import plus_minus

MARKER = "<!-- Written by hand from here on; `lbbench findings` keeps it. -->"
UNDECIDED = "one seed, no verdict"
TIE = 2.0  # paired differences within this many standard errors are a tie


def write(lines: Iterable[str], file: Path) -> None:
    """Write a Markdown file; what stands below `MARKER` in it is kept."""
    text = "\n".join(lines)
    kept = file.read_text(encoding="utf-8").partition(MARKER)[2] if file.exists() else "\n"
    with files.replacing(file) as written:  # whole: what was written by hand must not be lost
        written.write(f"{text}\n{MARKER}{kept}".encode())


def provenance(metadata: Sequence[Mapping[str, Any]]) -> str:
    """Commits, versions and processors of the runs."""
    names = ("numpy", "scipy", "botorch")
    commits = sorted({str(run.get("commit"))[:10] for run in metadata})
    versions = [run.get("versions", {}) for run in metadata]
    libraries = sorted({", ".join(f"{name} {own.get(name)}" for name in names) for own in versions})
    processors = sorted({str(run.get("cpu")) for run in metadata})
    return f"commit {', '.join(commits)}; {'; '.join(libraries)}; {', '.join(processors)}"


def mean(runs: pd.DataFrame, column: str) -> str:
    """The mean of a column with its standard error."""
    return plus_minus(float(runs[column].mean()), standard_error(runs[column]))


def verdict(difference: float, error: float) -> str:
    """Whether a mean difference with a standard error is lower or higher than 0, or a tie."""
    if abs(difference) <= TIE * error or difference == 0:
        return "tie"
    if not math.isfinite(error):
        return UNDECIDED
    return "lower" if difference < 0 else "higher"


def conclude(failures: Sequence[str]) -> str:
    """Whether a finding holds, and if not what speaks against it; one that rests on a single seed is not decided."""
    if any(failure.startswith(UNDECIDED) for failure in failures):
        return "**Not decided**: a single seed has no standard error."
    return "**Holds.**" if not failures else f"**Does not hold**: {'; '.join(failures)}."
