"""Runs on a Dask cluster and as jobs of submitit: the same traces as here, whatever becomes of the workers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import batch
import faults
import pytest
import submitit
from distributed import LocalCluster
from played import assert_whole, complete, read, until

from lbbench.commands.session import INTERRUPTED, Session
from lbbench.errors import UsageError
from lbbench.health.status import status
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.journal import Journal, peek
from lbbench.records.run import runs
from lbbench.study import worker
from lbbench.study.execution import dask
from lbbench.study.worker import Task

LINE = {"method": "agpucb", "problem": "berkenkamp", "iterations": "6", "seeds": "2", "jobs": "2"}


def planned(out, *line):
    return plan(arguments(out, *line))


def arguments(out, *line):
    """The study of `LINE`, but for what `line` says."""
    chosen = LINE | dict(argument.split("=", 1) for argument in line)
    return [*(f"{key}={value}" for key, value in chosen.items()), f"out={out}"]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The traces of the same study on this machine."""
    out = tmp_path_factory.mktemp("here")
    complete(runs(planned(out)))
    return read(out)


CLUSTERS = pytest.mark.parametrize("cluster", ["dask", "local"], indirect=True)


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    """A directory that all workers know of: it has their temporary files in `tmp`; see `out`."""
    top = tmp_path_factory.mktemp("top")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TMPDIR", str(top / "tmp"))
        environment.setenv("PYTHONPATH", os.pathsep.join(map(str, [Path(__file__).parent, *sys.path])))
        environment.setenv(faults.OUT, str(top / "out"))
        environment.setenv(faults.GO, str(top / "go"))
        yield top


@pytest.fixture(scope="module")
def two_workers(top):
    """A cluster of Dask, whose workers start but once for all tests."""
    (top / "tmp").mkdir(exist_ok=True)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found:
        yield found


@pytest.fixture
def out(top):
    """The output directory of a study."""
    (top / "tmp").mkdir(exist_ok=True)
    (top / "go").unlink(missing_ok=True)
    for path in (top / "out", *(top / "tmp").glob("lbbench-*")):  # of workers that were killed
        shutil.rmtree(path, ignore_errors=True)
    (top / "out").mkdir()
    return top / "out"


@pytest.fixture
def cluster(request, out, tmp_path, monkeypatch):
    """What chooses a cluster of two workers."""
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 0)  # for which it waits for the file of a job that died
    if request.param == "local":
        return ["execution=slurm", "execution.cluster=local"]
    if request.param == "sbatch":
        batch.install(tmp_path / "bin")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
        return ["execution=slurm"]
    found = request.getfixturevalue("two_workers")
    found.scheduler.allowed_failures = 0 if "dies" in request.node.name else 3
    return ["execution=dask", f"execution.scheduler={found.scheduler_address}"]


def holder(journal):
    """The other process that has a journal open, or None."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(journal) and int(link.parts[2]) != os.getpid():
                return int(link.parts[2])
        except OSError:
            continue
    return None


def begun(out, collect):
    """The process that plays a run, once it has evaluated some points."""
    journals = (out.parent / "tmp" if collect == "true" else out).rglob
    found = (holder(path) for path in journals("*.jsonl") if len(peek(path)[1]) > 2)
    return next(filter(None, found), None)


@CLUSTERS
@pytest.mark.parametrize("collect", ["false", "true"])
def test_a_worker_may_be_killed_midway(cluster, collect, out, here, capsys):
    killed = []

    def kill():
        killed.append(until(lambda: begun(out, collect)))
        os.kill(killed[0], signal.SIGKILL)
        (out.parent / "go").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    assert Session(planned(out, *cluster, f"collect={collect}"), player="faults:held").run() == 0
    killer.join()
    assert killed
    printed = capsys.readouterr().out
    found = [traces.read_metadata(path) for path in (out / "traces").rglob("*.parquet")]
    died = [metadata["died"] for metadata in found if "died" in metadata]
    if "execution=dask" in cluster:  # which sends a run to another worker itself
        assert died == []
    else:
        assert died[0].startswith("its worker was lost (")
        assert printed.count("; played again, ") == 2 * len(died) == 2
    if collect == "false":
        (earlier,) = [one["earlier"] for one in found if "earlier" in one]
        assert len(earlier) == 1  # the run was taken up, not begun anew
        assert printed.count(", taken up at step 1\n") == 1
    shutil.rmtree(out / "slurm", ignore_errors=True)  # with the logs of the job that died
    assert_whole(out, here)


@CLUSTERS
def test_workers_that_collect_write_nothing_to_out(cluster, out, here):
    asked = planned(out, *cluster, "collect=true")
    assert Session(asked, player="faults:apart").run() == 0
    assert_whole(out, here)
    assert not list((out.parent / "tmp").glob("lbbench-*"))  # where workers had them
    assert worker.attempt(Task(runs(asked)[0], {}, force=True, player="faults:apart"), lambda: False, 1).failure


@CLUSTERS
@pytest.mark.parametrize(
    ("player", "collect", "kind", "error"),
    [
        ("raises", "true", "failed", "ValueError: the objective broke"),
        ("slow", "true", "timeout", "took longer than timeout=0.2 s"),
        ("dies", "false", "crashed", "its worker was lost ("),
    ],
)
def test_failures_arrive_and_are_kept(cluster, player, collect, kind, error, out):
    limit = ["timeout=0.2"] if kind == "timeout" else []
    asked = planned(out, "method=random", *cluster, f"collect={collect}", *limit)
    assert Session(asked, player=f"faults:{player}").run() == 1
    bad = [run for run in runs(asked) if run.seed == faults.BAD_SEED or kind == "timeout"]
    assert [run for run in runs(asked) if run.path.exists()] == [run for run in runs(asked) if run not in bad]
    for run in bad:
        content = json.loads(run.failure.read_text())
        assert (content["seed"], content["status"]) == (run.seed, kind)
        assert content["error"].startswith(error)
        assert (content["x"] is not None) == (kind == "failed")
        assert status(run).word == "failed"
        assert content["t"] == peek(run.journal)[1][-1]["t"] + 1


@pytest.mark.parametrize("cluster", ["dask", "local", "sbatch"], indirect=True)
@pytest.mark.parametrize(("signals", "collect"), [(1, "true"), (2, "false")])
def test_an_interrupt_keeps_what_was_evaluated(cluster, collect, signals, out, tmp_path, here):
    code = (
        "import sys; from lbbench.commands.session import Session; from lbbench.plan.sweeps import plan\n"
        "if __name__ == '__main__': sys.exit(Session(plan(sys.argv[1:]), player='faults:waits').run())"
    )
    (tmp_path / "study.py").write_text(code)
    one_waits = arguments(out, *cluster, f"collect={collect}", "jobs=1")
    command = [sys.executable, tmp_path / "study.py", *one_waits]
    said = tmp_path / "said"
    with said.open("w") as saying:
        study = subprocess.Popen(command, stdout=saying, stderr=subprocess.STDOUT)
    until(lambda: begun(out, collect))
    study.send_signal(signal.SIGINT)
    until(lambda: "again to stop at once" in said.read_text())
    if signals == 1:
        (out.parent / "go").touch()
    else:
        study.send_signal(signal.SIGINT)
    assert study.wait(timeout=60) == INTERRUPTED, said.read_text()
    (out.parent / "go").touch()
    assert "runs are left" in said.read_text()
    told = "Traceback" in said.read_text()
    assert not told or "execution.cluster=local" in cluster  # which submitit's own processes print
    assert [path for path in out.iterdir() if path.name in ("failures", "slurm")] == []
    assert max(len(peek(run.journal)[1]) for run in runs(planned(out))) > 2
    until(lambda: not any(holder(run.journal) for run in runs(planned(out))))
    complete(runs(planned(out)))
    assert_whole(out, here)


@pytest.mark.parametrize("cluster", ["sbatch"], indirect=True)
def test_slurm_jobs_are_an_array(cluster, out, tmp_path, here):
    asked = planned(out, *cluster, "partition=long", "mem_gb=3", "timeout_min=7", "cores_per_run=1")
    assert Session(asked).run() == 0
    (script,) = (tmp_path / "bin").glob("*.sh")
    told = ["array=0-1%2", "partition=long", "mem=3GB", "time=7", "cpus-per-task=1"]
    assert [word for word in told if f"#SBATCH --{word}\n" not in script.read_text()] == []
    assert_whole(out, here)


@pytest.mark.parametrize("cluster", ["dask"], indirect=True)
def test_a_run_that_another_command_plays_is_waited_for(cluster, out, here, monkeypatch):
    asked = planned(out, *cluster, "collect=true")
    first = runs(asked)[0]
    journal = Journal(first.journal, first.out / "journal")
    said = []

    def say(session, text, style=None):
        said.append(text)
        if text == f"waiting for {first.name}, which another process plays":
            journal.__exit__()

    monkeypatch.setattr(Session, "_say", say)
    assert Session(asked).run() == 0
    assert len([text for text in said if text.startswith("waiting for")]) == 1
    assert_whole(out, here)


@pytest.mark.parametrize(
    ("line", "missing", "told"),
    [
        (["execution=dask"], None, "needs execution.scheduler=, an address such as tcp://host:8786"),
        (["execution=dask", "scheduler=tcp://127.0.0.1:1"], None, "scheduler=tcp://127.0.0.1:1: no Dask scheduler"),
        (["execution=dask", "scheduler=tcp://127.0.0.1:1"], "distributed", "pip install 'lbbench[dask]'"),
        (["execution=slurm"], None, "sbatch and srun are not found"),
        (["execution=slurm"], "submitit", "pip install 'lbbench[slurm]'"),
        (["execution=local,dask"], None, "execution takes one value, not 2"),
        (["execution=ray"], None, "execution=ray is unknown; allowed: dask, local, slurm"),
        (["execution=local", "scheduler=tcp://host:1"], None, "scheduler is not a setting of what was chosen"),
        (["execution=dask", "scheduler=host"], None, "scheduler=host: must be 'none' or an address such as tcp://"),
        (["execution=slurm", "cluster=mine"], None, "cluster=mine: must be one of slurm, local"),
    ],
)
def test_a_cluster_that_is_not_there_is_told_in_one_line(line, missing, told, tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "TIMEOUT_S", 1)
    monkeypatch.setenv("PATH", "")
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError) as raised:
        Session(planned(tmp_path, *line)).run()
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "slurm").exists()


def test_where_runs_are_played_is_no_setting_of_theirs(tmp_path):
    here, there = (runs(planned(tmp_path, *line)) for line in ([], ["execution=dask", "execution.scheduler=tcp://a:1"]))
    assert [run.path for run in here] == [run.path for run in there]
