"""A table has no column, and no row, in which there is nothing to read."""

import math

import made_up
import pytest

from lbbench.records import traces
from lbbench.report import sections
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.report.interactive import COLUMNS
from lbbench.report.summaries import TABLES, ablation, tables
from lbbench.report.tables import Estimate, Table, filled, text


def all_tables(collection, out):
    """Every table of the commands and of the report."""
    variants = collection.variants
    labels = {variant.run_id: variant.label() for variant in variants}
    frame = collection.read(variants, COLUMNS, thinned=True)
    yield from tables(collection, variants, list(TABLES))
    yield sections.times(collection, frame, labels)
    yield sections.coverage(variants, labels)
    yield from map(sections.settings, variants)
    yield sections.provenance(collection.metadata)
    yield sections.failures(out, collection)[0]
    yield ablation(frame, {"g": {variant.run_id: variant.settings.flat.get("g") for variant in variants}})


def short(out):
    made_up.study(out, methods=("lb", "mle", "random"), problems=("berkenkamp", "michalewicz"), steps=8)


def one_seed(out):
    made_up.write(out, "lb", "michalewicz", 0, [3.0] * 250)


def thinned(out):
    made_up.study(out / "whole", methods=("lb", "random"), steps=60)
    export(Collection.at(out / "whole"), out / "few", thin=3)
    (out / "few/traces").rename(out / "traces")


def told_nothing(out):
    """Traces whose metadata say no more than they must."""
    import pyarrow.parquet as pq

    made_up.study(out, methods=("lb", "random"), problems=("toy",), steps=60)
    for path in (out / "traces").rglob("*.parquet"):
        about = traces.read_metadata(path)
        traces.write_table(path, pq.read_table(path), {key: about[key] for key in ("settings", "seed")})


@pytest.mark.parametrize("make", [short, one_seed, thinned, told_nothing])
def test_no_table_has_an_empty_column_or_row(make, tmp_path):
    make(tmp_path)
    for table in all_tables(Collection.at(tmp_path), tmp_path):
        for i, name in enumerate(table.header if table.rows else ()):
            assert any(text(row[i]) for row in table.rows), f"{table.title}: {name}"
        for row in table.rows:
            assert any(text(cell) for cell in row[1:]), f"{table.title}: {row}"
        assert table.rows or table.note


def test_times_of_other_lengths_are_not_beside_the_papers_and_the_note_says_why(tmp_path):
    short(tmp_path)
    collection = Collection.at(tmp_path)
    (times,) = tables(collection, collection.usual(), ["times"])
    assert not times.rows
    assert times.note.startswith("no run times to compare: the paper's are of 250 steps")
    made_up.write(tmp_path, "mle", "michalewicz", 0, [1.0] * 250)
    made_up.write(tmp_path, "mle", "michalewicz", 1, [1.0] * 250, dim=2)  # which is not the paper's problem
    collection = Collection.at(tmp_path)
    (times,) = tables(collection, collection.variants, ["times"])
    assert [row[:4] for row in times.rows] == [("michalewicz", "MLE", 250, 237)]
    assert "5 more cannot be compared" in times.note


def test_a_spread_needs_two_means(tmp_path):
    for g, regret in (("t^0.25", 1.0), ("t^0.5", 1.0)):
        made_up.write(tmp_path, "lb", "toy", 0, [regret], g=g)
    collection = Collection.at(tmp_path)
    g = {variant.run_id: variant.settings["method"]["g"] for variant in collection.variants}
    found = ablation(collection.read(collection.variants), {"g": g})
    assert found.rows[-1] == ("toy", "spread", 0.0)  # equal means have one
    one = ablation(collection.read(collection.variants[:1]), {"g": g})
    assert len(one.rows) == 1
    assert "spread" not in one.note


def test_filled_says_why_a_column_is_not_there():
    nan = Estimate(math.nan, math.nan)
    table = Table(("a", "b", "c", "d"), [("x", math.nan, "", nan), ("y", math.nan, 0, nan)], "title", "note")
    found = filled(table, {"b": "no b here", "d": "no d here"})
    assert found.header == ("a", "c", "d")
    assert [row[:2] for row in found.rows] == [("x", ""), ("y", 0)]
    assert found.note == "note; no b here"
