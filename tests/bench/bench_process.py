"""What a process, a worker and a run cost beside their steps: seconds and memory."""

import subprocess
import sys
import time
import timeit

import pytest

from lbbench.plan.sweeps import plan
from lbbench.records.traces import read, read_metadata
from lbbench.study import machine, runner

LBBENCH = [sys.executable, "-m", "lbbench"]


@pytest.mark.parametrize(("line", "code"), [("--help", 0), ("run methd=lb", 2)])
def bench_startup(report, benchmark, line, code):
    typer = min(timeit.repeat(lambda: call([sys.executable, "-c", "import typer"]), number=1, repeat=7))
    benchmark.pedantic(call, ([*LBBENCH, *line.split()], code), rounds=7)
    report(f"lbbench {line}", benchmark.stats.stats.min, "s", "python -c 'import typer'", typer, at_most=0.3)


def bench_fixed_cost(report, benchmark, tmp_path):
    """What runs of one step cost beside the step and the initial design, once a first run has imported everything."""
    runs = 51
    arguments = ["problem=berkenkamp", "iterations=1", f"seeds={runs}", "jobs=1", "cores_per_run=1", f"out={tmp_path}"]
    asked = plan(arguments)
    todo = runner.runs(asked)
    ends = []
    outcomes = benchmark.pedantic(
        runner.execute, (todo, asked.study, lambda outcome: ends.append(time.perf_counter())), rounds=1
    )
    assert [outcome.status for outcome in outcomes] == ["done"] * runs
    steps = read([outcome.run.path for outcome in outcomes[1:]], ["suggest_s", "evaluate_s"]).to_numpy().sum()
    report("a run, beside its steps", 1e3 * (ends[-1] - ends[0] - steps) / (runs - 1), "ms", at_most=50)


def bench_two_jobs(report, benchmark, tmp_path):
    """Seconds a run, from the first trace of every job to the last trace of all: libraries are imported by then."""
    if machine.usable_cores() < 2:
        pytest.skip("needs two cores")
    runs = 14
    line = ["method=lb", "problem=michalewicz", f"seeds={runs}", "cores_per_run=1"]

    def seconds(jobs):
        times = [trace.stat().st_mtime for trace in traces(tmp_path / str(jobs), *line, f"jobs={jobs}")]
        return (times[-1] - times[jobs - 1]) / (runs - jobs)

    one = seconds(1)
    two = benchmark.pedantic(seconds, (2,), rounds=1)
    report("LB on michalewicz, T = 250: a run, two jobs", two, "s", "one job", one, ratio_at_least=1.8)


def bench_memory(report, tmp_path):
    """Of workers, so with two jobs: Linux would count this process's memory towards that of a process it starts."""
    most = max(map(memory, traces(tmp_path / "figure3", "+experiment=figure3", "seeds=1", "jobs=2")))
    report("a worker's peak memory, figure 3", most, "MB", at_most=700)
    line = ["method=lb", "problem=berkenkamp", "seeds=100", "iterations=20", "jobs=2"]
    grown = list(map(memory, traces(tmp_path / "many", *line)))
    early, late = max(grown[2:6]), max(grown[-4:])  # after the imports of each worker's first run
    report("a worker's peak memory, 50th run", late, "MB", "2nd and 3rd run", early, ratio_at_least=0.98)


def call(command, code=0):
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == code, done.stderr


def traces(out, *line):
    """The traces that a command line leaves, in the order in which they were written."""
    call([*LBBENCH, "run", *line, f"out={out}"])
    return sorted((out / "traces").rglob("*.parquet"), key=lambda trace: trace.stat().st_mtime)


def memory(trace):
    return read_metadata(trace)["peak_memory_mb"]
