"""Runs on a Dask cluster and as jobs of submitit: the same traces as here, whatever becomes of the workers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import batch
import faults
import pytest
import submitit
from distributed import LocalCluster
from played import assert_whole, read

from lbbench.commands.session import INTERRUPTED, Session
from lbbench.errors import UsageError
from lbbench.health.status import status
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.journal import Journal, peek
from lbbench.records.run import runs
from lbbench.study.execution import dask

LINE = {"method": "random,agpucb", "problem": "berkenkamp", "iterations": "6", "seeds": "2", "jobs": "2"}


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
    assert Session(planned(out)).run() == 0
    return read(out)


CLUSTERS = pytest.mark.parametrize("cluster", ["dask", "local"], indirect=True)


@pytest.fixture
def cluster(request, tmp_path, monkeypatch):
    """What chooses a cluster of two workers, whose temporary files are in `<tmp_path>/tmp`."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [Path(__file__).parents[1], *sys.path])))
    monkeypatch.setenv(faults.OUT, str(tmp_path / "out"))
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 0)  # for which it waits for the file of a job that died
    if request.param == "local":
        yield ["execution=slurm", "execution.cluster=local"]
    elif request.param == "sbatch":
        batch.install(tmp_path / "bin")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
        yield ["execution=slurm"]
    else:
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found:
            found.scheduler.allowed_failures = 0 if "dies" in request.node.name else 3
            yield ["execution=dask", f"execution.scheduler={found.scheduler_address}"]


def holder(journal):
    """The other process that has a journal open, or None."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(journal) and int(link.parts[2]) != os.getpid():
                return int(link.parts[2])
        except OSError:
            continue
    return None


def begun(top):
    """The process that plays a run below a directory, once it has evaluated some points."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for journal in top.rglob("*.jsonl"):
            if len(peek(journal)[1]) > 2 and (found := holder(journal)):
                return found
        time.sleep(0.01)
    raise AssertionError(f"no run has begun below {top}")


@CLUSTERS
@pytest.mark.parametrize("collect", ["false", "true"])
def test_a_worker_may_be_killed_midway(cluster, collect, tmp_path, here):
    killed = []

    def kill():
        killed.append(begun(tmp_path / ("tmp" if collect == "true" else "out")))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert Session(planned(tmp_path / "out", *cluster, f"collect={collect}"), player="faults:slow").run() == 0
    killer.join()
    assert killed
    if collect == "false":
        metadata = [traces.read_metadata(path) for path in (tmp_path / "out/traces").rglob("*.parquet")]
        (earlier,) = [one["earlier"] for one in metadata if "earlier" in one]
        assert len(earlier) == 1  # the run was taken up, not begun anew
    shutil.rmtree(tmp_path / "out/slurm", ignore_errors=True)  # with the logs of the job that died
    assert_whole(tmp_path / "out", here)


@CLUSTERS
def test_workers_that_collect_write_nothing_to_out(cluster, tmp_path, here):
    assert Session(planned(tmp_path / "out", *cluster, "collect=true"), player="faults:apart").run() == 0
    assert_whole(tmp_path / "out", here)
    assert not list((tmp_path / "tmp").glob("lbbench-*"))
    assert (
        Session(
            planned(tmp_path / "out", *cluster, "force=true", "method=random", "seeds=1"), player="faults:apart"
        ).run()
        == 1
    )


@CLUSTERS
@pytest.mark.parametrize(
    ("player", "collect", "kind", "error"),
    [
        ("raises", "true", "failed", "ValueError: the objective broke"),
        ("slow", "true", "timeout", "took longer than timeout=0.2 s"),
        ("dies", "false", "crashed", "its worker was lost ("),
    ],
)
def test_failures_arrive_and_are_kept(cluster, player, collect, kind, error, tmp_path):
    limit = ["timeout=0.2"] if kind == "timeout" else []
    asked = planned(tmp_path / "out", "method=random", *cluster, f"collect={collect}", *limit)
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
def test_an_interrupt_keeps_what_was_evaluated(cluster, collect, signals, tmp_path, here):
    code = (
        "import sys; from lbbench.commands.session import Session; from lbbench.plan.sweeps import plan\n"
        "if __name__ == '__main__': sys.exit(Session(plan(sys.argv[1:]), player='faults:slower').run())"
    )
    (tmp_path / "study.py").write_text(code)
    out = tmp_path / "out"
    command = [sys.executable, tmp_path / "study.py", *arguments(out, *cluster, f"collect={collect}")]
    study = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    begun(tmp_path / ("tmp" if collect == "true" else "out"))
    for _ in range(signals):
        study.send_signal(signal.SIGINT)
        time.sleep(0.1)
    printed = study.communicate(timeout=60)[0]
    assert study.returncode == INTERRUPTED, printed
    assert "runs are left" in printed
    assert "Traceback" not in printed or "execution.cluster=local" in cluster  # which submitit's own processes print
    assert [path for path in out.iterdir() if path.name in ("failures", "slurm")] == []
    assert max(len(peek(run.journal)[1]) for run in runs(planned(out))) > 2
    deadline = time.monotonic() + 10
    while any(holder(run.journal) for run in runs(planned(out))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert Session(planned(out)).run() == 0
    assert_whole(out, here)


@pytest.mark.parametrize("cluster", ["sbatch"], indirect=True)
def test_slurm_jobs_are_an_array(cluster, tmp_path, here):
    asked = planned(tmp_path / "out", *cluster, "partition=long", "mem_gb=3", "timeout_min=7", "cores_per_run=1")
    assert Session(asked).run() == 0
    (script,) = (tmp_path / "bin").glob("*.sh")
    told = ["array=0-3%2", "partition=long", "mem=3GB", "time=7", "cpus-per-task=1"]
    assert [word for word in told if f"#SBATCH --{word}\n" not in script.read_text()] == []
    assert_whole(tmp_path / "out", here)


@pytest.mark.parametrize("cluster", ["dask"], indirect=True)
def test_a_run_that_another_command_plays_is_waited_for(cluster, tmp_path, here, capsys):
    asked = planned(tmp_path / "out", *cluster, "collect=true")
    first = runs(asked)[0]
    journal = Journal(first.journal, first.out / "journal")
    threading.Timer(3, journal.__exit__).start()
    assert Session(asked).run() == 0
    assert f"waiting for {first.name}, which another process plays" in capsys.readouterr().out
    assert_whole(tmp_path / "out", here)


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
