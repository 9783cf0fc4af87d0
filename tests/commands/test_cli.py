"""The command line as a user types it, in processes of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import made_up
import pytest
from chaos import studies

from lbbench.study import machine

COMMAND = [sys.executable, "-m", "lbbench"]


def lbbench(*arguments, cwd):
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300)


WRONG = {
    "run method=foo": ["method=foo", "agpucb, ei, gpts, gpucb, igpucb, lb, lnb, mcmc, mle, oracle, pi, random, tight"],
    "run problem=foo": ["problem=foo", "agnp, autoam, berkenkamp, crossedbarrel, csv, gpmatern"],
    "export thin=0": ["thin=0", "'none' or a whole number from 1 to 1000"],
    "export thin=1001": ["thin=1001", "1 to 1000"],
    "export thin=5,10": ["thin takes one value, not 2"],
    "run seeds=-1": ["seeds=-1", "a count", "a range", "a list"],
    "run iterations=0": ["iterations=0", "whole number from 1 up"],
    "run iterations=2.5": ["iterations=2.5", "whole number"],
    "run g=t^": ["g=t^", "^ expected a number, t"],
    'run g=__import__("os")': ['g=__import__("os")', "^ expected a number, t"],
    "run g=1/(t-3)": ["g=1/(t-3)", "t=3"],
    "run methd=lb": ["methd", "did you mean 'method'", "problem"],
    "run method=lb method=mle": ["method", "given twice", "commas"],
    "run kernel=rbf gp.kernel=rbf": ["kernel", "given twice"],
    "run method=random elimination=prior": ["elimination", "allowed here"],
    "run elimination=maybe": ["elimination=maybe", "prior, posterior, posterior2"],
    "run theta0=-0.5": ["theta0=-0.5", "'mle' or a number from 1e-6"],
    "run problem.dim=3": ["problem.dim=3", "2, 5, 10"],
    "run noise_std=nan": ["noise_std=nan", "from 0 up"],
    "run seeds=1,2": ["seeds", "one value"],
    "run lb": ["lb", "key=value"],
    "run g=": ["g=", "empty"],
    "run out=${oc.env:HOME}": ["out", "not allowed"],
    "run +experiment=figure99": ["+experiment=figure99", "figure3"],
    "run --fast": ["--fast"],
    "fly": ["fly"],
    "list colours": ["colours", "methods, problems"],
    "show problem=foo": ["problem=foo", "agnp"],
    "ablate": ["several values", "g=t^0.25,t^0.5,t^0.75"],
    "ablate g=t^0.25": ["several values"],
    "table format=pdf": ["format=pdf", "text, markdown, csv, latex"],
    "table format=csv table=ranks,tests": ["table", "one value"],
    "table methd=lb": ["methd", "did you mean 'method'"],
    "export to=there": ["to=there is not inside out=results", "if it is meant: to=/", "/there"],
    "report to=../there.html out=here": ["to=../there.html is not inside out=here", "/there.html"],
    "report to=results/../../there": ["not inside out=results"],
    "export to=~no-such-user/there": ["to=~no-such-user/there", "no such user"],
    "doctor methd=lb": ["methd", "allowed here: out"],
    "doctor jobs=2": ["jobs", "allowed here: out"],
    "doctor out=a,b": ["out takes one value, not 2"],
    "doctor out": ["'out' is not of the form key=value"],
    "export +experiment=figure99": ["+experiment=figure99", "figure3"],
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines_exit_with_2_and_one_or_two_lines(line, tmp_path):
    result = lbbench(*line.split(" "), cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert 1 <= len(result.stderr.splitlines()) <= 2
    assert "Traceback" not in result.stderr
    for word in WRONG[line]:
        assert word in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_pointer_stands_under_the_character(tmp_path):
    text, pointer = lbbench("run", "g=max(2, t^)", cwd=tmp_path).stderr.splitlines()
    assert text[pointer.index("^")] == ")"


HEAVY = ("torch", "botorch", "gpytorch", "pyro", "numpy", "scipy", "pandas", "hydra")


@pytest.mark.parametrize("line", ["--help", "run --help", "list", *WRONG])
def test_help_list_and_usage_errors_import_nothing_heavy(line, tmp_path):
    code = (
        "import sys; from lbbench.cli import main\n"
        "try: main()\n"
        f"finally: print(sorted(set({HEAVY}) & set(sys.modules)), file=open('found', 'w'))"
    )
    subprocess.run([sys.executable, "-c", code, *line.split(" ")], cwd=tmp_path, capture_output=True, timeout=60)
    assert (tmp_path / "found").read_text().strip() == "[]"


def test_list_and_show(tmp_path):
    listed = lbbench("list", cwd=tmp_path)
    assert listed.returncode == 0
    for name in ("lb ", "random", "agnp", "crossedbarrel", "figure3"):
        assert name in listed.stdout
    shown = lbbench("show", "method=lb", "g=t^0.25", cwd=tmp_path)
    assert shown.returncode == 0
    assert "g = t^0.25" in shown.stdout
    assert "prior, posterior or posterior2" in shown.stdout
    assert "noise_std" not in shown.stdout
    assert shown.stdout.startswith("method: lb\n")
    for word in ("kernel = matern52", "delta = 0.01", "iterations = 250", "jobs = auto"):
        assert shown.stdout.count(word) == 1
    swept = lbbench("show", "method=lb,mle", "elimination=prior,posterior", cwd=tmp_path).stdout
    assert (swept.count("method: lb"), swept.count("method: mle"), swept.count("kernel = matern52")) == (2, 1, 1)
    kernels = lbbench("show", "method=mle", "kernel=rbf,matern52", cwd=tmp_path).stdout
    assert (kernels.count("method: mle"), kernels.count("kernel = rbf"), kernels.count("kernel = matern52")) == (
        2,
        1,
        1,
    )
    everything = lbbench("show", "seeds=5-9", cwd=tmp_path)
    for word in ("noise_std = 0.0", "kernel = matern52", "seeds = 5-9", "jobs = auto"):
        assert word in everything.stdout


def test_show_problem_has_its_facts(tmp_path):
    shown = lbbench("show", "problem=agnp", cwd=tmp_path)
    assert shown.returncode == 0
    assert "pool of 164" in shown.stdout
    assert "-0.14836082" in shown.stdout
    assert "length scale" in shown.stdout


def test_version_and_doctor(tmp_path):
    assert lbbench("--version", cwd=tmp_path).stdout.startswith("lbbench ")
    found = lbbench("doctor", cwd=tmp_path)
    assert found.returncode == 0, found.stdout
    threads = f"torch {machine.cores_per_run('auto')} in a worker"
    for word in ("numpy", "cores", "memory", threads, "locks hold", "configs", "agnp: can be"):
        assert word in found.stdout
    assert list(tmp_path.iterdir()) == []


def test_run_skips_and_forces(tmp_path):
    line = ["run", "method=random", "problem=berkenkamp", "seeds=2", "iterations=5", "jobs=1"]
    first = lbbench(*line, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "2 runs" in first.stdout
    assert "berkenkamp" in first.stdout
    traces = sorted((tmp_path / "results/traces/berkenkamp/random").iterdir())
    assert [trace.name[:7] for trace in traces] == ["seed=0-", "seed=1-"]
    before = [trace.stat().st_mtime_ns for trace in traces]
    again = lbbench(*line, cwd=tmp_path)
    assert "2 of 2 runs are already there" in again.stdout
    assert [trace.stat().st_mtime_ns for trace in traces] == before
    forced = lbbench(*line, "force=true", cwd=tmp_path)
    assert "already there" not in forced.stdout
    assert [trace.stat().st_mtime_ns for trace in traces] != before


def test_the_closing_table_is_not_cut_to_a_narrow_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    line = ["run", "problem=berkenkamp", "elimination=posterior,posterior2", "seeds=1", "iterations=1", "jobs=1"]
    rows = lbbench(*line, cwd=tmp_path).stdout.splitlines()
    assert [row.split()[:3] for row in rows if row.startswith("berkenkamp  ")] == [
        ["berkenkamp", "LB", "posterior"],
        ["berkenkamp", "LB", "posterior2"],
    ]


def test_bare_command_prints_its_help(tmp_path):
    bare = lbbench(cwd=tmp_path)
    assert bare.returncode == 0
    assert bare.stdout.startswith("Usage: ")
    assert "..." not in bare.stdout.partition("Commands:")[2]  # no line is cut
    assert bare.stderr == ""


def test_a_failed_run_is_named_and_the_exit_code_is_1(tmp_path):
    line = ["run", "method=random,lb", "problem=berkenkamp", "noise_std=0,1e308", "seeds=1", "iterations=2", "jobs=1"]
    result = lbbench(*line, cwd=tmp_path)
    assert result.returncode == 1
    assert "failed: berkenkamp lb noise_std=1e+308 seed=0: NumericalError: " in result.stdout
    assert "is not within ±1e+302 (step " in result.stdout
    assert "Traceback" not in result.stdout + result.stderr
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    table = result.stdout[result.stdout.index("problem ") :]
    assert "Random" in table
    assert "LB" in table


@pytest.mark.parametrize("out", ["file", "/proc/nowhere", "a" * 300])
def test_an_out_that_cannot_be_written_is_found_before_anything_runs(out, tmp_path):
    (tmp_path / "file").write_text("a file where a directory should be")
    result = lbbench("run", "method=random", "problem=berkenkamp", f"out={out}", cwd=tmp_path)
    assert result.returncode == 2
    assert "out=" in result.stderr
    assert "cannot be written to" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    made_up.study(out, methods=("lb", "random"), problems=("toy",), seeds=1, steps=3)
    return out / "traces"


UNWRITABLE = {
    "plot figure=1 out=file": "out=file is a file",
    "report to=results": "results cannot be used: Is a directory",
    f"report to=results/{'a' * 300}": "File name too long",
    "export to=results/file": "results/file is a file",
    "export to=results/file/deeper": "results/file/deeper",
}


@pytest.mark.parametrize("line", UNWRITABLE)
def test_what_cannot_be_written_to_is_one_line(line, traces, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/traces").symlink_to(traces)
    for file in ("file", "results/file"):
        (tmp_path / file).write_text("mine")
    result = lbbench(*line.split(), cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert UNWRITABLE[line] in result.stderr
    assert (tmp_path / "file").read_text() == (tmp_path / "results/file").read_text() == "mine"


def test_a_reader_that_has_seen_enough_ends_the_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run([*COMMAND, "list"], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (result.returncode, result.stderr) == (1, "")


def test_a_tilde_is_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    line = ["run", "method=random", "problem=berkenkamp", "seeds=1", "iterations=2", "jobs=1", "out=~/there"]
    assert lbbench(*line, cwd=tmp_path).returncode == 0
    assert [path.parts[-6:-1] for path in tmp_path.rglob("*.parquet")] == [
        ("home", "there", "traces", "berkenkamp", "random")
    ]


def test_a_broken_trace_is_named_and_kept(tmp_path):
    line = ["run", "method=random", "problem=berkenkamp", "seeds=1", "iterations=2", "jobs=1"]
    lbbench(*line, cwd=tmp_path)
    (trace,) = tmp_path.rglob("*.parquet")
    trace.write_bytes(trace.read_bytes()[:100])
    for words in ([], ["force=true"]):
        broken = lbbench(*line, *words, cwd=tmp_path)
        assert broken.returncode == 1
        assert f"{trace.relative_to(tmp_path)} is no trace" in broken.stdout
        assert "Traceback" not in broken.stdout + broken.stderr
        assert len(trace.read_bytes()) == 100
    trace.unlink()
    assert lbbench(*line, cwd=tmp_path).returncode == 0


def start(*line, cwd):
    """A study of long runs, once its first run is under way."""
    process = subprocess.Popen([*COMMAND, *line], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "runs to do" in process.stdout.readline()
    return process


def test_an_interrupted_study_says_how_to_go_on(tmp_path):
    process = start("run", "problem=berkenkamp", "seeds=9", "iterations=40", "jobs=1", cwd=tmp_path)
    assert "[1/9]" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in errors
    assert "Traceback" not in errors
    assert [path for path in tmp_path.rglob("*.tmp")] == []


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="finds workers by /proc")
def test_a_killed_worker_costs_a_study_nothing(tmp_path):
    line = ["method=random", "problem=berkenkamp", "seeds=4", "iterations=20000", "jobs=2"]
    study = studies.start(tmp_path, line=line)
    deadline = time.monotonic() + 60
    while not (workers := studies.workers(study)) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(workers[0], signal.SIGKILL)
    assert "4 runs in " in studies.end(study, 0)
