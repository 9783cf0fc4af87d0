"""Methods and problems of the user's own: from installed packages, and as `module:name`."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from typer.testing import CliRunner

import lbbench
from lbbench import cli
from lbbench.commands.session import Session
from lbbench.errors import ObjectiveError, UsageError
from lbbench.health import doctor
from lbbench.plan import build, registry
from lbbench.plan.configs import load
from lbbench.plan.registry import find
from lbbench.plan.settings import compose
from lbbench.plan.sweeps import plan
from lbbench.plan.words import read
from lbbench.problems.python import objective
from lbbench.records.run import runs
from lbbench.report.collection import Collection
from lbbench.report.stats import best_values
from lbbench.study import runner

EXTERNAL = Path(__file__).parents[1] / "external"
ROSEN = ["problem=scipy.optimize:rosen", "bounds=[[-2,2],[-1,3]]", "maximize=false"]


def command(*arguments, cwd, path=""):
    """`lbbench …` as a console script has it: without the current directory on the path."""
    code = "import sys; sys.path.remove(''); from lbbench.cli import main; main()"
    environment = {
        "PYTHONPATH": f"{Path(lbbench.__file__).parents[1]}:{path}",
        "HOME": str(cwd),
        "OMP_NUM_THREADS": "1",
        "LBBENCH_PROGRESS": "off",
    }
    line = [sys.executable, "-c", code, *arguments]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Where the external package is installed."""
    where = tmp_path_factory.mktemp("site")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(where),
    ]
    subprocess.run([*pip, str(EXTERNAL)], check=True, capture_output=True, text=True)
    return where


def test_an_external_package_is_run_plotted_and_checked_like_what_is_built_in(package, tmp_path):
    def done(*arguments):
        result = command(*arguments, cwd=tmp_path, path=package)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    listed = done("list")
    assert (
        "  halfmle          GP-UCB with a share of the length scale of maximum likelihood. (external:HalfMLE)\n"
        in listed
    )
    assert "  ripples          A wave that falls off from the corner, in two dimensions. (external:ripples)\n" in listed
    assert "  share = 0.5\n" in done("show", "method=half-mle")
    out = done("run", "method=mle,half-mle", "problem=ripples,berkenkamp", "share=0.25,1", "seeds=2", "iterations=10")
    assert "12 runs in" in out
    table = done("table", "table=summary,ranks", "variants=all")
    assert "halfmle (share=0.25)" in table
    drawn = done("plot", "format=png")
    assert "wrote results/figures/figure3.png" in drawn
    assert "wrote results/figures/figure2.png" in drawn
    assert "wrote results/figures/figure4-share-ripples.png" in drawn
    done("report")
    assert "12 done" in done("status")
    done("export", "to=results/paper")
    for name in ("half-mle", "ripples", "external:HalfMLE"):
        checked = done("check", name)
        assert "!!" not in checked
        assert checked.count("ok ") >= 4

    traces = Collection.at(tmp_path / "results")
    last = traces.read(traces.variants).groupby(["problem", "method", "run_id", "seed"])["simple_regret"].last()
    for problem in ("ripples", "berkenkamp"):  # the whole of MLE's length scale is MLE
        full = [
            v
            for v in traces.variants
            if (v.problem, v.method, v.settings.get("method.share")) == (problem, "halfmle", 1)
        ]
        for seed in range(2):
            (mle,) = last[problem, "mle", :, seed]
            assert last[problem, "halfmle", full[0].run_id, seed] == mle

    for words in (["share=0.25"], ["method=half-mle", "method.share=0.25"]):
        assert "halfmle" in done("table", "table=summary", "variants=all", *words, "format=csv")
    narrowed = command("table", "table=summary", "method=halfmle", "share=0.25", "format=csv", cwd=tmp_path)
    assert narrowed.returncode == 0, narrowed.stderr  # also without the package
    assert len(narrowed.stdout.splitlines()) == 3
    examined = command("doctor", "out=results", cwd=tmp_path)
    assert "ripples cannot be compared: ripples cannot be imported" in examined.stdout
    assert "those of the 6 traces in results" in examined.stdout

    gone = command("table", "table=summary", "method=mle", "problem=berkenkamp", cwd=tmp_path)  # traces outlive it
    assert gone.returncode == 0
    everything = command("table", "table=summary", "variants=all", cwd=tmp_path)
    assert everything.returncode == 0
    assert "ripples" in everything.stdout


def test_what_a_problem_still_needs_is_shown_with_its_keys(tmp_path):
    for name, lacks in (("csv", "problem.path="), ("scipy.optimize:rosen", "problem.bounds=")):
        result = command("show", f"problem={name}", cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        assert "  maximize = true" in result.stdout
        assert lacks in result.stdout.partition("facts\n")[2].splitlines()[0]


def test_what_is_in_the_current_directory_is_found_there_also_by_the_workers(tmp_path):
    (tmp_path / "mine.py").write_text("def objective(x):\n    return -(x[0] - 0.25) ** 2\n")
    line = ["method=lb", "problem=python", "problem.target=mine:objective", "bounds=[[0,1]]", "optimum=0", "seeds=2"]
    result = command("run", *line, "iterations=15", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "mine:objective  LB         2" in result.stdout
    collection = Collection.at(tmp_path / "results")
    frame = collection.read(collection.variants)
    x = np.concatenate(frame["x"].to_numpy())
    np.testing.assert_allclose(frame["regret"], (x - 0.25) ** 2, atol=1e-15)
    assert frame.groupby("seed")["simple_regret"].last().max() < 1e-4
    checked = command("check", "mine:objective", "bounds=[[0,1]]", "optimum=0", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_python_with_a_target_is_a_name_like_any_other():
    assert read(["method=lb,python", "method.target=a:A,b:B"]) == {"method": ["lb", "a:A", "b:B"]}
    assert read(["problem=python", "target=a.b:c"]) == {"problem": ["a.b:c"]}
    assert plan(["problem=python", "target=scipy.optimize:rosen"]) == plan(["problem=scipy.optimize:rosen"])


def test_a_function_of_a_point_is_what_it_is_on_its_box():
    problem = build.problem(compose(plan([*ROSEN, "optimum=0", "noise_std=0.5"]).combinations[0]))
    np.testing.assert_array_equal(problem.domain.bounds, [[-2, -1], [2, 3]])
    x = problem.domain.user(problem.domain.uniform(20, np.random.default_rng(0)))
    np.testing.assert_array_equal(problem.evaluate(x), [-scipy.optimize.rosen(point) for point in x])
    assert (problem.name, problem.optimum, problem.noise_std) == ("scipy.optimize:rosen", 0.0, 0.5)


@pytest.mark.parametrize("value", ["1", [1.0], None, 1j, np.ones(1)])
def test_what_is_no_number_is_an_error(value):
    problem = objective("mine:f", lambda x: value, "[[0,1]]")
    with pytest.raises(ObjectiveError, match=r"mine:f returned .*, and not a number"):
        problem.evaluate(np.zeros((2, 1)))


@pytest.mark.parametrize(("maximize", "optimum"), [(True, 0.5), (False, 1.5)])
def test_what_is_better_than_the_optimum_is_an_error(maximize, optimum):
    problem = objective("mine:f", lambda x: 1.0, "[[0,1]]", maximize=maximize, optimum=optimum)
    with pytest.raises(ObjectiveError, match=f"mine:f is 1, which is better than optimum={optimum}"):
        problem.evaluate(np.zeros((2, 1)))


def test_an_optimum_may_be_known_to_some_digits():
    near = objective("mine:f", lambda x: -1e-7, "[[0,1]]", maximize=False, optimum=0.0)
    assert near.evaluate(np.zeros((1, 1))).tolist() == [1e-7]


@pytest.fixture(scope="module")
def unknown(tmp_path_factory):
    """Runs on a problem whose maximum is not known."""
    out = tmp_path_factory.mktemp("unknown")
    planned = plan([*ROSEN, "method=lb,random", "seeds=2", "iterations=10", "jobs=1", f"out={out}"])
    runner.prepare(out)
    outcomes = runner.execute(runs(planned), planned.study, lambda outcome: None)
    assert [outcome.status for outcome in outcomes] == ["done"] * 4
    return out


def test_without_a_known_maximum_regret_is_to_the_best_value_of_all_runs(unknown):
    collection = Collection.at(unknown)
    frame = collection.read(collection.variants)
    best = max(-scipy.optimize.rosen(x) for x in frame["x"])
    assert frame["f"].max() == best
    for _, run in frame.groupby(["run_id", "seed"]):
        regret = [best + scipy.optimize.rosen(x) for x in run["x"]]
        np.testing.assert_allclose(run["regret"], regret, rtol=1e-12)
        np.testing.assert_allclose(run["simple_regret"], np.minimum.accumulate(regret), rtol=1e-12)
        np.testing.assert_allclose(run["cumulative_regret"], np.cumsum(np.where(run["t"] > 0, regret, 0.0)), rtol=1e-12)


def test_which_runs_are_read_does_not_change_what_the_others_are_compared_to(unknown):
    collection = Collection.at(unknown)
    whole = collection.read(collection.variants, ["method", "seed", "t", "simple_regret"])
    (random,) = (variant for variant in collection.variants if variant.method == "random")
    narrow = Collection.at(unknown, {"method": ("random",)})
    for alone in (collection.read([random], ["simple_regret"]), narrow.read(narrow.variants, ["simple_regret"])):
        np.testing.assert_array_equal(alone["simple_regret"], whole[whole["method"] == "random"]["simple_regret"])


def test_the_best_value_is_that_of_the_same_objective():
    """Another box is another one; another design or noise is not."""
    frame = pd.DataFrame({"run_id": ["a", "a", "b", "c", "c"], "f": [1.0, 2.0, 5.0, 7.0, np.inf]})
    assert best_values(frame, {"a": "box", "b": "box", "c": "other", "d": "third"}) == pytest.approx(
        {"a": 5.0, "b": 5.0, "c": 7.0, "d": np.nan}, nan_ok=True
    )
    lines = (["bounds=[[0,1],[0,1]]"], ["bounds=[[0,1],[0,1]]", "noise_std=1", "initial=3"], ["bounds=[[0,1],[0,2]]"])
    one, other, wider = (compose(plan([ROSEN[0], *line]).combinations[0]).objective for line in lines)
    assert one == other != wider


def test_an_export_keeps_such_traces_as_they_were_written(unknown, tmp_path):
    result = command("export", f"out={unknown}", f"to={tmp_path / 'to'}", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    written = pd.read_parquet(tmp_path / "to" / "traces" / "scipy.optimize:rosen.parquet")
    assert written["simple_regret"].isna().all()
    before, after = Collection.at(unknown), Collection.at(tmp_path / "to")
    pd.testing.assert_frame_equal(after.read(after.variants), before.read(before.variants))


WRONG = {
    "run method=python": "method=python needs method.target=, such as method.target=mypkg.mymodule:name",
    "run method=nowhere:Method": "nowhere:Method cannot be imported: ModuleNotFoundError",
    "run method=external:Nothing": "external:Nothing: the module external has no Nothing",
    "run method=math:sin": "math:sin is no method: its class must take the argument surrogate",
    "run problem=math:pi": "math:pi is no function",
    "run problem=scipy.optimize:rosen": "problem=scipy.optimize:rosen needs problem.bounds=",
    "run problem=scipy.optimize:rosen bounds=[[1,0]]": "bounds=[[1,0]]: must be 'none' or the lowest and highest value",
    "run problem=scipy.optimize:rosen bounds=[[0,1]] optimum=nan": "optimum=nan: must be 'unknown' or a number",
    "run method=half-mle share=a": "share=a: must be a number",
    "run method=lb share=1": "unknown key 'share'",
    "run problem=ripples waves=1.5": "waves=1.5: must be a whole number",
    "check nothing": "check nothing: is no method and no problem; allowed: module:name, lb, lnb",
    "check half-mle share=0.5,1": "check takes one method with one value of each setting, not 2",
    "check ripples share=1": "unknown key 'share'",
    "run method=broken:Broken": "broken:Broken cannot be imported: ZeroDivisionError",
    "run method=broken": "method=broken is unknown",
    "run problem=leaving:f": "leaving:f cannot be imported: SystemExit: 0",
    "check leaving:f": "leaving:f cannot be imported: SystemExit: 0",
    "run problem=falling:f": "falling:f makes no problem: ValueError: over",
    "check falling:f": "falling:f makes no problem: ValueError: over",
    "check falling:g": "falling:g makes no problem: SystemExit: 0",
    "run problem=falling:nothing": "falling:nothing makes no lbbench.problems.base.Problem",
    "run method=falling:Idle": "falling:Idle is no method: it lacks suggest()",
    "run method=falling:Same problem=falling:f": "level is a setting of falling:Same and of falling:f",
    "table method=half-mle": "no traces that match",
    "table share=0.5": "no traces that match",
}


FALLING = """
def f(level=1):
    raise ValueError("over")

def g(level=1):
    raise SystemExit(0)

def nothing():
    return 3

class Idle:
    def __init__(self, surrogate): pass
    def start(self, data): pass

class Same(Idle):
    def __init__(self, surrogate, level=1): pass
    suggest = observe = None.__init__
"""


@pytest.mark.parametrize("line", WRONG)
def test_mistakes_are_one_line(line, package, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "falling.py").write_text(FALLING)
    result = command(*line.split(), cwd=tmp_path, path=package)
    assert result.returncode == 2
    assert result.stderr.startswith(f"lbbench: {WRONG[line]}")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert not (tmp_path / "results").exists()


class Plain:
    start = suggest = observe = print

    def __init__(self, surrogate, level=1):
        pass


class Beta(Plain):
    def __init__(self, surrogate, beta=2.0):
        pass


class Listed(Plain):
    def __init__(self, surrogate, levels=(1, 2)):
        pass


class Needs(Plain):
    def __init__(self, surrogate, level):
        pass


class Growing(Plain):
    def __init__(self, surrogate, g="wobble(t)"):
        pass


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (Beta, "its setting beta has the name of one of lbbench's own settings"),
        (Listed, "its setting levels must have a default that is a number, true or false, or text"),
        (Needs, "its setting level must have a default"),
        (Growing, "its setting g = wobble(t): where others have that name, it is"),
    ],
)
def test_a_setting_that_cannot_be_checked_is_refused(method, reason, monkeypatch):
    monkeypatch.setitem(sys.modules, "made", sys.modules[__name__])
    with pytest.raises(UsageError, match=f"made:{method.__name__}: ") as raised:
        load(f"method/made:{method.__name__}")
    assert reason in str(raised.value)


def test_settings_are_the_arguments_with_their_defaults(monkeypatch):
    monkeypatch.setitem(sys.modules, "made", sys.modules[__name__])
    assert load("method/made:Plain") == {"name": "made:Plain", "level": 1}
    assert find("made:Plain") is Plain


def test_the_optimizer_takes_a_method_of_ones_own(monkeypatch):
    monkeypatch.syspath_prepend(str(EXTERNAL))
    mine, mle = (
        lbbench.Optimizer(bounds=[(0, 1)], method=method, initial=3, **settings)
        for method, settings in (("external:HalfMLE", {"share": 1.0}), ("mle", {}))
    )
    for _ in range(8):
        x = mine.ask()
        np.testing.assert_array_equal(x, mle.ask())
        for optimizer in (mine, mle):
            optimizer.tell(x, float(np.sin(8 * x[0])))


@pytest.fixture
def entries(monkeypatch):
    """What installed packages register: one of ours, one of two packages, one twice, and one that is not there."""
    from importlib.metadata import EntryPoint

    found = {
        "LB": ["external:HalfMLE"],
        "my_own": ["a:B"],
        "half": ["one:Half", "two:Half"],
        "same": ["one:Same", "one:Same"],
    }
    entries = [EntryPoint(name, target, "lbbench.methods") for name, targets in found.items() for target in targets]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries if group == "lbbench.methods" else [])
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()


def test_what_is_ours_cannot_be_replaced(entries):
    assert registry.registered("method") == {"myown": "a:B", "half": "one:Half", "same": "one:Same"}
    assert registry.target("method", "lb") == "lbbench.methods.lb:LB"


def test_names_that_are_not_only_of_one_package_are_told(entries, tmp_path):
    clashes = registry.clashes("method")
    assert clashes.keys() == {"lb", "half"}
    assert clashes["lb"].endswith("method=external:HalfMLE")
    with pytest.raises(
        UsageError, match="half is registered by several packages; say which: method=one:Half or two:Half"
    ):
        registry.target("method", "half")
    assert registry.target("method", "same") == "one:Same"
    listed = CliRunner().invoke(cli.app, ["list", "methods"]).output
    assert clashes["lb"] in listed
    assert clashes["half"] in listed
    assert "cannot be imported" in next(line for line in listed.splitlines() if line.startswith("  myown"))
    planned = plan(["method=lb", "problem=berkenkamp", "seeds=1", "iterations=1", f"out={tmp_path}"])
    session = Session(planned)
    assert list(session._clashes()) == [clashes["lb"]]
    assert list(Session(plan(["method=mle", "problem=berkenkamp", f"out={tmp_path}"]))._clashes()) == []
    told = [check for check in doctor._configs() if check.name == "plug-ins"]
    assert [check.found for check in told] == [clashes["lb"], clashes["half"]]
    assert all(check.advice for check in told)
