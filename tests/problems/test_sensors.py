"""`problem=sensors` and its synthetic stand-in: sensors as arms, with the covariance of earlier readings."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from lbbench.errors import UsageError
from lbbench.gp.data import Data
from lbbench.gp.kernels import EMPIRICAL
from lbbench.gp.posterior import posterior
from lbbench.plan.sweeps import plan
from lbbench.problems.sensors import planar, sensors, syntheticsensors
from lbbench.records.run import runs

ROWS, TRAINING, NAMES = 20, 14, list("abcde")


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    common = rng.standard_normal((ROWS, 1))
    return pd.DataFrame(21.0 + common + rng.standard_normal((ROWS, 5)) * [0.5, 1, 1, 2, 3], columns=NAMES)


@pytest.fixture
def path(table, tmp_path):
    file = tmp_path / "readings.csv"
    table.to_csv(file, index=False)
    return str(file)


def values(problem):
    return problem.evaluate(problem.domain.candidates)


def test_what_is_known_is_of_the_training_rows_and_a_trial_plays_a_row_of_the_rest(table, path):
    known, rest = table[:TRAINING], table[TRAINING:]
    for seed in range(ROWS - TRAINING):
        problem = sensors(path, seed=seed)
        np.testing.assert_allclose(problem.domain.covariance, known.cov(), rtol=1e-12)
        np.testing.assert_allclose(values(problem), rest.iloc[seed] - known.to_numpy().mean(), rtol=1e-12)
        assert problem.optimum == values(problem).max()
        assert problem.noise_std**2 == pytest.approx(0.05 * known.var().mean(), rel=1e-12)
    assert sensors(path, noise_share=0.2).noise_std == pytest.approx(2 * problem.noise_std, rel=1e-12)


@pytest.mark.parametrize(("share", "rows"), [(0.1, 2), (0.29, 6), (0.5, 10), (0.95, 19)])
def test_training_is_a_share_of_the_rows_to_the_nearest(share, rows, table, path):
    problem = sensors(path, training=share)
    np.testing.assert_allclose(problem.domain.covariance, table[:rows].cov(), rtol=1e-12)
    np.testing.assert_allclose(values(problem), table.iloc[rows] - table[:rows].to_numpy().mean(), rtol=1e-12)


def test_columns_that_are_no_sensors_can_be_ignored(table, path, tmp_path):
    dated = table.assign(day=["Monday"] * ROWS, hour=range(ROWS))[["day", "hour", *NAMES]]
    dated.to_csv(tmp_path / "dated.csv", index=False)
    same, known = sensors(str(tmp_path / "dated.csv"), ignore="[day, hour]"), sensors(path)
    np.testing.assert_array_equal(same.domain.covariance, known.domain.covariance)
    np.testing.assert_array_equal(values(same), values(known))


def test_points_in_a_plane_are_found_again_but_for_a_rigid_motion():
    rng = np.random.default_rng(0)
    for m in (2, 3, 10, 54):
        points = rng.standard_normal((m, 2)) * [3.0, 0.5] + [100.0, -7.0]
        found = planar(cdist(points, points, "sqeuclidean"))
        np.testing.assert_allclose(cdist(found, found), cdist(points, points), atol=1e-6)
        np.testing.assert_allclose(found.mean(0), 0.0, atol=1e-9)
        assert (found.max(0) >= -found.min(0)).all()


def test_a_rectangle_has_its_longer_side_first():
    corners = np.array([[0, 0], [4, 0], [0, 1], [4, 1]], dtype=float)
    found = planar(cdist(corners, corners, "sqeuclidean"))
    np.testing.assert_allclose(np.abs(found), [[2, 0.5]] * 4, atol=1e-12)


def test_sensors_lie_in_the_unit_square_in_proportion_to_how_their_readings_differ(tmp_path):
    """Readings that are linear in places in the plane differ, in variance, as those lie apart."""
    places = np.array([[0, 0], [4, 0], [0, 1], [3, 1], [2, 0.3]])
    table = pd.DataFrame(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [0, 0]]) @ places.T + 5.0, columns=NAMES)
    table.to_csv(tmp_path / "readings.csv", index=False)
    with pytest.raises(UsageError, match=r"sensor a is constant"):  # which is at the origin
        sensors(str(tmp_path / "readings.csv"), training=0.8)
    table = table.add(np.array([0.5, -0.5, -0.5, 0.5, 0]), axis=0)  # an equal share in all, orthogonal to the others
    table.to_csv(tmp_path / "readings.csv", index=False)
    pool = sensors(str(tmp_path / "readings.csv"), training=0.8).domain
    np.testing.assert_allclose(
        cdist(pool.candidates, pool.candidates), np.sqrt(4 / 3) * cdist(places, places), atol=1e-7
    )
    ratio = pool.sqdist[np.triu_indices(5, 1)] / cdist(places, places, "sqeuclidean")[np.triu_indices(5, 1)]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    np.testing.assert_allclose(pool.coordinates.min(0), 0.0, atol=1e-12)
    assert pool.coordinates.max() == pytest.approx(1.0, abs=1e-12)
    assert pool.coordinates.max(0).min() < 0.5


@pytest.mark.parametrize("block", [1, 40])
def test_the_posterior_is_the_solution_of_the_equations_of_a_gp(block):
    problem, rng = syntheticsensors(seed=2), np.random.default_rng(1)
    points = rng.integers(54, size=120)
    y = values(problem)[points] + problem.noise_std * rng.standard_normal(120)
    data = Data(problem.domain, standardise=False)
    noise = problem.noise_std**2
    data.append(points[:block], y[:block])
    fitted = posterior(data, EMPIRICAL, 1.0, noise)
    for start in range(block, 120, block):
        data.append(points[start : start + block], y[start : start + block])
        fitted.update()
    mean, std = fitted.predict(np.arange(54))
    prior = problem.domain.covariance
    gram = prior[np.ix_(points, points)] + noise * np.eye(120)
    np.testing.assert_allclose(mean, prior[:, points] @ np.linalg.solve(gram, y), atol=1e-9)
    covariance = prior - prior[:, points] @ np.linalg.solve(gram, prior[points])
    np.testing.assert_allclose(std, np.sqrt(covariance.diagonal()), atol=1e-9)
    gain = 0.5 * np.linalg.slogdet(gram / noise)[1]
    assert fitted.information_gain == pytest.approx(gain, rel=1e-9)


def test_the_synthetic_stand_in_is_the_same_floor_in_all_trials_and_another_draw_in_each():
    problems = [syntheticsensors(seed=seed) for seed in range(300)]
    first = problems[0].domain
    assert first.candidates.shape == (54, 2)
    for problem in problems:
        np.testing.assert_array_equal(problem.domain.candidates, first.candidates)
        np.testing.assert_array_equal(problem.domain.covariance, first.covariance)
        assert problem.noise_std == problems[0].noise_std
    np.testing.assert_array_equal(values(syntheticsensors(seed=7)), values(problems[7]))
    played = np.array([values(problem) for problem in problems])
    assert len({row.tobytes() for row in played}) == 300
    # What is played is of the covariance that is known: both are estimates, of standard error √(2/n) on the diagonal.
    difference = np.cov(played, rowvar=False) - first.covariance
    assert np.abs(difference).max() < 0.6
    assert np.sqrt((difference**2).mean()) < 0.15
    assert np.abs(played.mean(0)).max() < 0.3


def test_more_training_rows_are_nearer_to_the_covariance_that_they_are_drawn_with():
    errors = [np.abs(syntheticsensors(rows).domain.covariance.diagonal() - 1.0).max() for rows in (50, 5_000)]
    assert errors[1] < 0.1 < errors[0]


CONTENTS = {
    "no CSV": ("", "is no CSV file"),
    "no rows": ("a,b\n", "has no rows"),
    "one sensor": ("a\n1\n2\n3\n", "must have a column for each sensor, and at least 2; left are 1"),
    "missing": ("a,b\n1,2\n,3\n4,4\n5,1\n", "the column a has values that are missing or not finite"),
    "NaN": ("a,b\n1,2\n2,nan\n4,4\n5,1\n", "the column b has values that are missing or not finite"),
    "infinite": ("a,b\n1,2\n2,inf\n4,4\n5,1\n", "the column b has values that are missing or not finite"),
    "words": (
        "hour,a,b\n8am,1,2\n9am,2,1\n10am,4,4\n",
        "the column hour has values that are no numbers; leave it out by",
    ),
    "one row to learn from": ("a,b\n1,2\n3,4\n", "training=0.7 makes 1 of 2 rows training and leaves 1 to play"),
    "constant": ("a,b\n0.1,2\n0.1,3\n0.1,5\n0.2,7\n", "the sensor a is constant in the training rows"),
    "too large": (
        "a,b\n1,1e200\n2,-1e200\n3,0\n4,0\n",
        "the sensor b is constant in the training rows, or its variance",
    ),
    "twice the same": ("a,b,c\n1,7,1\n2,3,2\n5,3,5\n1,2,3\n", "the sensors a and c have the same coordinates"),
    "but for a constant": ("a,b\n1,1.1\n2,2.1\n5,5.1\n1,2\n", "the sensors a and b have the same coordinates"),
}
SETTINGS = {
    "no path": (["path=none"], "problem=sensors needs problem.path="),
    "no file": (["path=nowhere.csv"], "nowhere.csv cannot be read"),
    "ignored": (["ignore=[a,day]"], "readings.csv has no column day; its columns: a, b, c, d, e"),
    "all ignored": (
        ["ignore=[a,b,c,d,e]"],
        "readings.csv must have a column for each sensor, and at least 2; left are 0",
    ),
    "training": (["training=1"], "training=1: must be a number between 0 and 1"),
    "no training": (["training=0"], "training=0: must be a number between 0 and 1"),
    "little training": (
        ["training=0.05"],
        "readings.csv: training=0.05 makes 1 of 20 rows training and leaves 19 to play",
    ),
    "nothing to play": (["training=0.99"], "training=0.99 makes 20 of 20 rows training and leaves 0 to play"),
    "seed": (["seeds=7"], "readings.csv has 6 rows to play, for seeds 0 to 5, and none for seed 6"),
    "another content": (["digest=0123456789"], "readings.csv has changed"),
    "noise": (["noise_share=0"], "noise_share=0: must be a number above 0"),
    "kernel": (
        ["kernel=empirical", "method=lb", "seeds=6"],
        "method=lb chooses length scales, and kernel=empirical has none",
    ),
    "rows": (["problem=syntheticsensors", "rows=1"], "rows=1: must be a whole number from 2"),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_a_file_that_is_no_such_table_is_named(case, path):
    content, words = CONTENTS[case]
    with open(path, "w") as file:
        file.write(content)
    with pytest.raises(UsageError) as complaint:
        sensors(path)
    assert str(complaint.value).startswith(path)
    assert words in str(complaint.value)
    assert "\n" not in str(complaint.value)


def lbbench(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "lbbench", *arguments], capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize("case", SETTINGS)
def test_what_cannot_be_is_one_line_and_exit_code_2(case, path, tmp_path):
    given, words = SETTINGS[case]
    usual = {"method": "random", "problem": "sensors", "path": "readings.csv", "out": "out"}
    usual |= dict(argument.split("=") for argument in given)
    if usual["problem"] != "sensors":
        del usual["path"]
    found = lbbench("run", *(f"{key}={value}" for key, value in usual.items()), cwd=tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.count("\n") == 1
    assert words in found.stderr
    assert not (tmp_path / "out").exists()


def test_another_content_is_another_run(path, tmp_path):
    line = ["method=random", "problem=sensors", f"path={path}", "seeds=2", f"out={tmp_path}"]
    (before,) = {run.settings.id for run in runs(plan(line))}
    with open(path, "a") as file:
        file.write("1,2,3,4,5\n")
    (after,) = {run.settings.id for run in runs(plan(line))}
    assert before != after


def test_told_the_covariance_or_choosing_length_scales_methods_play_the_stand_in(tmp_path):
    line = ["problem=syntheticsensors", "iterations=20", "seeds=2", "jobs=1", "out=out", "regulariser=noise"]
    told = ["method=igpucb,gpts,ei", "kernel=empirical", "norm=auto", "information_gain=1"]
    for own in (told, ["method=lb,lnb", "kernel=rbf", "theta0=1"]):
        found = lbbench("run", *line, *own, cwd=tmp_path)
        assert found.returncode == 0, found.stderr
    frame = pd.read_parquet(tmp_path / "out/traces")
    steps = frame[frame.t > 0].groupby(["method", "seed"]).size()
    assert steps.to_dict() == {(m, seed): 20 for m in ("igpucb", "gpts", "ei", "lb", "lnb") for seed in (0, 1)}
    for seed in (0, 1):
        problem, own = syntheticsensors(seed=seed), frame[frame.seed == seed]
        np.testing.assert_array_equal(own.regret, problem.optimum - own.f)
        assert set(own.f) <= set(values(problem))


def test_the_preset_takes_a_table_in_the_place_of_the_stand_in(path, tmp_path):
    methods = {"igpucb", "gpucb", "gpts", "ei", "pi", "tight", "lb", "lnb"}
    own = {run.settings.method: run.settings for run in runs(plan(["+experiment=sensors", f"out={tmp_path}"]))}
    assert own.keys() == methods
    assert {settings.problem for settings in own.values()} == {"syntheticsensors"}
    line = ["+experiment=sensors", "problem=sensors", "problem.path=readings.csv", "iterations=3", "seeds=2", "jobs=1"]
    found = lbbench("run", *line, "out=out", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    frame = pd.read_parquet(tmp_path / "out/traces")
    assert set(frame.problem) == {"sensors"}
    assert set(frame.method) == methods
    for command in ("table", "report"):
        found = lbbench(command, "problem=sensors", "out=out", cwd=tmp_path)
        assert (found.returncode, found.stderr) == (0, "")
