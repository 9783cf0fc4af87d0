"""What a study that was disturbed must leave: the traces of one that was not."""

import time

import pandas as pd

from lbbench.records import traces
from lbbench.study import worker
from lbbench.study.worker import Task

TIMES = ["suggest_s", "evaluate_s"]


def until(condition, seconds=60):
    """What a condition gives once that is true, which it must be within some time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{condition} is not true after {seconds} s"
        time.sleep(0.01)
    return found


def complete(runs):
    """Play what is left of some runs in this process."""
    statuses = {worker.attempt(Task(run, {}), lambda: False, 1).status for run in runs}
    assert statuses <= {"done", "there"}


def read(out):
    """The traces of a study, by method and seed."""
    frame = traces.read(sorted((out / "traces").rglob("*.parquet"))).drop(columns=TIMES)
    return {key: trace.reset_index(drop=True) for key, trace in frame.groupby(["method", "seed"])}


def assert_whole(out, undisturbed):
    """All traces are there, as they would be undisturbed, and nothing else but the log."""
    found = read(out)
    assert found.keys() == undisturbed.keys()
    for key, trace in undisturbed.items():
        pd.testing.assert_frame_equal(trace, found[key], check_exact=True)
    assert sorted(path.name for path in out.iterdir()) == ["commands.log", "traces"]
    assert all(path.suffix == ".parquet" for path in (out / "traces").rglob("*") if path.is_file())
