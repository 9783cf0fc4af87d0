import json
import shutil

import made_up
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lbbench.plan.settings import Settings, compose, defaults
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.optimising import SCHEMA
from lbbench.records.run import place, runs
from lbbench.report.collection import Collection
from lbbench.study.runner import execute


@pytest.fixture
def out(tmp_path):
    made_up.study(tmp_path, methods=("mle", "lb"), problems=("berkenkamp",), seeds=2, steps=250)
    for seed in range(3):
        made_up.write(tmp_path, "lb", "berkenkamp", seed, [1.0] * 250, g="t^0.25")
    made_up.write(tmp_path, "lb", "berkenkamp", 0, [1.0] * 250, g="t^0.25", kernel="rbf")
    made_up.write(tmp_path, "lb", "agnp", 5, [1.0] * 4)
    return tmp_path


def test_variants_are_told_by_what_is_not_as_in_configs_and_stand_in_order(out):
    variants = Collection.at(out).variants
    assert [(v.problem, v.label(), v.seeds) for v in variants] == [
        ("agnp", "LB (iterations=4)", (5,)),
        ("berkenkamp", "LB", (0, 1)),
        ("berkenkamp", "LB (g=t^0.25)", (0, 1, 2)),
        ("berkenkamp", "LB (kernel=rbf, g=t^0.25)", (0,)),
        ("berkenkamp", "MLE", (0, 1)),
    ]
    assert variants[3].changed == {"kernel": "rbf", "g": "t^0.25"}
    assert variants[3].settings["gp"]["kernel"] == "rbf"


def test_defaults_are_those_that_hydra_composes():
    for method, problem in (("lnb", "michalewicz"), ("mcmc", "agnp"), ("random", "berkenkamp")):
        assert (
            defaults(method, problem) == compose(plan([f"method={method}", f"problem={problem}"]).combinations[0]).flat
        )


def test_usual_variants_have_the_fewest_changes_then_the_most_seeds(out):
    collection = Collection.at(out)
    assert [v.label() for v in collection.usual()] == ["LB (iterations=4)", "LB", "MLE"]
    assert [v.label() for v in collection.usual(["g"])] == ["LB (iterations=4)", "LB", "LB (g=t^0.25)", "MLE"]
    made_up.write(out, "lb", "agnp", 0, [1.0] * 5)
    made_up.write(out, "lb", "agnp", 1, [1.0] * 5)
    assert Collection.at(out).usual()[0].label() == "LB (iterations=5)"


def test_usual_variants_of_all_methods_have_the_same_settings_if_they_can(tmp_path):
    for g in ("t^0.25", "t^0.5", "t^0.75", "t^0.1", "t^0.9"):
        for method, problem in (("lb", "toy"), ("agpucb", "toy"), ("lb", "agnp")):
            made_up.write(tmp_path, method, problem, 0, [1.0] * 250, g=g)
    made_up.write(tmp_path, "lb", "toy", 1, [1.0] * 250, g="t^0.75")  # more seeds, but of the one method
    assert {v.label() for v in Collection.at(tmp_path).usual()} == {"LB (g=t^0.75)", "A-GP-UCB (g=t^0.75)"}
    for seed in range(5):
        made_up.write(tmp_path, "mle", "toy", seed, [1.0] * 250, kernel="rbf")
        made_up.write(tmp_path, "lb", "toy", seed, [1.0] * 250, theta0=0.5)
    for kernel in ("rbf", "matern32"):
        made_up.write(tmp_path, "mle", "agnp", 0, [1.0] * 250, kernel=kernel)
    usual = [(v.problem, v.label()) for v in Collection.at(tmp_path).usual()]
    assert usual == [
        ("agnp", "LB (g=t^0.75)"), ("agnp", "MLE (kernel=rbf)"),
        ("toy", "LB (g=t^0.75)"), ("toy", "A-GP-UCB (g=t^0.75)"), ("toy", "MLE (kernel=rbf)"),
    ]  # fmt: skip


def test_usual_variants_without_a_favourite_go_by_the_alphabet(tmp_path):
    for g in ("t^0.5", "t^0.25", "t^0.75"):
        for method in ("lb", "agpucb"):
            made_up.write(tmp_path, method, "toy", 0, [1.0] * 250, g=g)
    assert [v.label() for v in Collection.at(tmp_path).usual()] == ["LB (g=t^0.25)", "A-GP-UCB (g=t^0.25)"]


@pytest.mark.parametrize(
    ("wanted", "labels"),
    [
        ({"problem": ("agnp",)}, ["LB (iterations=4)"]),
        ({"method": ("mle",)}, ["MLE"]),
        ({"g": ("t^0.25",)}, ["LB (g=t^0.25)", "LB (kernel=rbf, g=t^0.25)", "MLE"]),  # MLE has no g
        ({"g": ("t^0.25", "sqrt(t)"), "kernel": ("matern52",), "iterations": ("250",)}, ["LB", "LB (g=t^0.25)", "MLE"]),
        ({"seeds": ("2", "7")}, ["LB (g=t^0.25)"]),
        ({"problem": ("michalewicz",)}, []),
    ],
)
def test_wanted_runs_are_kept(out, wanted, labels):
    collection = Collection.at(out, wanted)
    assert [v.label() for v in collection.variants] == labels
    assert bool(collection) == bool(labels)
    if "seeds" in wanted:
        assert collection.variants[0].seeds == (2,)


def test_rows_come_in_the_order_of_the_variants_and_as_they_were_written(out):
    collection = Collection.at(out)
    lb, fast = collection.variants[1:3]
    frame = collection.read([fast, lb])
    paths = [
        place(out, "traces", "berkenkamp", "lb", seed, variant.run_id, "parquet") for variant, seed in
        ((fast, 0), (fast, 1), (fast, 2), (lb, 0), (lb, 1))
    ]  # fmt: skip
    pd.testing.assert_frame_equal(frame, traces.read(paths), check_exact=True)
    some = collection.read([lb], ["regret", "t"])
    assert some.columns.tolist() == ["regret", "t"]
    assert len(some) == 2 * (250 + made_up.DESIGN)
    assert collection.read([]).columns.tolist() == SCHEMA.names


def test_a_run_in_two_files_counts_once(out):
    before = Collection.at(out)
    path = place(out, "traces", "berkenkamp", "lb", 0, before.variants[1].run_id, "parquet")
    shutil.copy(path, out / "traces" / "a copy.parquet")
    after = Collection.at(out)
    assert after.variants == before.variants
    assert len(after.read(after.variants)) == len(before.read(before.variants))


def foreign(path, content):
    """A parquet file of one column, with some metadata."""
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(content), path)


def test_what_is_no_trace_is_named_and_left_alone(out):
    top = out / "traces"
    whole = next(top.rglob("*.parquet"))
    usable = traces.read_metadata(whole)
    (top / "truncated.parquet").write_bytes(whole.read_bytes()[:500])
    (top / "empty.parquet").touch()
    (top / "text.parquet").write_text("no parquet at all")
    (top / "directory.parquet").mkdir()
    foreign(top / "foreign.parquet", None)
    foreign(top / "not json.parquet", {traces.KEY: b"{"})
    foreign(top / "a list.parquet", {traces.KEY: b"[]"})
    foreign(top / "other.parquet", {traces.KEY: json.dumps({**usable, "schema_version": 99}).encode()})
    foreign(top / "no columns.parquet", {traces.KEY: json.dumps(usable).encode()})
    foreign(top / "no settings.parquet", {traces.KEY: json.dumps({**usable, "settings": {}}).encode()})
    foreign(top / "no runs.parquet", {traces.KEY: json.dumps({**usable, "runs": 3}).encode()})
    (top / "notes.txt").write_text("neither trace nor parquet")
    contents = {path: path.read_bytes() for path in top.rglob("*") if path.is_file()}
    collection = Collection.at(out)
    assert len(collection.variants) == 5
    strange = [path for path in top.glob("*.parquet")]
    assert len(collection.unreadable) == len(strange) == 11
    for path in strange:
        (message,) = [message for message in collection.unreadable if str(path) in message]
        assert len(message.splitlines()) == 1
    reasons = dict(message.removeprefix(f"{top}/").split(".parquet ", 1) for message in collection.unreadable)
    assert reasons["other"] == "has traces of version 99, not 1"
    assert reasons["directory"] == "is no trace (Is a directory)"
    assert reasons["foreign"] == reasons["not json"] == "is no trace (its metadata are not lbbench's)"
    assert reasons["no columns"] == "is no trace (columns or settings are missing)"
    assert {path: path.read_bytes() for path in contents} == contents


def test_only_the_traces_below_out_count(out):
    shutil.copytree(out / "traces", out / "paper" / "traces")
    made_up.write(out / "paper", "random", "berkenkamp", 0, [1.0])
    assert len(Collection.at(out).traces) == 9
    assert len(Collection.at(out / "paper").traces) == 10
    assert not Collection.at(out / "nowhere")


def test_only_keeps_the_runs_with_given_keys(out):
    collection = Collection.at(out)
    lb = collection.variants[1]
    kept = collection.only({("berkenkamp", "lb", lb.run_id, 1)})
    assert [(v.label(), v.seeds) for v in kept.variants] == [("LB", (1,))]
    assert len(kept.metadata) == 1


def test_traces_of_unknown_methods_and_problems_are_variants_too(tmp_path):
    path = made_up.write(tmp_path, "mle", "a toy", 0, [2.0, 1.0])
    metadata = traces.read_metadata(path)
    metadata["settings"]["method"] = {"name": "new", "knob": 3}
    own = {"method": "new", "run_id": Settings(metadata["settings"]).id}
    traces.write(path, [row | own for row in pq.read_table(path).to_pylist()], metadata)
    (variant,) = Collection.at(tmp_path).variants
    assert variant.label() == "new (iterations=2, knob=3)"


def test_real_runs_are_collected_as_they_were_asked_for(tmp_path):
    planned = plan(["method=lb,mle", "problem=berkenkamp", "theta0=mle,0.5", "seeds=2", "iterations=3", "jobs=1",
                    f"out={tmp_path}"])  # fmt: skip
    todo = runs(planned)
    execute(todo, planned.study, lambda outcome: None)
    collection = Collection.at(tmp_path, {"theta0": ("0.5",)})
    assert [v.label() for v in collection.variants] == ["LB (iterations=3, theta0=0.5)", "MLE (iterations=3)"]
    assert {v.run_id for v in collection.variants} == {run.settings.id for run in todo[2:]}
    frame = collection.read(collection.variants)
    assert np.array_equal(frame["seed"].unique(), [0, 1])
    assert len(frame) == 4 * (3 + 3)
