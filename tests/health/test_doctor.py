"""`lbbench doctor`: each thing that can be wrong is found, and comes with what to do."""

import contextlib
import errno
import fcntl
import importlib.metadata
import importlib.util
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import made_up
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.health import doctor
from lbbench.plan import build, configs, settings
from lbbench.plan.sweeps import plan
from lbbench.records.run import runs
from lbbench.study import machine


def by_name(found):
    return {check.name: check for check in found}


def test_versions_are_held_against_the_installed_requirements(monkeypatch):
    asked = [
        "numpy>=2.0",
        "scipy>=999",
        "no-such>=1.2,<3",
        "nor-this>=1; extra == 'dev'",
        "nor-that; extra == 'materials'",
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: asked)
    found = by_name(doctor._versions())
    numpy = importlib.metadata.version("numpy")
    assert found["numpy"] == doctor.Check("numpy", numpy)
    assert found["python"].advice == ""
    assert found["scipy"].advice == "pip install 'scipy>=999'"
    assert found["no-such"] == doctor.Check("no-such", "missing", "pip install 'no-such<3,>=1.2'")
    assert found["nor-that"].advice == "pip install 'nor-that'"
    assert "nor-this" not in found


def test_requirements_of_the_checkout_are_met_by_its_environment():
    assert [check for check in doctor._versions() if check.advice] == []


def test_a_pool_of_too_many_threads_is_a_problem(monkeypatch):
    monkeypatch.setattr(machine, "cores_per_run", lambda setting: 2)
    pools = [("libgomp", 2), ("torch", 2)]
    in_a_worker = SimpleNamespace(submit=lambda look, threads: SimpleNamespace(result=lambda: pools))
    monkeypatch.setattr(doctor, "ProcessPoolExecutor", lambda *arguments: contextlib.nullcontext(in_a_worker))
    (check,) = doctor._threads()
    assert check == doctor.Check("threads", "libgomp 2, torch 2 in a worker")
    pools[1] = ("torch", 8)
    (check,) = doctor._threads()
    assert "torch 8" in check.found
    assert check.advice == "start it as: OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 MKL_NUM_THREADS=2 lbbench run …"


def test_little_memory_and_a_clock_that_is_behind_are_problems(monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: 8)
    monkeypatch.setattr(machine, "available_memory_gb", lambda: 4.0)
    fine = by_name(doctor._machine())
    assert (fine["memory"].advice, fine["clock"].advice) == ("", "")
    assert "8 jobs of 1 thread" in fine["cores"].found
    monkeypatch.setattr(machine, "available_memory_gb", lambda: 1.2)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    bad = by_name(doctor._machine())
    assert bad["memory"].advice == "close other programs, or set jobs=2"
    assert "set it" in bad["clock"].advice


def output(out):
    return by_name(doctor._output(out))


def test_a_directory_for_traces_is_tried_out_and_left_as_it_is(tmp_path):
    for out in (tmp_path, tmp_path / "not" / "yet"):
        assert {check.advice for check in output(out).values()} == {""}
        assert f"free at {tmp_path}" in output(out)["disk"].found
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["file", "file/deeper", "dangling", "/proc/nowhere"])
def test_a_directory_that_cannot_be_written_to_is_a_problem(out, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    check = output(tmp_path / out)["out"]
    assert "cannot be written to" in check.found
    assert check.advice == "choose another directory with out="


def refuse(file, operation):
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("flock", [lambda file, operation: None, refuse], ids=["ignored", "refused"])
def test_file_locks_that_do_not_hold_are_a_problem(flock, tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", flock)
    check = output(tmp_path)["out"]
    assert "file locks do not hold" in check.found
    assert "one study at a time" in check.advice


def test_a_full_disk_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**12, 10**12 - 10**8, 10**8))
    assert output(tmp_path)["disk"].found.startswith("0.1 GB free")
    assert "free some" in output(tmp_path)["disk"].advice


@pytest.fixture
def own_configs(tmp_path, monkeypatch):
    folder = tmp_path / "configs"
    shutil.copytree(configs.config_dir(), folder)
    for module in (configs, doctor, settings):
        monkeypatch.setattr(module, "config_dir", lambda: folder)
    return folder


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


FAULTS = {
    "config": ("kernel: matern52", "kernel: cubic", "kernel=cubic: must be one of matern52"),
    "method/lb": ("t0: auto", "t0: [", "no YAML"),
    "problem/agnp": ("initial: 10", "initail: 10", "initail"),
    "problem/berkenkamp": ("name: berkenkamp", "name: ../../../berkenkamp", "must be berkenkamp"),
    "experiment/figure2": ("problem=michalewicz", "problem=foo", "problem=foo is unknown"),
    "experiment/figure4": ("method=lb,agpucb", "+experiment=figure4", "names itself"),
}


def test_the_configs_are_right(own_configs):
    (check,) = doctor._configs()
    assert (check.found, check.advice) == (f"{own_configs} (13 methods, 16 problems, 8 presets)", "")


@pytest.mark.parametrize("name", FAULTS)
def test_a_config_that_is_wrong_is_named(name, own_configs):
    before, after, words = FAULTS[name]
    edit(own_configs / f"{name}.yaml", before, after)
    found = list(doctor._configs())
    assert found[0].found.startswith(f"{own_configs / name}.yaml: ")
    assert words in found[0].found
    assert "correct it" in found[0].advice


def test_no_name_in_configs_makes_traces_leave_their_directory(own_configs, tmp_path):
    shutil.copy(own_configs / "problem/agnp.yaml", own_configs / "problem/...yaml")  # whose stem is ".."
    with pytest.raises(configs.UsageError, match=r"problem=\.\. is unknown"):
        plan(["problem=.."])
    for group, name in (("problem", "berkenkamp"), ("method", "random")):
        for other in ("../../../x", "/x", "..", "agnp"):
            edit(own_configs / f"{group}/{name}.yaml", f"name: {name}", f"name: {other}")
            with pytest.raises(configs.UsageError, match=f"name: {other} must be {name}"):
                runs(plan(["method=random", "problem=berkenkamp", f"out={tmp_path}"]))
            edit(own_configs / f"{group}/{name}.yaml", f"name: {other}", f"name: {name}")


def test_data_that_are_missing_or_not_as_they_should_be_are_a_problem(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bocode" else find_spec(name))
    monkeypatch.setattr("lbbench.problems.synthetic._berkenkamp", lambda x: 0.8 + 0.0 * x[:, 0])
    build._problem.cache_clear()
    found = {check.found.partition(":")[0]: check for check in doctor._data()}
    build._problem.cache_clear()
    assert "pip install 'bocode>=1.0.1'" in found["agnp"].found
    assert "above the maximum 0.745" in found["berkenkamp"].found
    assert all(found[name].advice for name in ("agnp", "crossedbarrel", "berkenkamp"))
    assert found["michalewicz"] == doctor.Check("data", "michalewicz: can be evaluated")


def test_what_a_look_raises_is_its_finding_and_the_others_follow(monkeypatch):
    def broken():
        raise ImportError("libtorch.so is missing\nand more")
        yield

    for name in ("_versions", "_machine", "_threads", "_configs"):
        monkeypatch.setattr(doctor, name, broken)
    monkeypatch.setattr(doctor, "_data", lambda: iter([doctor.Check("data", "fine")]))
    monkeypatch.setattr(doctor, "_output", lambda out: iter([doctor.Check("out", str(out))]))
    monkeypatch.setattr(doctor, "_files", lambda out: iter([]))
    found = list(doctor.checks())
    assert [check.name for check in found] == ["versions", "machine", "threads", "out", "configs", "data"]
    assert found[0].found == "ImportError: libtorch.so is missing"
    assert all(check.advice for check in found if check.found.startswith("ImportError"))
    assert found[3].found == "results"
    assert found[5].found == "fine"


def test_the_command_prints_what_to_do_and_exits_with_1(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(
        doctor,
        "checks",
        lambda out: asked.append(out) or [doctor.Check("cores", "2"), doctor.Check("disk", "0", "free some")],
    )
    result = CliRunner().invoke(cli.app, ["doctor", f"out={tmp_path}"])
    assert result.exit_code == 1
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["ok", "cores", "2"], ["!!", "disk", "0"], ["→", "free", "some"],
    ]  # fmt: skip
    assert asked == [tmp_path]


def test_a_file_that_is_no_trace_is_named(tmp_path):
    file = tmp_path / "traces" / "berkenkamp" / "lb" / "seed=0-0123456789.parquet"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"torn")
    (check,) = doctor._objectives(tmp_path)
    assert check.found.startswith(f"{file} is no trace")
    assert check.advice == "move it away; the run is done again"


ASTRAY = {
    "traces/a/note.txt": (b"mine", "is none of lbbench's", "move it away"),
    "traces/a/.seed=0-0123456789.parquet.tmp": (b"half", "was left by a process that was killed", "move it away"),
    "journal/a/seed=0-0123456789.jsonl": (b"mine", "is no journal", "move it away; the run is done again"),
    "journal/seed=1-0123456789.jsonl": (b'{"lbbench": {"version": 1}}\n', "is a journal without", "move it away"),
    "failures/a/seed=0-0123456789.json": (b"{", "tells of no failure", "move it away; the run is done again"),
    "failures/a/b": (b"", "is none of lbbench's", "move it away"),
    "paper/traces/agnp.parquet": (b"torn", "is no trace", "move it away, and export the runs again"),
}


@pytest.mark.parametrize("name", ASTRAY)
def test_a_file_that_is_damaged_or_astray_is_named(name, tmp_path):
    content, words, advice = ASTRAY[name]
    made_up.write(tmp_path, "random", "berkenkamp", 0, [1.0] * 8)
    for other in ("journal/a/begun.jsonl", "commands.log"):  # which may be empty
        (tmp_path / other).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / other).touch()
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    (check,) = (check for look in (doctor._files, doctor._objectives) for check in look(tmp_path) if check.advice)
    assert check.found.startswith(f"{file} {words}")
    assert check.advice.startswith(advice)


def test_files_beside_those_of_lbbench_are_named_and_left_alone(tmp_path):
    made_up.write(tmp_path / "paper", "random", "berkenkamp", 0, [1.0] * 8)
    assert list(doctor._files(tmp_path)) == []
    for name in "abcdefg":
        (tmp_path / name).mkdir()
    (check,) = doctor._files(tmp_path)
    words = "not of lbbench, which leaves them alone: a, b, c, d, e and 2 more"
    assert check == doctor.Check("files", f"{words} in {tmp_path}")
