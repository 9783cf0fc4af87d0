"""Runs that are taken up where a process left them, and the journals that make it possible."""

import json
import os

import pytest

from lbbench.errors import ObjectiveError, StepError, UsageError
from lbbench.plan.configs import load, options
from lbbench.plan.settings import compose
from lbbench.plan.sweeps import plan
from lbbench.records import journal
from lbbench.records.journal import Busy, Journal
from lbbench.study import optimising

HEAD = {"settings": {}, "seed": 3, "signature": [0.5]}
ROWS = [{"t": 0, "y": 0.1 + 0.2, "x": [1e-300]}, {"t": 1, "y": float("nan"), "x": [2.0]}]


def without_times(rows):
    return [{key: value for key, value in row.items() if key not in ("suggest_s", "evaluate_s")} for row in rows]


def settings(*line):
    return compose(plan(line).combinations[0])


def as_read(rows):
    """Rows as a journal gives them back."""
    return json.loads(json.dumps(rows))


@pytest.mark.parametrize("problem", ["berkenkamp", "michalewicz", "agnp"])
@pytest.mark.parametrize("method", options("method"))
def test_a_run_is_the_same_wherever_it_is_taken_up(method, problem):
    own = settings(f"method={method}", f"problem={problem}", "iterations=9", "noise_std=0.1")
    whole = list(optimising.play(own, 2))
    for done in range(len(whole) + 1):
        rest = optimising.play(own, 2, as_read(whole[:done]))
        assert as_read(without_times(rest)) == as_read(without_times(whole[done:]))


@pytest.mark.parametrize(
    "line", ["method=mcmc sampler=nuts warmup=10 samples=10", "method=lb beta=theory norm=3", "method=lnb kernel=rbf"]
)
def test_so_is_one_of_other_settings_after_many_steps(line):
    own = settings(*line.split(), "problem=crossedbarrel", "iterations=40")
    whole = list(optimising.play(own, 0))
    rest = optimising.play(own, 0, as_read(whole[:43]))
    assert as_read(without_times(rest)) == as_read(without_times(whole[43:]))


def test_to_take_up_a_run_does_not_evaluate_again(monkeypatch):
    own = settings("method=lb", "problem=berkenkamp", "iterations=6")
    whole = list(optimising.play(own, 0))
    changed = as_read(whole[:5])
    for row in changed:
        row["y"] += 1.0  # as if the objective had given this
    rest = list(optimising.play(own, 0, changed))
    assert [row["t"] for row in rest] == [3, 4, 5, 6]
    assert without_times(rest) != without_times(whole[5:])


@pytest.mark.parametrize("missing", [0, 3, 5])
def test_a_journal_that_lacks_a_step_is_refused(missing):
    own = settings("method=lb", "problem=berkenkamp", "iterations=4")
    past = as_read(list(optimising.play(own, 0)))
    with pytest.raises(UsageError, match=f"step {past[missing]['t']} is missing"):
        list(optimising.play(own, 0, past[:missing] + past[missing + 1 :]))


def play_with(monkeypatch, values, *line):
    """Play a run whose objective has these values at its first evaluations."""
    from faults import _play

    left = iter(values)
    monkeypatch.setattr("faults.GOOD", 0)
    monkeypatch.setattr("faults.BAD_SEED", 0)
    return _play(lambda: next(left), settings(*line, "problem=berkenkamp"), 0, [], "skip")


def test_what_is_not_finite_is_recorded_and_skipped(monkeypatch):
    nan, inf = float("nan"), float("inf")
    values = [nan, 1.0, 3.0, inf, 2.0, -inf, nan]
    rows = list(play_with(monkeypatch, values, "method=lb", "iterations=4"))
    assert str([row["y"] for row in rows]) == str(values)
    optimum = rows[2]["simple_regret"] + 3.0
    assert [row["simple_regret"] for row in rows] == pytest.approx([inf, optimum - 1.0] + 5 * [optimum - 3.0])
    assert [row["cumulative_regret"] for row in rows] == pytest.approx(4 * [0.0] + 3 * [optimum - 2.0])
    assert len({row["x"][0] for row in rows[3:]}) > 1  # it does not ask for the same point for ever


def test_a_run_with_skipped_values_is_the_same_wherever_it_is_taken_up(monkeypatch):
    values = [float("nan"), 1.0, 3.0, float("nan"), 2.0, 1.5, 0.5]
    for method in options("method"):
        told = ["lengthscale=0.3"] if "lengthscale" in load(f"method/{method}") else []  # else asked of the objective
        line = [f"method={method}", "iterations=4", *told]
        whole = list(play_with(monkeypatch, values, *line))
        for done in range(len(whole) + 1):
            from faults import _play

            left = iter(values[done:])
            own = settings(*line, "problem=berkenkamp")
            rest = list(_play(lambda left=left: next(left), own, 0, as_read(whole[:done]), "skip"))
            assert json.dumps(without_times(rest)) == json.dumps(without_times(whole[done:]))


def test_a_design_without_a_finite_value_is_an_error(monkeypatch):
    with pytest.raises(StepError) as caught:
        list(play_with(monkeypatch, 3 * [float("nan")], "method=lb", "iterations=2"))
    assert "finite" in str(caught.value.__cause__)


def test_a_value_that_is_not_finite_is_an_error_that_names_step_and_point():
    import faults

    with pytest.raises(StepError) as caught:
        list(faults.is_nan(settings("method=random", "problem=berkenkamp", "iterations=4"), 1, [], "error"))
    assert isinstance(caught.value.__cause__, ObjectiveError)
    assert caught.value.t == 2
    assert 0.0 <= caught.value.x[0] <= 1.0


def test_a_journal_gives_back_what_was_written(tmp_path):
    path = tmp_path / "journal" / "a" / "b.jsonl"
    with Journal(path, tmp_path / "journal") as first:
        assert (first.heads, first.rows) == ([], [])
        first.begin(HEAD)
        first.append(ROWS[0])
    with Journal(path, tmp_path / "journal") as second:
        assert second.rows == ROWS[:1]
        assert second.heads == [{"version": journal.VERSION, "evaluations": 0, **HEAD}]
        second.begin(HEAD)
        second.append(ROWS[1])
    heads, rows = journal.peek(path)
    assert [head["evaluations"] for head in heads] == [0, 1]
    assert str(rows) == str(ROWS)
    with Journal(path, tmp_path / "journal") as third:
        third.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_was_cut_off_anywhere_gives_what_is_whole(tmp_path):
    path = tmp_path / "a.jsonl"
    with Journal(path, tmp_path) as written:
        written.begin(HEAD)
        for row in ROWS:
            written.append(row)
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        with Journal(path, tmp_path) as torn:
            whole = sum(end <= size for end in ends)
            assert str(torn.rows) == str(ROWS[: max(0, whole - 1)])
            assert len(torn.heads) == min(whole, 1)
            torn.begin(HEAD)
            torn.append(ROWS[0])
        assert journal.peek(path)[1][-1] == ROWS[0]


def test_zeros_that_a_machine_left_when_it_died_are_no_rows(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(bytes(100))
    with Journal(path, tmp_path) as written:
        written.begin(HEAD)
        written.append(ROWS[0])
    path.write_bytes(path.read_bytes() + bytes(1000))
    with Journal(path, tmp_path) as found:
        assert found.rows == ROWS[:1]


@pytest.mark.parametrize(
    "content", [b"my notes\n", b"[1]\n", b'{"t": 1}\n', b'{"lbbench": {"version": 99}}\n', b"\x00\x01", b"{}\n"]
)
def test_a_foreign_journal_is_left_as_it_is(tmp_path, content):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"a\.jsonl is no journal"):
        Journal(path, tmp_path)
    assert path.read_bytes() == content


def test_one_process_holds_a_journal(tmp_path):
    path = tmp_path / "deep" / "a.jsonl"
    assert not journal.is_held(path)
    with Journal(path, tmp_path):
        assert journal.is_held(path)
        with pytest.raises(Busy):
            Journal(path, tmp_path)
    assert not journal.is_held(path)
    with Journal(path, tmp_path) as again:
        again.remove()
        with Journal(path, tmp_path) as new:  # the removed one, still held, is another file
            assert os.fstat(again._descriptor).st_ino != os.fstat(new._descriptor).st_ino
