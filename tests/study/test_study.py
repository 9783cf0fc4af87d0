"""Whole runs: determinism, common random numbers, regret, and what is on disk."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from lbbench.asktell.core import AskTell
from lbbench.domain import Box
from lbbench.methods.base import Step
from lbbench.plan.configs import options
from lbbench.plan.settings import compose
from lbbench.plan.sweeps import plan
from lbbench.problems.synthetic import berkenkamp
from lbbench.records import traces
from lbbench.records.optimising import SCHEMA
from lbbench.records.run import runs
from lbbench.study import optimising
from lbbench.study.runner import execute

TIMES = ["suggest_s", "evaluate_s"]
METHODS = list(options("method"))


def study(out, *line):
    planned = plan([*line, f"out={out}"])
    todo = runs(planned)
    outcomes = execute(todo, planned.study, lambda outcome: None)
    assert [outcome.failure for outcome in outcomes] == [None] * len(todo)
    return {(run.settings.problem, run.settings.method, run.seed): traces.read([run.path]) for run in todo}


def rows(*line, seed=0):
    return pd.DataFrame(optimising.play(compose(plan(line).combinations[0]), seed)).drop(columns="point")


def test_traces_are_bit_identical_for_any_jobs_and_any_order_of_seeds(tmp_path):
    line = ["method=lb,random", "problem=berkenkamp,crossedbarrel,michalewicz", "iterations=12"]
    one = study(tmp_path / "one", *line, "seeds=2", "jobs=1")
    two = study(tmp_path / "two", *line, "seeds=[1,0]", "jobs=2")
    assert one.keys() == two.keys()
    assert len(one) == 12
    for key, trace in one.items():
        pd.testing.assert_frame_equal(trace.drop(columns=TIMES), two[key].drop(columns=TIMES), check_exact=True)


@pytest.mark.parametrize("problem", ["berkenkamp", "michalewicz", "agnp", "crossedbarrel"])
def test_every_method_gets_the_same_initial_design_and_noise(problem):
    line = [f"problem={problem}", "iterations=1", "noise_std=0.3"]
    designs = [rows(*line, f"method={method}", seed=3) for method in METHODS]
    initial = [design[design.phase == "initial"] for design in designs]
    for other in initial[1:]:
        pd.testing.assert_frame_equal(initial[0][["t", "x", "y", "f"]], other[["t", "x", "y", "f"]], check_exact=True)
    noise = [design.iloc[-1].y - design.iloc[-1].f for design in designs]
    assert np.ptp(noise) < 1e-12
    assert abs(noise[0]) > 0
    assert not np.allclose(np.stack(initial[0].x), np.stack(rows(*line, "method=random", seed=4).x)[:-1])


def test_noise_has_the_asked_for_standard_deviation_and_is_independent_of_the_design():
    found = rows("method=random", "problem=berkenkamp", "iterations=2000", "noise_std=0.3")
    noise = found.y - found.f
    assert noise.std() == pytest.approx(0.3, rel=0.06)
    assert abs(np.corrcoef(noise, found.f)[0, 1]) < 0.1
    assert abs(noise.autocorr(1)) < 0.1


def test_regrets_follow_their_definitions():
    found = rows("method=random", "problem=berkenkamp", "iterations=30", "noise_std=1.0")
    problem = berkenkamp()
    f = problem.evaluate(np.array(found.x.tolist()))
    assert found.f.tolist() == f.tolist()
    assert found.t.tolist() == list(range(-2, 31))
    assert found.phase.tolist() == ["initial"] * 3 + ["search"] * 30
    np.testing.assert_allclose(found.regret, problem.optimum - f)
    np.testing.assert_allclose(found.simple_regret, problem.optimum - np.maximum.accumulate(f))
    np.testing.assert_allclose(found.cumulative_regret[:3], 0)
    np.testing.assert_allclose(found.cumulative_regret[3:], np.cumsum(problem.optimum - f[3:]))


def test_a_directory_of_traces_is_one_table_with_the_columns_of_the_schema(tmp_path):
    study(tmp_path, "method=lb,random", "problem=berkenkamp,agnp", "iterations=4", "seeds=2", "jobs=1")
    table = pd.read_parquet(tmp_path / "traces")
    assert table.columns.tolist() == SCHEMA.names
    assert len(table) == 2 * 2 * (3 + 4) + 2 * 2 * (10 + 4)
    lb = table[(table.method == "lb") & (table.t > 0)]
    assert (lb.lengthscale > 0).all()
    assert all(theta in candidates for theta, candidates in zip(lb.lengthscale, lb.candidates, strict=True))
    assert (lb.groupby("problem").candidates.first().map(len) == 6).all()
    assert table[table.method == "random"].lengthscale.isna().all()
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]


def test_metadata_tells_the_settings_and_where_they_ran(tmp_path):
    study(
        tmp_path, "problem=berkenkamp", "iterations=2", "seeds=[4]", "jobs=1", "noise_std=0.1", "elimination=posterior"
    )
    (path,) = tmp_path.rglob("*.parquet")
    metadata = traces.read_metadata(path)
    assert metadata["schema_version"] == traces.SCHEMA_VERSION
    assert metadata["settings"]["problem"]["noise_std"] == 0.1
    assert metadata["settings"]["method"]["elimination"] == "posterior"
    assert metadata["seed"] == 4
    assert {"versions", "commit", "cpu", "threads", "peak_memory_mb", "wall_s"} <= metadata.keys()
    assert json.loads(pq.read_schema(path).metadata[traces.KEY]) == metadata


def test_a_failed_write_leaves_no_file(tmp_path):
    path = tmp_path / "a" / "trace.parquet"
    with pytest.raises((ValueError, TypeError, KeyError)):
        traces.write(path, [{"problem": object()}], {})
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == []


def test_runs_are_named_by_what_was_swept():
    planned = plan(["method=lb,mle", "problem=michalewicz", "dim=2,10", "theta0=mle,0.5", "seeds=1", "kernel=rbf"])
    names = [run.name for run in runs(planned)]
    assert len(set(names)) == len(names) == 6
    assert names[0] == "michalewicz lb dim=2 theta0=mle seed=0"
    assert names[-1] == "michalewicz mle dim=10 seed=0"


def test_a_small_pool_can_be_played_past_its_size():
    found = rows("method=lb", "problem=agnp", "initial=164", "iterations=20")
    assert len(found) == 164 + 20
    assert found[found.t <= 0].x.map(tuple).nunique() == 164
    assert (found[found.t > 0].simple_regret == 0).all()


def test_what_is_random_in_a_step_depends_on_seed_and_step_alone():
    class Draws:
        """Draws so many numbers in each step, and notes the first."""

        def __init__(self, count):
            self.count, self.first = count, []

        def start(self, data):
            pass

        def suggest(self, data, t, maximise, rng):
            self.first.append(rng.random(self.count)[0])
            rng.integers(2**31, dtype=np.uint32)  # leaves half of a 64-bit draw behind
            return Step(point=np.array([[0.5]]))

        def observe(self, step, t, y):
            return step

    def first(count, seed):
        method = Draws(count)
        optimizer = AskTell(Box(np.zeros(1), np.ones(1)), method, seed=seed, initial=1)
        for _ in range(6):
            optimizer.tell(optimizer.ask(), 0.0)
        return method.first

    assert first(1, seed=0) == first(1000, seed=0)
    assert len({*first(1, seed=0), *first(1, seed=1)}) == 10
