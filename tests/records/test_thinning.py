"""Which rows of long runs are kept, by the rule written out; and what is read and drawn from them."""

import math

import made_up
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from lbbench.errors import UsageError
from lbbench.health.estimate import measured
from lbbench.records import thinning, traces
from lbbench.records.optimising import REGRETS
from lbbench.records.thinning import holds, is_whole, keeps, steps
from lbbench.report import interactive, sections, stats, summaries
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.report.lengthscales import chosen

T = 300


def rule(iterations, thin):
    """The steps by the words of docs/figures-and-tables.md."""
    marks = {round(10 ** (k / thin)) for k in range(10 * thin) if round(10 ** (k / thin)) <= iterations}
    return sorted(marks | {iterations})


@pytest.mark.parametrize("thin", [1, 2, 3, 7, 10, 100, 1000])
@pytest.mark.parametrize("iterations", [1, 2, 9, 10, 11, 250, 999, 1000, 30_000])
def test_steps_are_those_of_the_rule(thin, iterations):
    assert steps(iterations, thin).tolist() == rule(iterations, thin)


def test_steps_by_hand():
    assert steps(30_000, 1).tolist() == [1, 10, 100, 1000, 10_000, 30_000]
    assert steps(20, 2).tolist() == [1, 3, 10, 20]
    assert steps(4, None).tolist() == [1, 2, 3, 4]
    assert keeps(np.array([-1, 0, 1, 2, 3]), np.array([1, 3])).tolist() == [True, True, True, False, True]


@pytest.mark.parametrize(
    ("there", "wanted", "iterations", "held"),
    [(None, 10, 900, True), (10, 10, 900, True), (10, 5, 900, True), (10, 20, 900, False), (10, 4, 900, False),
     (10, None, 900, False), (10, 20, 4, True), (10, None, 4, True)],
)  # fmt: skip
def test_whether_a_run_holds_the_steps_of_another(there, wanted, iterations, held):
    assert holds(there, wanted, iterations) == held


@pytest.mark.parametrize(
    ("t", "thin", "whole"),
    [([-1, 0, 1, 2, 3, 4, 5, 6], None, True), ([6, 5, 4, 3, 2, 1, 0, -1], None, True), ([1, 2, 3, 4, 5, 6], None, True),
     ([-1, 0, 1, 2, 3, 4, 5], None, False), ([0, 1, 2, 4, 5, 6], None, False), ([-2, 0, 1, 2, 3, 4, 5, 6], None, False),
     ([0, 1, 2, 3, 4, 5, 6, 6], None, False), ([0, 1, 2, 3, 4, 5, 7], None, False), ([-1, 0, 1, 3, 6], 2, True),
     ([-1, 0, 1, 6], 2, False), ([-1, 0, 1, 3, 5, 6], 2, False), ([-1, 0, 1, 3], 2, False), ([-1, 1, 3, 6], 2, False)],
)  # fmt: skip
def test_a_run_is_whole_with_just_the_rows_that_are_kept(t, thin, whole):
    assert is_whole(np.array(t), 6, thin) == whole


def test_a_number_of_steps_that_no_memory_holds_is_no_trouble():
    assert not is_whole(np.arange(5), 10**15, None)


def unknown(out, regrets):
    """A trace without regrets, since the maximum is not known; returns its path."""
    path = made_up.write(out, "lb", "toy", 0, regrets)
    nothing = dict.fromkeys(REGRETS, math.nan)
    traces.write(path, [row | nothing for row in pq.read_table(path).to_pylist()], traces.read_metadata(path))
    return path


# What is read


@pytest.fixture
def out(tmp_path, monkeypatch):
    """Two long runs each of LB and random; the regrets of LB are 1/t."""
    monkeypatch.setattr(thinning, "LONG", T - 1)
    monkeypatch.setattr(thinning, "DRAWN", 10)
    for seed in range(2):
        made_up.write(tmp_path, "lb", "toy", seed, [(1 + seed) / t for t in range(1, T + 1)], g="sqrt(t)")
        made_up.write(tmp_path, "random", "toy", seed, [1.0 + seed] * T)
    made_up.write(tmp_path, "lb", "berkenkamp", 0, [1.0] * 20)
    return tmp_path


def test_curves_of_long_runs_are_read_from_some_rows_and_those_of_short_ones_from_all(out):
    collection = Collection.at(out)
    everything = collection.read(collection.variants)
    some = collection.read(collection.variants, thinned=True)
    wanted = everything[
        (everything["problem"] == "berkenkamp") | (everything["t"] <= 0) | everything["t"].isin(rule(T, 10))
    ]
    pd.testing.assert_frame_equal(some, wanted.reset_index(drop=True), check_exact=True)
    assert len(some) < len(everything) / 5


def test_the_seconds_of_a_run_are_those_of_all_its_rows(out):
    collection = Collection.at(out)
    frame = collection.read(collection.variants, summaries.COLUMNS, thinned=True)
    assert stats.final(frame)["seconds"].tolist() == pytest.approx([0.3 * 22, *[0.3 * (T + 2)] * 4])
    everything = stats.summary(collection.read(collection.variants))
    pd.testing.assert_frame_equal(stats.summary(frame), everything)


def test_a_run_that_is_at_hand_in_full_is_read_in_full(out):
    export(Collection.at(out, {"method": ["lb"]}), out / "traces" / "a copy", thin=5)
    (variant,) = [
        variant for variant in Collection.at(out).variants if variant.method == "lb" and variant.problem == "toy"
    ]
    collection = Collection.at(out)
    assert collection.whole(collection.variants) == collection.variants
    assert len(collection.read([variant])) == 2 * (T + 2)


def test_curves_of_runs_of_which_some_are_thinned_are_means_over_all_of_them(out):
    export(Collection.at(out, {"method": ["lb"], "seeds": ["1"]}), out / "paper", thin=5)
    next((out / "traces/toy/lb").glob("seed=1-*")).unlink()
    (out / "paper/traces/toy.parquet").rename(out / "traces/some.parquet")
    collection = Collection.at(out)
    table = stats.curves(collection.read(collection.variants, thinned=True), "simple_regret")
    lb = table[(table["method"] == "lb") & (table["problem"] == "toy") & (table["t"] > 0)]
    assert set(lb["n"]) == {2}
    assert lb["t"].tolist() == rule(T, 5)


def test_without_a_known_maximum_regrets_are_summed_before_rows_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(thinning, "LONG", 20)
    monkeypatch.setattr(thinning, "DRAWN", 2)
    unknown(tmp_path, [5.0, *np.sin(np.arange(40))])
    collection = Collection.at(tmp_path)
    everything = collection.read(collection.variants)
    some = collection.read(collection.variants, thinned=True)
    wanted = everything[(everything["t"] <= 0) | everything["t"].isin(rule(41, 2))].reset_index(drop=True)
    assert np.isfinite(wanted["cumulative_regret"]).all()
    pd.testing.assert_frame_equal(some, wanted, check_exact=True)


def test_what_needs_all_rows_has_them_or_leaves_runs_out(out):
    export(Collection.at(out), out / "paper", thin=10)
    full, thin = Collection.at(out), Collection.at(out / "paper")
    for collection, count in ((full, 2 * T), (thin, 0)):
        (lb,) = [variant for variant in collection.variants if variant.method == "lb" and variant.problem == "toy"]
        assert len(chosen(collection, [lb])[lb.key]) == count
    labels = {variant.run_id: variant.label() for variant in full.variants}
    tables = [
        sections.times(collection, collection.read(collection.variants, interactive.COLUMNS, thinned=True), labels)
        for collection in (full, thin)
    ]
    for there, left in zip(tables[0].rows, tables[1].rows, strict=True):
        assert there[:3] == left[:3]  # s/run is the same
        assert there[3] == pytest.approx(250.0)
    assert [name for name in tables[0].header if name not in tables[1].header] == ["ms/step, median", "ms/step, 95 %"]


def test_planning_takes_the_steps_between_for_as_slow_as_the_next(out):
    collection = Collection.at(out)
    lb = next(variant for variant in collection.variants if variant.problem == "toy" and variant.method == "lb")
    assert measured(collection, lb.settings).total(-1, T) == pytest.approx(0.3 * (T + 2))


# What is exported


def test_a_thinned_export_has_the_rows_of_the_rule_as_they_were(out):
    export(Collection.at(out), out / "paper", thin=10)
    before, after = Collection.at(out), Collection.at(out / "paper")
    assert after.unreadable == []
    assert after.variants == before.variants
    everything = before.read(before.variants)
    short = everything["problem"] == "berkenkamp"
    kept = (
        (everything["t"] <= 0)
        | (everything["t"].isin(rule(T, 10)) & ~short)
        | everything["t"].isin(rule(20, 10)) & short
    )
    expected = everything[kept].reset_index(drop=True)
    pd.testing.assert_frame_equal(after.read(after.variants), expected, check_exact=True)
    for trace in after.traces:
        assert trace.metadata["thin"] == 10
        assert trace.metadata["total_s"] == pytest.approx(0.3 * (trace.settings["iterations"] + 2))
    names = ("summary", "ranks", "tests", "times", "factors")
    tables = [repr(summaries.tables(there, there.variants, names)) for there in (before, after)]  # in which nan is nan
    assert tables[0] == tables[1]


def test_a_thinned_export_is_exported_again_with_what_it_has(out):
    export(Collection.at(out), out / "ten", thin=10)
    ten = Collection.at(out / "ten")
    for thin in (10, None):
        export(ten, out / f"again-{thin}", thin=thin)
        assert contents(out / f"again-{thin}") == contents(out / "ten")
    export(ten, out / "five", thin=5)
    export(Collection.at(out), out / "direct", thin=5)
    assert contents(out / "five") == contents(out / "direct")
    for thin in (4, 20):
        with pytest.raises(
            UsageError, match=f"^thin={thin}: of lb on berkenkamp there are 10 steps per decade, not all of these"
        ):
            export(ten, out / "other", thin=thin)
    assert not (out / "other").exists()


def test_rows_are_dropped_from_an_earlier_export_only_if_told(out):
    everything = Collection.at(out)
    export(everything, out / "to")
    before = contents(out / "to")
    with pytest.raises(UsageError, match="holds rows of 5 runs that this lacks; force=true drops them"):
        export(everything, out / "to", thin=10)
    assert contents(out / "to") == before
    export(everything, out / "to", force=True, thin=10)
    with pytest.raises(UsageError, match="holds rows of 5 runs that this lacks"):
        export(everything, out / "to", thin=7)
    export(everything, out / "to")
    assert contents(out / "to") == before


def test_runs_without_a_known_maximum_are_not_thinned(tmp_path):
    unknown(tmp_path, [1.0] * 30)
    with pytest.raises(UsageError, match=r"^thin=5: lb on toy needs all rows, since its maximum is not known$"):
        export(Collection.at(tmp_path), tmp_path / "to", thin=5)
    assert not (tmp_path / "to").exists()
    export(Collection.at(tmp_path), tmp_path / "to")


def test_a_large_export_is_written_and_read_in_parts(out, monkeypatch):
    export(Collection.at(out), out / "at once")
    monkeypatch.setattr(traces, "GROUP", 400)
    export(Collection.at(out), out / "in parts")
    file = pq.ParquetFile(out / "in parts/traces/toy.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [2 * (T + 2)] * 2
    one, other = Collection.at(out / "at once"), Collection.at(out / "in parts")
    pd.testing.assert_frame_equal(other.read(other.variants), one.read(one.variants), check_exact=True)
    sizes = []
    columns = traces._columns
    monkeypatch.setattr(traces, "_columns", lambda *given: sizes.append(len(found := columns(*given))) or found)
    assert len(list(other.each(other.variants))) == 5
    assert max(sizes) == 2 * (T + 2)
    assert len(sizes) == 3  # each part once


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
