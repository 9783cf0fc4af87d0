"""Runs that go wrong, and what becomes of the others: errors, deaths, hangs, signals, two studies at once."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import faults
import pytest
from chaos.studies import processes
from played import assert_whole, read, until

from lbbench.commands.session import INTERRUPTED, Session
from lbbench.health.status import status, statuses
from lbbench.plan import build
from lbbench.plan.sweeps import plan
from lbbench.records import failures, traces
from lbbench.records.files import below
from lbbench.records.journal import Journal, peek
from lbbench.records.run import runs
from lbbench.study import optimising
from lbbench.study.runner import execute

LINE = ["method=random,lb", "problem=berkenkamp", "iterations=6", "seeds=3"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    assert Session(planned(out)).run() == 0
    return read(out)


def planned(out, *line):
    """The plan of a study of two jobs."""
    return plan([*LINE, "jobs=2", *line, f"out={out}"])


@pytest.mark.parametrize(
    ("player", "kind", "error", "place"),
    [
        ("raises", "failed", "ValueError: the objective broke", True),
        ("exits", "failed", "SystemExit: 3", False),
        ("is_nan", "failed", "ObjectiveError: the objective is nan; on_nan=skip goes on", True),
        ("is_infinite", "failed", "ObjectiveError: the objective is inf; on_nan=skip goes on", True),
        ("dies", "crashed", "its process died (SIGKILL)", False),
        ("leaves", "crashed", "its process died (exit code 7)", False),
        ("hangs", "timeout", "took longer than timeout=8 s", False),
    ],
)
def test_a_run_that_goes_wrong_is_told_and_kept_and_completed(
    player, kind, error, place, tmp_path, capsys, undisturbed
):
    asked = planned(tmp_path, *(["timeout=8"] if player == "hangs" else []))
    assert Session(asked, player=f"faults:{player}").run() == 1
    printed = capsys.readouterr().out
    assert read(tmp_path).keys() == {key for key in undisturbed if key[1] != faults.BAD_SEED}
    bad = [run for run in runs(asked) if run.seed == faults.BAD_SEED]
    for run in bad:
        assert printed.count(f"{kind}: {run.name}: {error}") == 2  # as it happened, and in the end
        content = json.loads(run.failure.read_text())
        assert content["settings"] == json.loads(run.settings.json)
        assert (content["seed"], content["status"], content["error"]) == (1, kind, error)
        assert content["t"] == (None if player == "exits" else 2)
        assert (content["x"] is not None) == place
        assert ("Traceback" in content["traceback"]) == (kind == "failed")
        assert content["versions"]["lbbench"]
        assert len(peek(run.journal)[1]) == faults.GOOD
        assert status(run).word == "failed"
        assert error in status(run).detail
    assert Session(planned(tmp_path, "retry=false")).run() == 1
    assert "2 of 6 runs failed before" in capsys.readouterr().out
    assert Session(asked).run() == 0
    assert_whole(tmp_path, undisturbed)


def test_a_run_whose_process_dies_once_is_played_again(tmp_path, monkeypatch, undisturbed, capsys):
    monkeypatch.setenv(faults.ONCE, str(tmp_path / "once"))
    out = tmp_path / "out"
    assert Session(planned(out), player="faults:dies").run() == 0
    printed = capsys.readouterr().out
    assert "crashed" not in printed
    assert_whole(out, undisturbed)
    found = {run: traces.read_metadata(run.path) for run in runs(planned(out))}
    died = {run: metadata for run, metadata in found.items() if "died" in metadata}
    assert died
    for run, metadata in died.items():
        assert run.seed == faults.BAD_SEED
        assert metadata["died"] == "its process died (SIGKILL) (step 2)"
        assert [earlier["evaluations"] for earlier in metadata["earlier"]] == [0]
        told = f"{run.name}: {metadata['died']}; played again, "
        (line,) = (line for line in printed.splitlines() if f"{told}simple regret" in line)  # as it happened
        assert line.endswith(", taken up at step 2")
        assert f"\n{told}done\n" in printed  # and in the end
    assert printed.count("; played again, ") == 2 * len(died)


def test_fail_fast_stops_and_leaves_the_rest_to_the_next_command(tmp_path, undisturbed, capsys):
    asked = plan([*LINE, "jobs=1", "fail_fast=true", f"out={tmp_path}"])
    assert Session(asked, player="faults:raises").run() == 1
    assert "4 runs are left" in capsys.readouterr().out
    assert list(read(tmp_path)) == [("random", 0)]
    assert Session(planned(tmp_path)).run() == 0
    assert_whole(tmp_path, undisturbed)


def test_values_that_are_not_finite_can_be_skipped(tmp_path):
    assert Session(planned(tmp_path, "on_nan=skip"), player="faults:is_nan").run() == 0
    bad = read(tmp_path)["lb", faults.BAD_SEED]
    assert bad.y.isna().tolist() == [False] * faults.GOOD + [True] * 5
    assert traces.read_metadata(next(tmp_path.rglob("seed=1-*.parquet")))["on_nan"] == "skip"


def test_a_run_of_another_process_is_waited_for_and_taken_over(tmp_path, undisturbed):
    held = runs(planned(tmp_path))[0]
    code = (
        "import sys; from pathlib import Path; from lbbench.records.journal import Journal\n"
        "with Journal(Path(sys.argv[1]), Path(sys.argv[2])): print('held', flush=True); sys.stdin.read()"
    )
    with Journal(held.journal, tmp_path / "journal") as journal:  # as far as that process has come
        journal.begin({"signature": build.signature(held.settings)})
        for row in itertools.islice(optimising.play(held.settings, held.seed), faults.GOOD):
            journal.append(row)
    other = subprocess.Popen(
        [sys.executable, "-c", code, held.journal, tmp_path / "journal"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout.readline() == b"held\n"
    command = [sys.executable, "-u", "-m", "lbbench", "run", *LINE, f"out={tmp_path}"]
    study = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while f"waiting for {held.name}, which another process plays" not in study.stdout.readline():
        assert study.poll() is None
    other.communicate()
    printed = study.communicate(timeout=120)[0]
    assert study.returncode == 0
    assert re.search(rf"\] {held.name}: simple regret .* s, taken up at step 2$", printed, re.MULTILINE)
    assert_whole(tmp_path, undisturbed)


def test_two_studies_at_once_share_the_runs(tmp_path, undisturbed):
    command = [sys.executable, "-m", "lbbench", "run", *LINE, "jobs=1", f"out={tmp_path}"]
    studies = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [study.communicate(timeout=120)[0] for study in studies]
    assert [study.returncode for study in studies] == [0, 0], printed
    assert_whole(tmp_path, undisturbed)


def start(out):
    """A study in a process and a session of its own, whose output is in `said`, within a step of its first runs.

    The step ends once there is the file `go`.
    """
    code = (
        "import sys; from lbbench.commands.session import Session; from lbbench.plan.sweeps import plan\n"
        "if __name__ == '__main__': sys.exit(Session(plan(sys.argv[1:]), player='faults:waits').run())"
    )
    script = out.parent / "study.py"
    script.write_text(code)
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    with (out.parent / "said").open("w") as saying:
        study = subprocess.Popen(
            [sys.executable, script, *LINE, "jobs=2", f"out={out}"],
            stdout=saying,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": path, faults.GO: str(out.parent / "go")},
            start_new_session=True,
        )
    until(lambda: any(len(peek(path)[1]) > 2 for path in below(out / "journal", ".jsonl")))
    return study


def interrupt(out, send):
    """Send a signal, and wait until that is told."""
    send()
    until(lambda: "again to stop at once" in (out.parent / "said").read_text())


@pytest.mark.parametrize("to_all", [True, False])
def test_the_first_interrupt_lets_the_steps_at_hand_finish(tmp_path, undisturbed, to_all):
    out = tmp_path / "out"
    study = start(out)
    interrupt(out, lambda: os.killpg(study.pid, signal.SIGINT) if to_all else os.kill(study.pid, signal.SIGTERM))
    before = {path: len(peek(path)[1]) for path in below(out / "journal", ".jsonl")}
    (tmp_path / "go").touch()
    assert study.wait(timeout=60) == INTERRUPTED
    printed = (tmp_path / "said").read_text()
    assert "6 runs are left" in printed
    assert "Traceback" not in printed
    assert any(len(peek(path)[1]) == rows + 1 for path, rows in before.items())
    words = {found.word for found in statuses(plan([f"out={out}"]))}
    assert words == {"missing"}
    assert not (out / "failures").exists()
    assert Session(planned(out)).run() == 0
    assert_whole(out, undisturbed)


def test_the_second_interrupt_ends_all_at_once(tmp_path, undisturbed):
    out = tmp_path / "out"
    study = start(out)
    interrupt(out, lambda: os.killpg(study.pid, signal.SIGINT))
    os.killpg(study.pid, signal.SIGINT)
    assert study.wait(timeout=60) == INTERRUPTED  # within steps that do not end
    assert "Traceback" not in (tmp_path / "said").read_text()
    assert Session(planned(out)).run() == 0
    assert_whole(out, undisturbed)


def test_workers_end_when_the_command_is_killed(tmp_path, undisturbed):
    out = tmp_path / "out"
    study = start(out)
    study.kill()
    study.wait()
    (tmp_path / "go").touch()
    until(lambda: not processes(study.pid))
    assert Session(planned(out)).run() == 0
    assert_whole(out, undisturbed)


def test_force_begins_anew(tmp_path, undisturbed):
    asked = planned(tmp_path)
    first = runs(asked)[0]
    with Journal(first.journal, tmp_path / "journal") as journal:
        journal.begin({"signature": "of another objective"})
    assert Session(asked).run() == 1
    assert "the objective has changed" in failures.read(first.failure).error
    assert Session(planned(tmp_path, "force=true")).run() == 0
    assert_whole(tmp_path, undisturbed)


def test_a_journal_left_beside_a_trace_goes(tmp_path, undisturbed):
    asked = planned(tmp_path)
    assert Session(asked).run() == 0
    with Journal(runs(asked)[0].journal, tmp_path / "journal"):
        pass
    assert Session(asked).run() == 0
    assert_whole(tmp_path, undisturbed)


def test_a_file_that_is_no_trace_is_left_as_it_is(tmp_path, capsys):
    asked = planned(tmp_path)
    assert Session(asked).run() == 0
    bad = runs(asked)[0]
    torn = bad.path.read_bytes()[:1000]
    bad.path.write_bytes(torn)
    for line in ([], ["force=true"]):
        assert Session(planned(tmp_path, *line)).run() == 1
        printed = capsys.readouterr().out
        assert f"{bad.path} is no trace" in printed
        assert line or "5 of 6 runs are already there" in printed
        assert bad.path.read_bytes() == torn
    assert status(bad).word == "failed"


def test_processes_that_play_a_run_are_in_its_metadata(tmp_path):
    asked = planned(tmp_path)
    first = runs(asked)[0]
    execute([first], asked.study, lambda outcome: None)
    assert "earlier" not in traces.read_metadata(first.path)
    run = next(run for run in runs(asked) if run.seed == faults.BAD_SEED)
    execute([run], asked.study, lambda outcome: None, "faults:raises")
    execute([run], asked.study, lambda outcome: None)
    (earlier,) = traces.read_metadata(run.path)["earlier"]
    assert earlier["evaluations"] == 0
    assert earlier["versions"] == traces.read_metadata(run.path)["versions"]


def test_what_is_no_record_of_a_failure_is_left_as_it_is(tmp_path):
    bad = next(run for run in runs(planned(tmp_path)) if run.seed == faults.BAD_SEED)
    bad.failure.parent.mkdir(parents=True)
    bad.failure.write_text("{")
    assert Session(planned(tmp_path), player="faults:raises").run() == 1
    assert bad.failure.read_text() == "{"
    assert Session(planned(tmp_path)).run() == 0
    assert bad.failure.read_text() == "{"


def test_a_log_of_commands_that_was_damaged_is_read_as_far_as_it_goes(tmp_path):
    log = (
        b"\xff\xfe garbage\nnow lbbench run 'method=lb\nnow lbbench run method=zz\nnow lbbench run method=lb seeds=2\n"
    )
    (tmp_path / "commands.log").write_bytes(log)
    found = [status.run.name for status in statuses(plan([f"out={tmp_path}"]))]
    assert found == [f"michalewicz lb seed={i}" for i in (0, 1)]
