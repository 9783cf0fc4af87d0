"""An objective of the user's own may be costly: it is evaluated at the points of its runs, and identified otherwise."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lbbench
from lbbench.plan import build
from lbbench.plan.settings import compose
from lbbench.plan.sources import source
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.signatures import conflict, differing

COUNTED = """
import os, time
import numpy as np
from lbbench.domain import Box
from lbbench.problems.base import Problem

def note(what):
    with open(os.environ["CALLS"], "a") as file:
        file.write(f"{what} {os.getpid()}\\n")

def f(x):
    note("f")
    time.sleep(float(os.environ.get("PAUSE", 0)))
    return -float((x ** 2).sum())

def made(width: float = 1.0):
    note("made")
    return Problem("made", Box(-np.ones(2), np.ones(2)), lambda x: np.array([f(point) for point in x]), 0.0)
"""
F = ["problem=counted:f", "bounds=[[-1,1],[-1,1]]"]
STUDY = ["initial=3", "iterations=4", "raw_samples=16"]


@pytest.fixture
def here(tmp_path):
    (tmp_path / "counted.py").write_text(COUNTED)
    return tmp_path


def started(here, *arguments, **variables):
    environment = {**os.environ, "PYTHONPATH": str(Path(lbbench.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    environment |= {"CALLS": str(here / "calls"), **variables}
    line = [sys.executable, "-m", "lbbench", *arguments]
    return subprocess.Popen(
        line, cwd=here, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def done(here, *arguments, code=0):
    process = started(here, *arguments)
    said, _ = process.communicate()
    assert process.returncode == code, said
    return said


def calls(here, what="f"):
    """By process, how often it was called since the last look."""
    file = here / "calls"
    lines = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    pids = [pid for name, pid in zip(lines[::2], lines[1::2], strict=True) if name == what]
    return sorted(pids.count(pid) for pid in set(pids))


@pytest.mark.parametrize("problem", [F, ["problem=counted:made"], [*F, "version=3"]])
def test_it_is_evaluated_at_the_points_of_its_runs_alone(here, problem):
    done(here, "run", *problem, *STUDY, "seeds=2", "jobs=2")
    assert calls(here) in ([7, 7], [14])
    done(here, "run", *problem, *STUDY, "method=mle", "seeds=1")
    assert calls(here) == [3 + 4]
    for looked in (
        ["run", *problem, *STUDY, "seeds=2"],
        ["status"],
        ["worker-plan", *problem, *STUDY],
        ["show", *problem],
        ["doctor", "out=results"],
        ["report"],
        ["table", "table=summary"],
        ["plot", "format=png"],
    ):
        process = started(here, *looked)
        said, _ = process.communicate()
        assert process.returncode in (0, 1) and "Traceback" not in said  # noqa: PT018 (a doctor may find the disk full)
        assert calls(here) == [], looked


def test_nor_is_it_when_a_run_is_taken_up(here):
    process = started(here, "run", *F, "seeds=1", "initial=3", "iterations=40", "raw_samples=16", PAUSE="0.2")
    while not (here / "calls").exists() or (here / "calls").read_text().count("f") < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate()
    before = sum(calls(here))
    (journal,) = (here / "results" / "journal").rglob("*.jsonl")
    kept = sum("lbbench" not in json.loads(line) for line in journal.read_text().splitlines())
    assert kept == before < 43
    done(here, "run", *F, "seeds=1", "initial=3", "iterations=40", "raw_samples=16")
    assert sum(calls(here)) == 43 - before


def test_one_process_builds_a_problem_once_however_many_seeds(here):
    (here / "counted.py").write_text(COUNTED.replace("width: float = 1.0", "width: float = 1.0, seed: int = 0"))
    done(here, "status", "problem=counted:made", "seeds=20")
    assert calls(here, "made") in ([], [1])
    done(here, "run", "problem=counted:made", *STUDY, "seeds=2", "jobs=1")
    assert calls(here, "made") == [1, 2]  # to check the plan, and for the two seeds


def test_another_source_is_refused_and_another_version_is_another_run(here):
    process = started(here, "run", *F, "seeds=1", "iterations=40", "raw_samples=16", PAUSE="0.2")
    while not (here / "calls").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate()
    (here / "counted.py").write_text(COUNTED.replace("-float(", "1 - float("))
    said = done(here, "run", *F, "seeds=1", "iterations=40", "raw_samples=16", code=1)
    assert "the objective has changed" in said
    done(here, "run", *F, "seeds=1", "iterations=2", "raw_samples=16", "version=a")
    done(here, "run", *F, "seeds=1", "iterations=40", "raw_samples=16", "force=true")


def test_traces_of_another_source_are_told_apart(here):
    done(here, "run", *F, *STUDY, "seeds=1")
    (here / "counted.py").write_text(COUNTED + "\n# and more\n")
    done(here, "run", *F, *STUDY, "seeds=[1]")
    said = started(here, "doctor", "out=results").communicate()[0]
    assert "counted:f (bounds=[[-1.0,1.0],[-1.0,1.0]]" in said
    assert "its runs were played on different objectives, by their source: 2 runs with source " in said
    assert "different objectives, by their source: 1 run with source" in (
        done(here, "report") and (here / "results" / "report.html").read_text()
    )


def test_an_older_trace_with_values_does_not_conflict(here):
    done(here, "run", *F, *STUDY, "seeds=2")
    (first, second) = (here / "results" / "traces").rglob("*.parquet")
    old = {"x": [[0.0, 0.5]], "f": [-0.25]}
    metadata = traces.read_runs(first)[0]
    assert list(metadata["signature"]) == ["source"]
    assert differing([metadata, {**traces.read_runs(second)[0], "signature": old}]) == []
    assert not conflict(old, metadata["signature"])
    assert conflict({"source": "0123456789"}, metadata["signature"])
    assert conflict({**old, "f": [-0.5]}, old)
    assert not conflict({**old, "f": [float("nan")]}, {**old, "f": [float("nan")]})
    assert conflict("of another objective", old)


def signature(*line):
    (combination,) = plan(line).combinations
    return build.signature(compose(combination))


def test_what_a_signature_tells():
    box = ["bounds=[[0,1]]"]
    assert signature("problem=scipy.special:expit", *box) == {"package": f"scipy {__import__('scipy').__version__}"}
    assert signature("problem=math:sin", *box) == {}
    assert signature("problem=math:sin", *box, "version=2") == {"version": 2}
    assert set(signature("problem=scipy.optimize:rosen", *box)) == {"source"}
    assert set(signature("problem=berkenkamp")) == {"x", "f"}


def test_what_is_imported_from_elsewhere_counts_with_what_imports_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "formula_of_own.py").write_text("class Model:\n    def __call__(self, x):\n        return 0.0\n")
    (tmp_path / "use_of_own.py").write_text("from formula_of_own import Model\nmodel = Model()\n")
    first = source("use_of_own:model")
    for name in ("use_of_own.py", "formula_of_own.py"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + "\n")
        source.cache_clear()
        assert source("use_of_own:model") != first
        first = source("use_of_own:model")


def test_without_a_version_settings_are_those_of_older_traces():
    (combination,) = plan(["problem=math:dist", "bounds=[[0,1]]"]).combinations
    settings = compose(combination)
    assert "version" not in settings["problem"]
    (same,) = plan(["problem=math:dist", "bounds=[[0,1]]", "version=none"]).combinations
    (other,) = plan(["problem=math:dist", "bounds=[[0,1]]", "version=2"]).combinations
    assert compose(same).id == settings.id != compose(other).id
