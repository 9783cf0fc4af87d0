"""`lbbench worker-plan`: the time that missing runs will take."""

import made_up
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.health.estimate import at_hand, estimate
from lbbench.plan.sweeps import plan
from lbbench.records.journal import Journal
from lbbench.records.run import runs

STEP_S = 0.3  # of a step in `made_up`; all have two points in the initial design


def told(out, *line, seeds=3):
    planned = plan(["problem=berkenkamp", "initial=2", *line, f"seeds={seeds}", f"out={out}"])
    asked = runs(planned)
    return estimate(planned, [run for run in asked if not run.path.exists()], at_hand(planned, asked))


def test_times_are_those_of_the_same_settings(tmp_path):
    for seed in range(2):
        made_up.write(tmp_path, "lb", "berkenkamp", seed, [1.0] * 8, initial=2)
    made_up.write(tmp_path, "lb", "berkenkamp", 0, [1.0] * 90, initial=2, kernel="rbf")
    table, unknown = told(tmp_path, "method=lb", "iterations=8", "cores_per_run=2", "jobs=3", seeds=6)
    assert table.rows == [
        ("berkenkamp", "LB", 4, pytest.approx(10 * STEP_S), pytest.approx(4 * 3 * 2 / 3600), "2 runs")
    ]
    assert table.note == "total: 4 runs, 0.00667 core-hours, 6 s with 3 at a time"
    assert unknown == []


def test_steps_that_none_has_measured_are_taken_for_the_last_and_said(tmp_path):
    made_up.write(tmp_path, "lb", "berkenkamp", 0, [1.0] * 8, initial=2)
    table, _ = told(tmp_path, "method=lb", "iterations=98", "kernel=rbf,matern52")
    (row,) = table.rows
    assert row[2] == 6
    assert row[3] == pytest.approx(100 * STEP_S)
    assert row[5] == "1 runs of other settings, up to step 8: at least; 1 runs, up to step 8: at least"


def test_what_is_in_a_journal_is_taken_off(tmp_path):
    made_up.write(tmp_path, "random", "berkenkamp", 0, [1.0] * 8, initial=2)
    run = runs(plan(["method=random", "problem=berkenkamp", "initial=2", "iterations=8", f"out={tmp_path}"]))[1]
    with Journal(run.journal, tmp_path / "journal") as journal:
        journal.begin({})
        for t in range(-1, 5):
            journal.append({"t": t})
    table, _ = told(tmp_path, "method=random", "iterations=8", seeds=2)
    assert table.rows[0][3] == pytest.approx(4 * STEP_S)


def test_what_has_no_times_is_named_with_a_command_that_measures_them(tmp_path):
    line = [
        "worker-plan",
        "method=random,lb",
        "problem=berkenkamp",
        "iterations=4",
        "g=t^0.25,t^0.5",
        f"out={tmp_path}",
    ]
    run = CliRunner().invoke(cli.app, line)
    first, second = run.output.splitlines()
    assert first.startswith("no times of Random on berkenkamp (10 runs); to measure some: lbbench run method=random")
    assert "LB on berkenkamp (20 runs)" in second
    for told in (first, second):
        command = told.rpartition("lbbench ")[2].split()
        assert CliRunner().invoke(cli.app, command).exit_code == 0
    run = CliRunner().invoke(cli.app, line)
    assert "no times" not in run.output
    assert "total: 28 runs" in run.output


def test_nothing_is_missing(tmp_path):
    made_up.write(tmp_path, "random", "berkenkamp", 0, [1.0] * 8)
    line = ["worker-plan", "method=random", "problem=berkenkamp", "iterations=8", "seeds=1", f"out={tmp_path}"]
    assert CliRunner().invoke(cli.app, line).output == "all 1 runs are there\n"
