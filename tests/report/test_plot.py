"""`lbbench plot` as a user types it."""

import os
import subprocess
import sys
from pathlib import Path

import made_up
import pytest

from lbbench.commands.own import own_keys
from lbbench.errors import UsageError
from lbbench.plan.sweeps import plan
from lbbench.records.run import runs
from lbbench.records.thinning import LONG
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.report.plot import plot
from lbbench.report.selection import select
from lbbench.study.runner import execute

COMMAND = [sys.executable, "-m", "lbbench", "plot"]


def lbbench_plot(*arguments, cwd):
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300)


def lines(out, *arguments):
    """What the command prints, without a process of its own."""
    words = [f"out={out}", *arguments]
    selection = select(words, own_keys("plot"))
    return list(plot(Collection.at(selection.out, selection.wanted), selection))


def study(out, *overrides):
    planned = plan(["iterations=5", "raw_samples=16", "jobs=1", f"out={out}", *overrides])
    assert not any(outcome.failure for outcome in execute(runs(planned), planned.study, lambda outcome: None))


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory):
    """Two problems, one of which has but one method; a run each is missing."""
    out = tmp_path_factory.mktemp("unfinished")
    study(out, "method=lb,mle", "problem=berkenkamp", "seeds=2")
    study(out, "method=mle", "problem=agnp", "seeds=[1]")
    next((out / "traces/berkenkamp/lb").glob("seed=1-*")).unlink()
    return out


def test_an_empty_directory_gets_figure_1_if_asked_for_and_the_commands_for_the_others(tmp_path):
    result = lbbench_plot("figure=1,2,3,4,time,candidates", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "wrote results/figures/figure1.png",
        "wrote results/figures/figure1.pdf",
        "figure 2 lacks traces in results/traces: lbbench run +experiment=figure2 makes them",
        "figure 3 lacks traces in results/traces: lbbench run +experiment=figure3 makes them",
        "figure 4 lacks traces in results/traces: lbbench ablate g=t^0.25,t^0.5,t^0.75 makes them",
        "figure time lacks traces in results/traces: lbbench run +experiment=figure3 makes them",
        "figure candidates lacks traces in results/traces: lbbench run method=lb makes them",
    ]
    assert (tmp_path / "results/figures/figure1.pdf").read_bytes().startswith(b"%PDF")


def test_nothing_drawn_is_a_usage_error(tmp_path):
    result = lbbench_plot("figure=3,4", "problem=agnp", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "lbbench: figure 3 lacks traces in results/traces: lbbench run +experiment=figure3 problem=agnp makes them",
        "         figure 4 lacks traces in results/traces: lbbench ablate g=t^0.25,t^0.5,t^0.75 problem=agnp "
        "makes them",
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_commands_for_missing_traces_are_good_ones(tmp_path):
    from lbbench.plan import ablation

    with pytest.raises(UsageError) as error:
        lines(tmp_path, "figure=2,3,4,time,candidates", "problem=agnp", "seeds=[3,7]", "noise_std=0.5", "format=png")
    for line in str(error.value).splitlines():
        _, _, command = line.removesuffix(" makes them").partition(": lbbench ")
        verb, *words = [word.strip("'") for word in command.split()]
        planned = {"run": plan, "ablate": ablation.plan}[verb](words)
        assert {combination.problem for combination in planned.combinations} == {"agnp"}
        assert planned.study["seeds"] == (3, 7)
        assert Path(planned.study["out"]) == tmp_path


def test_a_method_that_a_figure_cannot_show_is_named_without_a_command(tmp_path):
    with pytest.raises(UsageError) as error:
        lines(tmp_path, "figure=2,3,4,candidates", "method=random")
    assert str(error.value).splitlines() == [
        "figure 2 has nothing to show of random; it shows lb, lnb, agpucb, mle, mcmc",
        f"figure 3 lacks traces in {tmp_path}/traces: lbbench run +experiment=figure3 out={tmp_path} method=random "
        "makes them",
        "figure 4 has nothing to show of random; it shows lb, lnb, agpucb, mle, mcmc, oracle",
        "figure candidates has nothing to show of random; it shows lb",
    ]
    with pytest.raises(UsageError, match=r": lbbench ablate kernel=matern52,rbf .* method=mle makes them"):
        lines(tmp_path, "figure=4", "method=mle")


@pytest.mark.parametrize("own", ["seeds=2,[7]", "sampler=nuts", "theta0=0.5 method=mle"])
def test_no_command_is_named_that_would_be_refused(own, tmp_path):
    selection = select([f"out={tmp_path}", *own.split()], own_keys("plot"))
    with pytest.raises(UsageError) as error:
        lines(tmp_path, "figure=3", *own.split())
    for text in (str(error.value).removesuffix(" makes them"), selection.nothing_found):
        words = text.partition(": lbbench run ")[2].split()
        assert Path(plan(words).study["out"]) == tmp_path


def test_a_half_finished_study_is_drawn(unfinished):
    drawn = lines(unfinished)
    assert not any("nan" in line for line in drawn)
    stems = ["figure1", "figure2", "figure3", "time", "candidates"]
    files = [unfinished / f"figures/{stem}.{kind}" for stem in stems for kind in ("png", "pdf")]
    assert drawn[:-1] == [f"wrote {file}" for file in files]
    assert all(file.stat().st_size > 5_000 for file in files)
    assert drawn[-1].startswith("figure 4 lacks traces: lbbench ablate g=")


def test_cumulative_is_drawn_of_long_runs_or_if_asked_for(tmp_path):
    made_up.study(tmp_path, methods=["random"], problems=["toy"], seeds=2)
    assert not any("cumulative.png" in line for line in lines(tmp_path, "format=png"))
    asked = lines(tmp_path, "figure=cumulative", "format=png", "band=sd")
    assert asked == [f"wrote {tmp_path}/figures/cumulative.png"]
    first = (tmp_path / "figures/cumulative.png").read_bytes()
    lines(tmp_path, "figure=cumulative", "format=png")
    assert (tmp_path / "figures/cumulative.png").read_bytes() != first  # one standard error is less
    made_up.write(tmp_path, "random", "another", 0, [1.0] * (LONG + 1))
    assert f"wrote {tmp_path}/figures/cumulative.png" in lines(tmp_path, "format=png")


def test_what_thinned_runs_cannot_show_is_said(tmp_path):
    made_up.study(tmp_path, methods=["lb"], problems=["toy"], seeds=1, steps=30)
    export(Collection.at(tmp_path), tmp_path / "paper", thin=2)
    told = lines(tmp_path / "paper", "figure=2,3,candidates", "format=png")
    assert told[1:] == [
        "figure 2 needs all rows of a run, and some here were exported with thin=",
        "figure candidates needs all rows of a run, and some here were exported with thin=",
    ]


def test_filters_narrow_and_name_the_files(unfinished):
    assert lines(unfinished, "figure=3", "format=png", "problem=agnp") == [
        f"wrote {unfinished}/figures/figure3-agnp.png"
    ]
    assert lines(unfinished, "figure=time", "format=pdf", "method=lb,mle", "seeds=1") == [
        f"wrote {unfinished}/figures/time-lb+mle-seeds=1.pdf"
    ]
    with pytest.raises(UsageError, match="figure candidates lacks traces"):
        lines(unfinished, "figure=candidates", "problem=agnp")


def test_variants_that_are_not_drawn_are_named_with_the_command_that_draws_them(tmp_path):
    study(tmp_path, "method=lb", "problem=berkenkamp", "seeds=1", "theta0=mle,0.25")
    told = lines(tmp_path, "figure=3", "format=png")[-1]
    assert told.startswith("also at hand, not drawn: LB (")
    assert "theta0=0.25" in told
    words = told.partition("lbbench plot ")[2].split()
    (drawn,) = lines(*[word.removeprefix("out=") for word in words])
    assert "theta0=0.25" in drawn


def test_an_unreadable_file_is_one_line_on_stderr(unfinished, tmp_path):
    folder = tmp_path / "results/traces/berkenkamp"
    folder.mkdir(parents=True)
    (folder / "notes.parquet").write_text("no trace")
    result = lbbench_plot("figure=1", "format=png", cwd=tmp_path)
    assert result.returncode == 0
    assert result.stderr.count("notes.parquet is no trace") == 1
    assert "Traceback" not in result.stderr
    assert (folder / "notes.parquet").read_text() == "no trace"


WRONG = {
    "figure=5": ["figure=5", "1, 2, 3, 4, time, candidates, cumulative"],
    "format=gif": ["format=gif", "png, pdf"],
    "band=iqr": ["band=iqr", "se, sd"],
    "band=se,sd": ["band takes one value, not 2"],
    "figures=3": ["figures", "did you mean 'figure'?"],
    "problem=foo": ["problem=foo", "agnp"],
    "plot": ["key=value"],
}


@pytest.mark.parametrize("argument", WRONG)
def test_wrong_lines_exit_with_2_before_anything_heavy_loads(argument, tmp_path):
    code = (
        "import sys; from lbbench.cli import main\n"
        "try: main()\n"
        "finally: print({'numpy', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "plot", argument], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stdout.strip()) == (2, "set()")
    assert len(result.stderr.splitlines()) == 1
    for word in WRONG[argument]:
        assert word in result.stderr


def test_as_typed_in_a_shell(unfinished):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    line = f"lbbench plot figure=3 problem=berkenkamp format=png out={unfinished}"
    result = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"wrote {unfinished}/figures/figure3-berkenkamp.png\n"
