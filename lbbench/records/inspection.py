"""Whether what a file of traces holds can be relied on. What cannot raises `ValueError`, which says why."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lbbench.errors import UsageError, printable
from lbbench.plan.checks import CHECKS, check
from lbbench.plan.keys import GROWTHS
from lbbench.plan.settings import Settings
from lbbench.records import thinning
from lbbench.records.rows import RUN, Row, row_of

Key = tuple[str, str, str, int]
SEEDS = range(2**63)
THIN = range(1, 1_001)  # steps per decade that an export may keep


def key_of(run: Mapping[str, Any]) -> Key:
    """What tells a run from every other, from its metadata, in which all that is read is as it should be."""
    settings, seed = Settings(run["settings"]), run["seed"]
    names = [settings.get("problem.name"), settings.get("method.name")]
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError("columns or settings are missing")
    if type(seed) is not int or seed not in SEEDS:
        raise ValueError(f"seed={printable(str(seed))}: must be a whole number from 0 up")
    if missing := [key for key in row_of(settings.kind).settings if settings.get(key) is None]:
        raise ValueError(f"settings are missing, such as {missing[0]}")
    for name, value in settings.flat.items():
        _check_setting(name, value)
    if not isinstance(run.get("versions", {}), Mapping):
        raise ValueError("its versions are no mapping")
    float(run.get("peak_memory_mb", 0.0))
    if (thin := run.get("thin")) is not None and (type(thin) is not int or thin not in THIN):
        raise ValueError(f"thin={printable(str(thin))}: must be a whole number from {THIN[0]} to {THIN[-1]}")
    float(run.get("total_s", 0.0))
    return settings.problem, settings.method, settings.id, seed


def _check_setting(name: str, value: Any) -> None:
    """One setting is as its check has it, or any plain value if it is unknown here."""
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{printable(name)} is no plain value")
    if name in CHECKS:
        try:  # growth functions, which reports write as they are, are parsed where they are evaluated
            typed = check(name, name, str(value)) if name not in GROWTHS else ""
        except UsageError as error:
            raise ValueError(str(error)) from None
        if isinstance(typed, str) != isinstance(value, str):
            raise ValueError(f"{name}={printable(repr(value))} is of another type")


def check_rows(rows: pa.Table, runs: Mapping[Key, Mapping[str, Any]], row: Row) -> None:
    """The rows are as `row` has it, and of each run, by its metadata, all that were kept."""
    if not rows.num_rows:
        raise ValueError("it has no rows")
    row.check(rows, any(run.get("thin") is not None for run in runs.values()))
    grouped = rows.select([*RUN, "t"]).group_by(RUN, use_threads=False).aggregate([("t", "list")])
    keys = zip(*(grouped[name].to_pylist() for name in RUN), strict=True)
    steps = {key: t.values.to_numpy() for key, t in zip(keys, grouped["t_list"], strict=True)}
    for key, run in runs.items():
        problem, method, _, seed = key
        name = f"{printable(method)} on {printable(problem)} with seed {seed}"
        t = steps.get(key, np.empty(0, np.int64))
        if not (t > 0).any():
            raise ValueError(f"it has no steps of {name}")
        if not thinning.is_whole(t, run["settings"]["iterations"], run.get("thin")):
            raise ValueError(f"it has not just the rows of {name}")
