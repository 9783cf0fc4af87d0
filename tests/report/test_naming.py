"""What tells an objective from others at hand is its problem's name, wherever problems are told apart."""

import itertools
import json
import os
import subprocess
import sys

import made_up
import pandas as pd
import pyarrow.parquet as pq
import pytest

from lbbench.errors import UsageError
from lbbench.health import estimate
from lbbench.health.status import statuses, table
from lbbench.plan.settings import Settings
from lbbench.plan.sweeps import plan
from lbbench.records.run import runs
from lbbench.report import figures, sections
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.report.findings.paper import Finals
from lbbench.report.html import render
from lbbench.report.interactive import charts
from lbbench.report.naming import names
from lbbench.report.summaries import tables
from lbbench.report.variants import by_problem

FILE = {"target": "yield", "digest": "0123456789"}


def named(*settings):
    """What the problems of some settings are called."""
    found = names(settings)
    return [found[own.objective].text for own in settings]


def csv(path, **changed):
    return made_up.settings("lb", "csv", **{**FILE, "path": path, **changed})


def michalewicz(**changed):
    return made_up.settings("lb", "michalewicz", **changed)


def own(**changed):
    """A function of a point of the user's own."""
    tree = made_up.settings("lb", "mine:f").tree
    problem = {"name": "mine:f", "bounds": "[[0,1]]", "maximize": True, "optimum": "unknown", **changed}
    return Settings({**tree, "problem": problem})


def test_alone_a_problem_has_its_name_and_a_file_its_own():
    assert named(michalewicz(dim=2)) == ["michalewicz"]
    assert named(own(maximize=False)) == ["mine:f"]
    assert named(csv("data/a.csv")) == ["csv a.csv"]


def test_what_is_as_in_configs_is_not_said():
    assert named(michalewicz(), michalewicz(dim=2), michalewicz(dim=10)) == [
        "michalewicz", "michalewicz dim=2", "michalewicz dim=10",
    ]  # fmt: skip
    assert named(made_up.settings("lb", "rkhsrbf"), made_up.settings("lb", "rkhsrbf", arms=7)) == [
        "rkhsrbf", "rkhsrbf arms=7",
    ]  # fmt: skip


def test_what_is_not_the_objectives_does_not_count():
    same = michalewicz(), michalewicz(initial=3), michalewicz(noise_std=0.5)
    assert named(*same) == ["michalewicz"] * 3
    assert named(made_up.settings("lb", "rkhsrbf"), made_up.settings("lb", "rkhsrbf", standardise=True)) == [
        "rkhsrbf", "rkhsrbf",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("paths", "texts"),
    [
        (["a.csv", "b.csv"], ["a.csv", "b.csv"]),
        (["x/a.csv", "y/a.csv"], ["x/a.csv", "y/a.csv"]),
        (["p/x/a.csv", "q/x/a.csv", "r/b.csv"], ["p/x/a.csv", "q/x/a.csv", "b.csv"]),
        (["a.csv", "x/a.csv", "/x/a.csv"], ["a.csv", "x/a.csv", "/x/a.csv"]),
        (["./a.csv", "a.csv"], ["a.csv", "a.csv"]),
    ],
)
def test_files_are_told_by_the_shortest_ends_of_their_paths(paths, texts):
    assert named(*map(csv, paths)) == [f"csv {text}" for text in texts]


def test_a_file_is_told_by_what_else_differs():
    assert named(csv("a.csv"), csv("a.csv", digest="9876543210")) == [
        "csv a.csv digest=0123456789", "csv a.csv digest=9876543210",
    ]  # fmt: skip
    assert named(csv("a.csv"), csv("a.csv", maximize=False), csv("b.csv", digest="9876543210")) == [
        "csv a.csv", "csv a.csv maximize=False", "csv b.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"bounds": "[[0,2]]"}, "bounds=[[0,2]]"),
        ({"optimum": 3.0}, "optimum=3.0"),
        ({"maximize": False}, "maximize=False"),
    ],
)
def test_one_function_with_other_settings_is_another_problem(changed, text):
    one, other = named(own(), own(**changed))
    assert one != other
    assert other.endswith(text)


# Everywhere

GROUPS = ({"path": "a.csv"}, {"path": "b.csv", "digest": "9876543210"})


@pytest.fixture
def out(tmp_path):
    """Two files, on which two methods have other regrets; the better method is not the same."""
    for (place, changed), (method, rank), seed in itertools.product(
        enumerate(GROUPS), (("lb", 0), ("mle", 1)), range(4)
    ):
        final = 1.0 + (rank + place) % 2 + 0.1 * seed
        made_up.write(tmp_path, method, "csv", seed, [5.0, final], **{**FILE, **changed})
    return tmp_path


def test_each_file_has_its_own_usual_variants(out):
    usual = Collection.at(out).usual()
    assert [(v.problem, v.label()) for v in usual] == [
        ("csv a.csv", "LB (iterations=2)"), ("csv a.csv", "MLE (iterations=2)"),
        ("csv b.csv", "LB (iterations=2)"), ("csv b.csv", "MLE (iterations=2)"),
    ]  # fmt: skip
    assert list(by_problem(usual)) == ["csv a.csv", "csv b.csv"]


def test_a_file_keeps_its_name_whatever_was_asked_for(out):
    only = Collection.at(out, {"path": ["b.csv"], "seeds": ["1"]})
    assert {variant.problem for variant in only.variants} == {"csv b.csv"}
    kept = only.only({trace.key for trace in only.traces})
    assert kept.variants == only.variants


def test_tables_rank_and_test_file_by_file(out):
    collection = Collection.at(out)
    summary, ranks, tests = tables(collection, collection.usual(), ("summary", "ranks", "tests"))
    assert [row[:3] for row in summary.rows] == [
        ("csv a.csv", "LB", 4), ("csv a.csv", "MLE", 4), ("csv b.csv", "LB", 4), ("csv b.csv", "MLE", 4),
    ]  # fmt: skip
    assert "over the 8 pairs of problem and seed" in ranks.note
    assert [row[1] for row in ranks.rows] == [1.5, 1.5]  # each method is the better one on one file
    differences = {(row[0], row[2]): row[4] for row in tests.rows}
    assert differences["csv a.csv", "simple regret"] == pytest.approx(-1.0)
    assert differences["csv b.csv", "simple regret"] == pytest.approx(1.0)


def test_figures_have_a_panel_for_each_file(out):
    for name in ("2", "3", "cumulative", "time"):
        (drawn,) = figures.draw(Collection.at(out), [name], out, ["png"])
        assert {variant.problem for variant in drawn.variants} == {"csv a.csv", "csv b.csv"}
    for method, g in itertools.product(("lb", "agpucb"), ("t^0.25", "t^0.5")):
        for changed in GROUPS:
            made_up.write(out, method, "csv", 0, [5.0, 1.0], **{**FILE, **changed, "g": g})
    (drawn,) = figures.draw(Collection.at(out), ["4"], out, ["png"])
    assert [file.name for file in drawn.files] == ["figure4-csv+a.csv.png", "figure4-csv+b.csv.png"]


def test_the_report_has_a_section_for_each_file(out):
    collection = Collection.at(out)
    failed, _ = sections.failures(out, collection)
    page = render(collection, collection.usual(), failed, [])
    labels = {variant.run_id: variant.label() for variant in collection.variants}
    frame = collection.read(collection.variants)
    drawn = charts(collection, collection.usual(), frame.assign(total_s=1.0), labels)
    assert [problem["name"] for problem in drawn["problems"]] == ["csv a.csv", "csv b.csv"]
    assert [len(problem["curves"]) for problem in drawn["problems"]] == [2, 2]
    assert page.count("<h3>csv a.csv</h3>") == page.count("<h3>csv b.csv</h3>") == 1


def test_failures_are_named_beside_what_is_at_hand(out):
    settings = csv("x/a.csv")
    file = out / "failures/csv/lb" / f"seed=0-{settings.id}.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"settings": dict(settings.tree), "seed": 0, "error": "no", "status": "failed", "t": 3}))
    failed, unreadable = sections.failures(out, Collection.at(out))
    assert not unreadable
    assert failed.rows[0][0] == "csv x/a.csv"


def test_columns_and_files_of_traces_are_as_they_were(out):
    collection = Collection.at(out)
    files = export(collection, out / "paper")
    assert [file.name for file in files] == ["csv.parquet", "settings.csv"]
    assert set(pq.read_table(files[0], columns=["problem"])["problem"].to_pylist()) == {"csv"}
    assert set(pd.read_csv(files[1])["problem"]) == {"csv"}
    assert Collection.at(out / "paper").variants == collection.variants
    frame = collection.read(collection.variants, ["problem", "run_id"])
    assert set(frame["problem"]) == {"csv a.csv", "csv b.csv"}
    assert {rows["problem"][0].as_py() for _, rows in collection.each(collection.variants)} == {"csv"}


def test_the_commands_that_make_the_runs_are_those_of_the_problem(out):
    for command in sections.commands(Collection.at(out).variants):
        (combination, *_) = plan(command.split()[2:]).combinations
        assert combination.problem == "csv"
        assert combination.values["problem.path"] in ("a.csv", "b.csv")


@pytest.fixture
def files(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,yield\n" + "\n".join(f"{i},{i * len(name) % 7}" for i in range(20)))
    return [str(tmp_path / name) for name in ("a.csv", "b.csv")]


def test_status_and_worker_plan_have_a_row_for_each_file(files, tmp_path):
    line = ["method=random", "problem=csv", f"path={','.join(files)}", "target=yield", f"out={tmp_path}", "seeds=2"]
    planned = plan([*line, "iterations=3"])
    found = table(statuses(planned))
    assert [row[:2] for row in found.rows] == [("csv a.csv", "Random"), ("csv b.csv", "Random")]
    assert [row[-1] for row in found.rows] == [2, 2]
    asked = runs(planned)
    for run, slow in zip(asked, (1, 1, 9, 9), strict=True):
        own = {key: value for key, value in run.settings["problem"].items() if key != "name"}
        path = made_up.write(tmp_path, "random", "csv", run.seed + 10, [1.0] * 3, **own)
        rows = pq.read_table(path)
        for name in ("suggest_s", "evaluate_s"):
            rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), [[float(slow)] * len(rows)])
        pq.write_table(rows, path)
    times, unknown = estimate.estimate(planned, asked, estimate.at_hand(planned, asked))
    assert not unknown
    assert [row[:3] for row in times.rows] == [("csv a.csv", "Random", 2), ("csv b.csv", "Random", 2)]
    assert times.rows[1][3] == pytest.approx(9 * times.rows[0][3])  # each file by its own runs


def test_findings_take_one_objective_of_each_problem(tmp_path):
    planned = plan(["problem=michalewicz", "dim=2,5", "seeds=1", f"out={tmp_path}"])
    with pytest.raises(UsageError, match="of each problem at a time"):
        Finals(runs(planned), "")


def test_two_files_as_a_user_sees_them(files, tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def lbbench(*words):
        command = [sys.executable, "-m", "lbbench", *words, "out=here"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=environment)

    for path in files:
        run = lbbench("run", "method=random,mle", "problem=csv", f"path={path}", "target=yield", "seeds=2",
                      "iterations=3", "jobs=1")  # fmt: skip
        assert run.returncode == 0, run.stderr
    shown = lbbench("table", "table=summary").stdout
    assert shown.count("csv a.csv") == shown.count("csv b.csv") == 2
    assert "digest" not in shown.split("final regret")[0]
