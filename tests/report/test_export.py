"""`lbbench export`: nothing is lost, and nothing that is not its own is overwritten."""

import csv
import os
import subprocess
import sys

import made_up
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.errors import UsageError
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.run import runs
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.study.runner import execute


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    planned = plan(["method=lb,random,mcmc", "problem=berkenkamp,agnp", "iterations=12", "seeds=[1,3]", "jobs=1",
                    f"out={out}"])  # fmt: skip
    assert not any(outcome.failure for outcome in execute(runs(planned), planned.study, lambda outcome: None))
    return out


def table_of(path, run_id, seed):
    """The rows of a run, straight from its file."""
    table = pq.read_table(path).replace_schema_metadata()
    own = [i for i, key in enumerate(zip(*(table[name].to_pylist() for name in ("run_id", "seed")), strict=True))
           if key == (run_id, seed)]  # fmt: skip
    return table.take(own)


def test_an_export_holds_the_same_rows_metadata_and_settings(study, tmp_path):
    files = export(Collection.at(study), tmp_path / "there" / "paper")
    to = tmp_path / "there" / "paper"
    assert files == [to / "traces/agnp.parquet", to / "traces/berkenkamp.parquet", to / "settings.csv"]
    before, after = Collection.at(study), Collection.at(to)
    assert after.variants == before.variants
    assert after.unreadable == []
    metadata = {trace.key: trace.metadata for trace in after.traces}
    for trace in before.traces:
        assert metadata[trace.key] == {key: v for key, v in trace.metadata.items() if key != "schema_version"}
        exported = table_of(to / "traces" / f"{trace.key[0]}.parquet", trace.settings.id, trace.seed)
        assert exported.equals(pq.read_table(trace.path).replace_schema_metadata())
    pd.testing.assert_frame_equal(after.read(after.variants), before.read(before.variants), check_exact=True)
    assert len(pd.read_parquet(to / "traces")) == len(before.read(before.variants))
    pd.testing.assert_frame_equal(
        after.read(after.variants[1:3], ["y"]), before.read(before.variants[1:3], ["y"]), check_exact=True
    )


def test_missing_values_and_values_that_are_not_numbers_stay_apart(tmp_path):
    path = made_up.write(tmp_path, "lb", "berkenkamp", 0, [2.0, 1.0])
    rows = pq.read_table(path).to_pylist()
    rows[-1] |= {"rhat": float("nan"), "ess": None, "divergences": 2**60 + 1}
    traces.write(path, rows, traces.read_metadata(path))
    export(Collection.at(tmp_path), tmp_path / "to")
    table = pq.read_table(tmp_path / "to/traces/berkenkamp.parquet")
    assert table["rhat"].null_count == table["ess"].null_count - 1
    assert table["divergences"].to_pylist()[-1] == 2**60 + 1


def test_settings_stand_beside_the_traces(study, tmp_path):
    export(Collection.at(study), tmp_path / "to")
    rows = list(csv.DictReader((tmp_path / "to/settings.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["problem"], row["method"], row["seeds"]) for row in rows] == [
        (problem, method, "[1, 3]") for problem in ("agnp", "berkenkamp") for method in ("lb", "mcmc", "random")
    ]
    assert [row["g"] for row in rows[:3]] == ["sqrt(t)", "", ""]
    assert {row["iterations"] for row in rows} == {"12"}
    assert [row["run_id"] for row in rows] == [v.run_id for v in Collection.at(study).variants]


def test_an_export_is_smaller_than_the_traces_and_can_be_exported_again(study, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    export(Collection.at(study), first)
    size = sum(path.stat().st_size for path in (study / "traces").rglob("*.parquet"))
    assert sum(path.stat().st_size for path in (first / "traces").iterdir()) < size / 2
    export(Collection.at(first), second)
    assert contents(first) == contents(second)


def test_an_earlier_export_is_replaced_but_not_runs_that_would_be_lost(study, tmp_path):
    to = tmp_path / "to"
    everything, some = Collection.at(study), Collection.at(study, {"problem": ("agnp",), "method": ("lb",)})
    export(some, to)
    export(everything, to)
    assert Collection.at(to).variants == everything.variants
    before = contents(to)
    with pytest.raises(UsageError, match="holds 10 runs that this lacks; force=true drops them"):
        export(some, to)
    assert contents(to) == before
    export(some, to, force=True)
    assert [path.name for path in (to / "traces").iterdir()] == ["agnp.parquet"]
    assert Collection.at(to).variants == some.variants


def test_what_is_no_export_is_left_alone(study, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "strange" / "traces").mkdir(parents=True)
    (tmp_path / "strange" / "traces" / "agnp.parquet").write_text("mine")
    made_up.write(tmp_path / "runs", "lb", "berkenkamp", 0, [1.0])
    mixed = tmp_path / "mixed"
    export(Collection.at(study), mixed)
    made_up.write(mixed, "lb", "berkenkamp", 0, [1.0])
    before = contents(tmp_path)
    for name, words in {
        "notes": "todo.txt is not from an export",
        "file": "is a file",
        "strange": "agnp.parquet is not from an export",
        "runs": "seed=0-.*parquet is not from an export",
        "mixed": "seed=0-.*parquet is not from an export",
    }.items():
        with pytest.raises(UsageError, match=words):
            export(Collection.at(study), tmp_path / name, force=True)
    with pytest.raises(UsageError, match="is not from an export"):
        export(Collection.at(study), study)
    assert contents(tmp_path) == before


def test_a_damaged_export_is_replaced_only_if_told(study, tmp_path):
    everything = Collection.at(study)
    export(everything, tmp_path)
    file = tmp_path / "traces/agnp.parquet"
    whole, metadata = file.read_bytes(), traces.read_metadata(file)
    traces.write_table(file, pq.read_table(file)[:20], metadata)
    with pytest.raises(UsageError, match=r"agnp\.parquet is no trace .*; force=true replaces it"):
        export(everything, tmp_path)
    export(everything, tmp_path, force=True)
    assert file.read_bytes() == whole
    file.write_bytes(whole[:500])
    with pytest.raises(UsageError, match=r"agnp\.parquet is not from an export, or damaged; .* move it away"):
        export(everything, tmp_path, force=True)
    assert file.read_bytes() == whole[:500]


def test_figures_and_tables_beside_an_export_do_not_stand_in_its_way(study, tmp_path):
    export(Collection.at(study), tmp_path)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "figure3.png").write_text("a figure")
    (tmp_path / "traces" / ".agnp.parquet.1.tmp").write_text("left by an export that was killed")
    export(Collection.at(study), tmp_path)
    assert (tmp_path / "figures" / "figure3.png").read_text() == "a figure"


def test_a_failed_export_leaves_the_earlier_one(study, tmp_path, monkeypatch):
    export(Collection.at(study), tmp_path)
    before = contents(tmp_path)

    def write_table(self, table):
        raise OSError("no space left")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", write_table)
    with pytest.raises(OSError, match="no space left"):
        export(Collection.at(study), tmp_path)
    assert contents(tmp_path) == before


def lbbench(*arguments):
    result = CliRunner().invoke(cli.app, ["export", *arguments])
    return result.exception if isinstance(result.exception, UsageError) else result


def test_the_command_takes_filters_or_the_runs_of_a_preset(study, tmp_path):
    result = lbbench(f"out={study}", "problem=agnp", "method=lb", f"to={tmp_path}/one")
    assert result.exit_code == 0
    assert f"wrote {tmp_path}/one/traces/agnp.parquet (" in result.stdout
    assert [v.method for v in Collection.at(tmp_path / "one").variants] == ["lb"]
    preset = ["+experiment=figure3", f"out={study}", "iterations=12", "method=lb,mcmc", "seeds=[3]", "problem=agnp"]
    assert lbbench(*preset, f"to={tmp_path}/two").exit_code == 0
    assert [(v.method, v.seeds) for v in Collection.at(tmp_path / "two").variants] == [("lb", (3,)), ("mcmc", (3,))]
    missing = str(lbbench(*preset[:-1], "problem=agnp,michalewicz", f"to={tmp_path}/three"))
    assert missing.startswith("2 of 4 runs are missing; make them: lbbench run +experiment=figure3 ")
    assert "problem=agnp,michalewicz" in missing
    assert not (tmp_path / "three").exists()


def test_the_command_thins(study, tmp_path):
    assert lbbench(f"out={study}", f"to={tmp_path}", "thin=1").exit_code == 0
    assert set(pd.read_parquet(tmp_path / "traces")["t"]) == {*range(-9, 2), 10, 12}
    assert {trace.metadata["thin"] for trace in Collection.at(tmp_path).traces} == {1}
    assert lbbench(f"out={study}", f"to={tmp_path}", "thin=none").exit_code == 0
    assert len(Collection.at(tmp_path).read(Collection.at(tmp_path).variants)) == len(pd.read_parquet(study / "traces"))


def test_the_command_goes_beside_the_traces_unless_told(tmp_path):
    made_up.study(tmp_path / "results", seeds=1)
    command = [sys.executable, "-m", "lbbench"]
    for line in ("export", "table out=results/paper", "export force=true"):
        result = subprocess.run([*command, *line.split()], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(tmp_path / "results/paper")) == ["settings.csv", "traces"]
    empty = subprocess.run([*command, "export", "out=nowhere"], cwd=tmp_path, capture_output=True, text=True)
    assert empty.returncode == 2
    assert empty.stderr.startswith("lbbench: no traces in nowhere/traces; make some: lbbench run ")
    preset = subprocess.run(
        [*command, "export", "out=nowhere", "+experiment=paper"], cwd=tmp_path, capture_output=True, text=True
    )
    assert preset.stderr.endswith("lbbench run out=nowhere +experiment=paper\n")
    assert pa.types.is_list(pq.read_schema(tmp_path / "results/paper/traces/toy.parquet").field("x").type)
