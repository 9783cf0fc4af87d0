"""A small study of all methods, as a command in a session of its own; what it must leave, and what is lost of that."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

from chaos.amounts import amount
from lbbench.commands.session import Session
from lbbench.plan.configs import options
from lbbench.plan.sweeps import plan

ALL = f"method={','.join(options('method'))}"
MORE = ["problem=berkenkamp,agnp", "sampler=quadrature,nuts", "warmup=5", "samples=8"]
LINE = [ALL, "iterations=4", "seeds=1", "jobs=2", *amount(MORE, ["problem=berkenkamp"])]
PLAYED = (
    "import sys; from lbbench.commands.session import Session; from lbbench.plan.sweeps import plan\n"
    "sys.exit(Session(plan(sys.argv[2:]), player=sys.argv[1]).run())"
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
TIMES = ["suggest_s", "evaluate_s"]
END_S = 60  # within which what was killed, and all that belonged to it, is gone


def start(out, *more, line=LINE, player=None, **options):
    """`lbbench run`, or the same with a player of `faults`."""
    what = ["-m", "lbbench", "run"] if player is None else ["-c", PLAYED, f"faults:{player}"]
    return subprocess.Popen(
        [sys.executable, *what, *line, *more, f"out={out}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
        **options,
    )


def end(study, code):
    """Wait for a command; returns what it printed, without a traceback."""
    printed = study.communicate(timeout=300)[0]
    assert study.returncode == code, printed
    assert "Traceback" not in printed
    await_end(study)
    return printed


def await_end(study):
    """Wait until no process of a command is left."""
    deadline = time.monotonic() + END_S
    while left := processes(study.pid):
        assert time.monotonic() < deadline, f"{left} outlive their command"
        time.sleep(0.02)


def processes(session):
    """The processes of a session that run, each with its parent."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, _, its = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has ended
            continue
        if int(its) == session and state != "Z":
            found[int(path.parent.name)] = int(parent)
    return found


def workers(study):
    """The processes of a command that play runs."""
    spawned = []
    for pid, parent in processes(study.pid).items():
        try:
            if parent == study.pid and b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                spawned.append(pid)
        except OSError:  # it has ended
            continue
    return spawned


def complete(out, *more, line=LINE):
    """One more run."""
    assert Session(plan([*line, *more, f"out={out}"])).run() == 0


def traces(out):
    """All but the times of each trace, to compare bit for bit."""
    return {path.relative_to(out): _rows(path) for path in (out / "traces").rglob("*.parquet")}


def _rows(path):
    with path.open("rb") as file:
        return json.dumps(pq.read_table(file).drop_columns(TIMES).to_pylist())


def losses(out, undisturbed):
    """What is missing, differs, or is there without being a trace or the log."""
    found = {path.relative_to(out) for path in out.rglob("*")} - {Path("commands.log")}
    wanted = {*undisturbed, *(parent for path in undisturbed for parent in path.parents[:-1])}
    lost = [f"{path} is missing" for path in wanted - found] + [f"{path} is astray" for path in found - wanted]
    for path in undisturbed.keys() & found:
        try:
            if _rows(out / path) != undisturbed[path]:
                lost.append(f"{path} differs")
        except Exception as error:  # whatever keeps it from being read
            lost.append(f"{path}: {error}")
    return lost


def assert_whole(out, undisturbed, count):
    """Nothing is lost; counts what is."""
    lost = losses(out, undisturbed)
    count("losses", len(lost))
    assert not lost, "\n".join(map(str, lost))
