"""What the keys of reporting commands say: what is not heeded is refused, and what is missing is named well."""

import os
import shlex
import subprocess
import sys

import made_up
import pytest

from lbbench.commands.own import own_keys
from lbbench.errors import UsageError
from lbbench.plan import ablation
from lbbench.plan.sweeps import plan
from lbbench.report import views
from lbbench.report.collection import Collection
from lbbench.report.plot import check_own, plot
from lbbench.report.selection import select

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def lbbench(*words, cwd):
    command = [sys.executable, "-m", "lbbench", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)


def lines(out, *arguments):
    selection = select([f"out={out}", *arguments], own_keys("plot"))
    check_own(selection)
    return list(plot(Collection.at(selection.out, selection.wanted), selection))


# band=


def test_figures_that_say_that_they_heed_the_band_do(tmp_path):
    for kernel in ("rbf", "matern32"):
        for seed in range(3):
            made_up.write(tmp_path, "lb", "toy", seed, [5.0, 1.0 + seed, 0.5 + seed], kernel=kernel)
    for name, (_, figure) in views.figures().items():
        drawn = {}
        for band in ("se", "sd"):
            if figure.banded:
                lines(tmp_path, f"figure={name}", f"band={band}", "format=png")
                (file,) = (tmp_path / "figures").glob(f"*{name}*.png")
                drawn[band] = file.read_bytes()
                file.unlink()
            else:
                with pytest.raises(UsageError, match=r"the figures that it is for: 3, 4, cumulative$"):
                    lines(tmp_path, f"figure={name}", f"band={band}")
        assert len(set(drawn.values())) == len(drawn)
    lines(tmp_path, "band=sd", "format=png")  # all that there are, of which some heed it


def test_a_band_beside_one_figure_that_heeds_it_is_refused_for_the_other(tmp_path):
    with pytest.raises(UsageError, match="band= is not for figure=2,time;"):
        lines(tmp_path, "figure=2,3,time", "band=sd")


# Nothing at hand

NOTHING = {
    "plot": "no traces in {}/traces; make some: lbbench run method=lb problem=michalewicz out={}",
    "plot figure=3": "figure 3 lacks traces in {}/traces: lbbench run +experiment=figure3 out={} makes them",
    "table": "no traces in {}/traces; make some: lbbench run method=lb problem=michalewicz out={}",
    "report": "no traces in {}/traces; make some: lbbench run method=lb problem=michalewicz out={}",
    "export": "no traces in {}/traces; make some: lbbench run method=lb problem=michalewicz out={}",
    "status": "no runs in {}; begin some: lbbench run method=lb problem=michalewicz out={}",
}


@pytest.mark.parametrize("place", ["nothere", "empty"])
@pytest.mark.parametrize("line", NOTHING)
def test_without_traces_there_is_one_line_with_the_command_that_makes_some(line, place, tmp_path):
    (tmp_path / "empty").mkdir()
    result = lbbench(*line.split(), f"out={place}", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines() == ["lbbench: " + NOTHING[line].format(place, place)]
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


@pytest.mark.parametrize(
    "line", [*NOTHING, "plot figure=1", "status method=lb", "worker-plan method=random problem=berkenkamp",
             "findings", "findings +experiment=bandits"],
)  # fmt: skip
def test_a_file_is_no_place_for_traces(line, tmp_path):
    (tmp_path / "notes").write_text("mine")
    result = lbbench(*line.split(), "out=notes", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines() == ["lbbench: out=notes is a file"]
    assert (tmp_path / "notes").read_text() == "mine"


def test_figure_1_needs_no_traces(tmp_path):
    assert lines(tmp_path, "figure=1", "format=png") == [f"wrote {tmp_path}/figures/figure1.png"]


# Commands for what is lacking


def command(line):
    """The words of the command in a line about a figure."""
    return shlex.split(line.removesuffix(" makes them").partition(": lbbench ")[2])


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("def f(x):\n    return -float(x[0] ** 2)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_commands_are_for_the_users_own_function_where_that_alone_is_at_hand(mine):
    own = {"bounds": "[[0.0,1.0]]", "maximize": False, "optimum": "unknown", "initial": 4}
    settings = made_up.settings("random", "mine:f").tree
    assert settings["problem"] == {"name": "mine:f"}
    from lbbench.plan.settings import Settings, compose

    asked = plan(["method=random", "problem=mine:f", "bounds=[[0,1]]", "maximize=false", "initial=4", "kernel=rbf",
                  "iterations=3"])  # fmt: skip
    made = compose(asked.combinations[0])
    assert isinstance(made, Settings)
    write(mine, made)
    told = {line.split()[1]: line for line in lines(mine, "figure=2,3,4,candidates", "format=png") if "lacks" in line}
    assert set(told) == {"2", "4", "candidates"}
    for name, line in told.items():
        verb, *words = command(line)
        planned = {"run": plan, "ablate": ablation.plan}[verb](words)
        assert planned.study["out"] == str(mine)
        for combination in planned.combinations:
            found = compose(combination)
            assert found["problem"] == made["problem"]
            assert {key: found["problem"][key] for key in own} == own
            assert found["gp"]["kernel"] == "rbf"
            assert found["iterations"] == 3
        methods = {combination.method for combination in planned.combinations}
        assert methods <= set(views.figures()[name][1].methods)
    assert command(told["4"])[:2] == ["ablate", "g=t^0.25,t^0.5,t^0.75"]


def write(out, settings):
    """A trace with just these settings."""
    from lbbench.records import traces
    from lbbench.records.run import place

    names = {"problem": settings.problem, "method": settings.method, "run_id": settings.id, "seed": 0, "growth": None}
    rows = [
        {**names, "t": t, "phase": "search" if t > 0 else "initial", "x": [0.5], "y": 1.0, "f": 1.0, "regret": 0.5,
         "simple_regret": 0.5, "cumulative_regret": 0.5, "suggest_s": 0.1, "evaluate_s": 0.1}
        for t in range(1 - settings["problem"]["initial"], settings["iterations"] + 1)
    ]  # fmt: skip
    path = place(out, "traces", settings.problem, settings.method, 0, settings.id, "parquet")
    traces.write(path, rows, {"settings": dict(settings.tree), "seed": 0})


def test_a_file_whose_name_has_a_comma_is_one_value(tmp_path):
    file = tmp_path / "a, b.csv"
    file.write_text("x,y\n1,2\n2,3\n3,1\n")
    made_up.write(tmp_path, "random", "csv", 0, [2.0, 1.0], path=str(file), target="y", digest="0123456789")
    (line,) = [line for line in lines(tmp_path, "figure=3,4", "format=png") if "lacks" in line]
    verb, *words = command(line)
    assert verb == "ablate"
    assert {one.values["problem.path"] for one in ablation.plan(words).combinations} == {str(file)}


def test_nothing_is_named_that_would_be_refused(tmp_path):
    made_up.write(tmp_path, "random", "gone:f", 0, [2.0, 1.0])
    assert lines(tmp_path, "figure=3,4", "format=png")[-1] == "figure 4 lacks traces"
    made_up.write(tmp_path / "b", "random", "csv", 0, [2.0, 1.0], kernel="empirical", path="a.csv")
    assert lines(tmp_path / "b", "figure=3,4", "format=png")[-1] == "figure 4 lacks traces"


def test_presets_are_named_where_one_of_their_kind_of_problem_is_at_hand(tmp_path):
    made_up.write(tmp_path, "random", "csv", 0, [2.0, 1.0], path="a.csv")
    made_up.write(tmp_path, "random", "berkenkamp", 0, [2.0, 1.0])
    told = lines(tmp_path, "figure=2,3", "format=png")
    assert told[-1] == f"figure 2 lacks traces: lbbench run +experiment=figure2 out={tmp_path} makes them"
