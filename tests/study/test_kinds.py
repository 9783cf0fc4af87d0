"""A second kind of study goes the same ways as the first: run, resumed, shown, exported, and never mixed with it."""

import shutil

import counting
import pandas as pd
import pytest
from chaos import terminal

from lbbench.errors import UsageError
from lbbench.plan import build, configs, kinds, registry
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.journal import Journal
from lbbench.records.run import runs
from lbbench.study import machine, worker


@pytest.fixture(autouse=True)
def second_kind(tmp_path, monkeypatch):
    """A kind `counting`, with the method `counter` and the problem `numbers`, which has a value at its points."""
    folder = tmp_path / "configs"
    shutil.copytree(configs.config_dir(), folder)
    (folder / "method/counter.yaml").write_text("# Counter: counts\nname: counter\nkind: counting\n")
    (folder / "problem/numbers.yaml").write_text("# Numbers\nname: numbers\nkind: counting\nnoise_std: 0.0\n")
    monkeypatch.setattr(configs, "config_dir", lambda: folder)
    monkeypatch.setattr("lbbench.plan.settings.config_dir", lambda: folder)
    monkeypatch.setitem(kinds.KINDS, "counting", counting.KIND)
    monkeypatch.setitem(registry.OURS["method"], "counter", "counting:play")
    monkeypatch.setitem(registry.OURS["problem"], "numbers", "lbbench.problems.synthetic:berkenkamp")


LINE = ["method=counter", "problem=numbers", "seeds=2", "iterations=2"]


def test_a_method_on_a_problem_of_another_kind_is_refused():
    for method, problem in (("counter", "berkenkamp"), ("lb,counter", "numbers")):
        with pytest.raises(UsageError, match=r"is for \w+, and problem=\w+ for \w+") as error:
            plan([f"method={method}", f"problem={problem}"])
        assert "counting" in str(error.value)
        assert "optimisation" in str(error.value)


def test_a_kind_is_no_setting():
    with pytest.raises(UsageError, match="unknown key 'kind'"):
        plan([*LINE, "kind=optimisation"])
    assert runs(plan(LINE))[0].settings.kind == "counting"
    assert runs(plan(["method=lb", "problem=berkenkamp"]))[0].settings.kind == "optimisation"


def test_it_is_run_shown_and_exported_as_the_first_is(tmp_path):
    out = f"out={tmp_path / 'out'}"
    code, printed, errors = terminal.call(["run", *LINE, out])
    assert (code, errors) == (0, "")
    assert "numbers counter seed=1: count 3" in printed
    assert "the last count of each run" in printed
    code, printed, _ = terminal.call(["run", "method=random", "problem=berkenkamp", "seeds=1", "iterations=2", out])
    assert (code, "simple regret" in printed) == (0, True)
    code, printed, errors = terminal.call(["status", out])
    assert (code, errors) == (0, "")
    assert "3 done" in printed
    code, printed, errors = terminal.call(["table", out])
    assert (code, errors) == (0, "")
    assert "Counts" in printed
    assert "Final regrets" in printed
    code, _, errors = terminal.call(["plot", "figure=counts,3", "format=png", out])
    assert code == 0, errors
    code, printed, errors = terminal.call(["export", f"to={tmp_path / 'kept'}", out])
    assert (code, errors) == (0, "")
    kept = {path.stem: traces.read([path]) for path in (tmp_path / "kept/traces").iterdir()}
    assert kept["numbers"].columns.tolist() == counting.SCHEMA.names
    assert kept["numbers"]["count"].tolist() == [1, 2, 2, 3]
    assert "regret" in kept["berkenkamp"]
    code, printed, _ = terminal.call(
        ["worker-plan", "method=counter", "problem=numbers", "seeds=4", "iterations=2", out]
    )
    assert (code, "total: 2 runs" in printed) == (0, True)


def test_it_is_resumed_as_the_first_is(tmp_path):
    (run, *_) = runs(plan([*LINE, f"out={tmp_path}"]))
    about = {**run.about, "signature": build.signature(run.settings)}
    with Journal(run.journal, tmp_path / "journal") as journal:
        journal.begin(about)
        journal.append(next(iter(counting.play(run.settings, 0, [], "error"))))
    outcome = worker.attempt(worker.Task(run, machine.provenance()), lambda: False, 1)
    assert (outcome.status, outcome.result) == ("done", "count 2")
    pd.testing.assert_series_equal(traces.read([run.path])["count"], pd.Series([1, 2], name="count"))
    assert len(traces.read_metadata(run.path)["earlier"]) == 1


def test_rows_of_its_own_are_checked_by_its_own_rule(tmp_path):
    (run, *_) = runs(plan([*LINE, f"out={tmp_path}"]))
    rows = [{**row, "count": -1} for row in counting.play(run.settings, 0, [], "error")]
    traces.write(run.path, rows, run.about)
    with pytest.raises(UsageError, match="its count is negative"):
        traces.read_runs(run.path)
