"""`lbbench status`: how far runs are, by their own files and by those that they were exported to."""

import made_up
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.health.status import statuses
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.journal import Journal
from lbbench.records.run import runs
from lbbench.report.collection import Collection
from lbbench.report.export import export

ASKED = ["method=random,lb", "problem=berkenkamp", "iterations=8", "seeds=3"]


@pytest.fixture
def out(tmp_path):
    """Traces of all runs that were asked for but one, and of another."""
    for method in ("random", "lb"):
        for seed in range(3):
            made_up.write(tmp_path / "out", method, "berkenkamp", seed, [1.0] * 8)
    made_up.write(tmp_path / "out", "mle", "berkenkamp", 0, [1.0] * 8)
    runs(plan([*ASKED, f"out={tmp_path / 'out'}"]))[1].path.unlink()
    return tmp_path / "out"


@pytest.fixture
def read(monkeypatch):
    """The files of traces that are read."""
    paths = []
    once = traces.read_runs
    monkeypatch.setattr(traces, "read_runs", lambda path: paths.append(path) or once(path))
    return paths


def words(out, *line):
    return {found.run.key: found.word for found in statuses(plan([*line, f"out={out}"]))}


def expected(out):
    asked = runs(plan([*ASKED, f"out={out}"]))
    return {run.key: "missing" if run is asked[1] else "done" for run in asked}


@pytest.mark.parametrize("thin", [None, 2])
def test_runs_that_were_exported_are_done(thin, out, tmp_path):
    export(Collection.at(out), tmp_path / "to", thin=thin)
    (file,) = (tmp_path / "to").rglob("*.parquet")
    file.rename(file.with_name("by-another-name.parquet"))
    assert words(tmp_path / "to", *ASKED) == expected(out)
    everything = words(tmp_path / "to")
    assert set(everything.values()) == {"done"}
    assert len(everything) == 6  # that of another method with them


def test_own_files_come_before_exported_ones(out, tmp_path):
    export(Collection.at(out), tmp_path / "to")
    asked = runs(plan([*ASKED, f"out={tmp_path / 'to'}"]))
    asked[0].path.parent.mkdir(parents=True)
    asked[0].path.write_bytes(runs(plan([*ASKED, f"out={out}"]))[0].path.read_bytes())
    with Journal(asked[2].journal, tmp_path / "to" / "journal") as journal:  # played anew by force=true
        journal.begin({})
        assert words(tmp_path / "to", *ASKED) == {**expected(out), asked[2].key: "running"}


def test_each_file_is_read_once_and_those_of_other_runs_are_not(out, read):
    assert words(out, *ASKED) == expected(out)
    assert sorted(read) == sorted(run.path for run in runs(plan([*ASKED, f"out={out}"])) if run.path.exists())
    read.clear()
    assert set(words(out).values()) == {"done"}
    assert sorted(read) == sorted(out.rglob("*.parquet"))


def test_files_that_are_no_traces_are_failures_or_nothing(out):
    asked = runs(plan([*ASKED, f"out={out}"]))
    asked[0].path.write_bytes(b"torn")
    (out / "traces" / "foreign.parquet").write_bytes(b"torn")
    assert words(out, *ASKED) == {**expected(out), asked[0].key: "failed"}
    assert len(words(out)) == 5


@pytest.mark.parametrize("content", [b"my notes\n", b'{"lbbench": {"version": 1}}\n'])
def test_a_journal_of_no_run_is_passed_over(content, out):
    (out / "journal").mkdir()
    (out / "journal" / "x.jsonl").write_bytes(content)
    assert len(words(out)) == 6


def test_a_run_without_a_trace_that_can_be_read_is_not_there(out, tmp_path):
    asked = runs(plan([*ASKED, f"out={out}"]))
    line = [*ASKED, f"out={out}"]
    assert "total: 1 runs" in CliRunner().invoke(cli.app, ["worker-plan", *line]).stdout
    asked[0].path.write_bytes(b"torn")
    told = CliRunner().invoke(cli.app, ["worker-plan", *line])
    assert "total: 2 runs" in told.stdout
    assert told.stderr.startswith(f"left out: {asked[0].path} is no trace")


def test_a_plan_counts_exported_runs_as_there(out, tmp_path):
    made_up.write(out, "random", "berkenkamp", 1, [1.0] * 8)
    export(Collection.at(out), tmp_path / "to", thin=2)
    line = ["worker-plan", *ASKED, f"out={tmp_path / 'to'}"]
    assert CliRunner().invoke(cli.app, line).output == "all 6 runs are there\n"
    assert "total: 6 runs" in CliRunner().invoke(cli.app, [*line, "force=true"]).output
