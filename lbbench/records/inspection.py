"""Whether what a file of traces holds can be relied on. What cannot raises `ValueError`, which says why."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lbbench.errors import UsageError
from lbbench.plan.checks import CHECKS, check, printable
from lbbench.plan.overrides import GROWTHS
from lbbench.plan.registry import OURS
from lbbench.plan.settings import Settings
from lbbench.records import thinning

Key = tuple[str, str, str, int]
RUN = ["problem", "method", "run_id", "seed"]  # the columns that tell a run from every other
NEEDED = ("iterations", "gp.kernel", "gp.regulariser")  # settings that every run has, whatever its method and problem
SEEDS = range(2**63)
THIN = range(1, 1_001)  # steps per decade that an export may keep
REGRETS = ["regret", "simple_regret", "cumulative_regret"]


def key_of(run: Mapping[str, Any]) -> Key:
    """What tells a run from every other, from its metadata, in which all that is read is as it should be."""
    settings, seed = Settings(run["settings"]), run["seed"]
    names = [settings.get("problem.name"), settings.get("method.name")]
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError("columns or settings are missing")
    if type(seed) is not int or seed not in SEEDS:
        raise ValueError(f"seed={printable(str(seed))}: must be a whole number from 0 up")
    if missing := [key for key in NEEDED if settings.get(key) is None]:
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


def check_rows(rows: pa.Table, runs: Mapping[Key, Mapping[str, Any]]) -> None:
    """The rows have finite numbers, positive length scales, and of each run, by its metadata, all that were kept.

    Where the objective was not finite, and was skipped, only the regrets of the steps after the design must be. Without
    regrets are the runs of a user's own problem whose maximum is not known.
    """
    if not rows.num_rows:
        raise ValueError("it has no rows")
    seen = pc.is_finite(rows["y"])
    later = pc.greater(rows["t"], 0)
    simple, cumulative, regret = (pc.is_nan(rows[name]) for name in REGRETS)
    ours = pc.is_in(rows["problem"], pa.array(OURS["problem"]))
    has_maximum = pc.or_(ours, pc.invert(pc.and_(regret, pc.and_(simple, cumulative))))
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_floating(column.type):
            needed = pc.or_(seen, later) if name in ("simple_regret", "cumulative_regret") else seen
            if name in REGRETS:
                needed = pc.and_(needed, has_maximum)
            if not pc.all(pc.or_(pc.is_finite(column), pc.invert(needed)), min_count=0).as_py():
                raise ValueError(f"its {name} is not finite everywhere")
    if pc.any(pc.less_equal(rows["lengthscale"], 0.0)).as_py():
        raise ValueError("its lengthscale is not positive everywhere")
    if not pc.all(has_maximum).as_py() and any(run.get("thin") is not None for run in runs.values()):
        raise ValueError("it has some rows only, and no regrets")
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
