"""`lbbench table`: what the tables say, and how they are written."""

import csv
import math
import re
import subprocess
import sys

import made_up
import numpy as np
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.errors import UsageError
from lbbench.report import summaries
from lbbench.report.collection import Collection
from lbbench.report.optimising import VIEW
from lbbench.report.tables import Estimate, Table, comma_separated, latex, markdown, text

TABLE = Table(
    ("method", "final regret", "n", "p"),
    [("A & B_1", Estimate(1.23456, 0.0123), 3, 7.6e-05), ("t^0.25", Estimate(409.14, math.nan), 12, math.nan)],
    "A title",
    "A note",
)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [("a", "a"), (7, "7"), (0.0, "0"), (2.0, "2.00"), (1234.56, "1235"), (9.77e11, "9.77e+11"), (-0.0726, "-0.0726"),
     (295.2, "295"), (math.nan, ""), (Estimate(1.23456, 0.0123), "1.235 ± 0.012")],
)  # fmt: skip
def test_cells_are_read(cell, shown):
    assert text(cell) == shown


def test_markdown():
    assert list(markdown(TABLE)) == [
        "## A title",
        "",
        "| method | final regret | n | p |",
        "|---|---:|---:|---:|",
        "| A & B_1 | 1.235 ± 0.012 | 3 | 7.60e-05 |",
        "| t^0.25 | 409.1 | 12 |  |",
        "",
        "A note",
    ]
    assert list(markdown(Table(("a", "b"), [("x|y", "")]))) == ["| a | b |", "|---|---|", r"| x\|y |  |"]


def test_csv_has_numbers_in_full():
    rows = list(csv.reader(comma_separated(TABLE)))
    assert rows == [
        ["method", "final_regret", "final_regret_se", "n", "p"],
        ["A & B_1", "1.23456", "0.0123", "3", "7.6e-05"],
        ["t^0.25", "409.14", "", "12", ""],
    ]


def test_latex_is_escaped_and_ruled():
    lines = list(latex(TABLE))
    assert lines[1:4] == [r"\begin{tabular}{lrrr}", r"\toprule", r"method & final regret & n & p \\"]
    assert lines[5] == r"A \& B\_1 & $1.235 \pm 0.012$ & $3$ & $7.60 \times 10^{-5}$ \\"
    assert lines[6] == r"t\textasciicircum{}0.25 & $409.1$ & $12$ &  \\"
    assert lines[7:9] == [r"\bottomrule", r"\end{tabular}"]
    assert all(line.startswith("%") for line in (lines[0], *lines[9:]))


def test_latex_escapes_every_special_character():
    cell = "\\ & % $ # _ { } ~ ^ < > | θ₀ d̂ ± −"
    (row,) = [line for line in latex(Table(("a",), [(cell,)])) if "theta" in line]
    assert row == (
        r"\textbackslash{} \& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} $<$ $>$ $|$ "
        r"$\theta$$_0$ $\hat{d}$ $\pm$ $-$ \\"
    )


REGRETS = {"lb": [(4.0, 1.0), (3.0, 2.0), (5.0, 6.0)], "mle": [(2.0, 4.0), (7.0, 3.0)]}


@pytest.fixture
def out(tmp_path):
    for method, runs in REGRETS.items():
        for seed, regrets in enumerate(runs):
            made_up.write(tmp_path, method, "berkenkamp", seed, regrets)
    made_up.write(tmp_path, "agpucb", "michalewicz", 0, [1.0] * 16, g="t^0.5", t0=1.0, b="t^0.25")
    return tmp_path


def tables(out, **wanted):
    collection = Collection.at(out, {key: (value,) for key, value in wanted.items()})
    return {table.title: table for table in summaries.tables(collection, collection.usual(), VIEW.tables)}


def test_the_summary_against_numpy(out):
    table = tables(out)["Final regrets"]
    assert table.header == ("problem", "method", "iterations", "b", "g", "t0", "runs", "simple regret",
                            "cumulative regret", "s/run")  # fmt: skip
    assert [row[:7] for row in table.rows] == [
        ("berkenkamp", "LB", "2", "", "sqrt(t)", "auto", 3),
        ("berkenkamp", "MLE", "2", "", "", "", 2),
        ("michalewicz", "A-GP-UCB", "16", "t^0.25", "t^0.5", "1.0", 1),
    ]
    simple, cumulative = [1, 2, 5], [5, 5, 11]
    assert table.rows[0][7] == pytest.approx((np.mean(simple), np.std(simple, ddof=1) / math.sqrt(3)))
    assert table.rows[0][8] == pytest.approx((np.mean(cumulative), np.std(cumulative, ddof=1) / math.sqrt(3)))
    assert table.rows[0][9] == pytest.approx(4 * 0.3)


def test_what_all_have_in_common_is_in_the_note(out):
    (table,) = summaries.tables(found := Collection.at(out, {"problem": ("berkenkamp",)}), found.usual(), ["summary"])
    assert table.header[:3] == ("problem", "method", "runs")
    assert table.note.endswith("over seeds; iterations=2")


def test_ranks_and_tests_by_hand(out):
    ranks = tables(out, problem="berkenkamp")["Ranks"]  # LB: 1 and 2 against MLE's 2 and 3; 5 and 5 against 6 and 10
    assert ranks.rows == [("LB", 1, 1), ("MLE", 2, 2)]
    assert "the 2 pairs" in ranks.note
    tests = tables(out, problem="berkenkamp")["Tests of LB"]
    assert [row[:4] for row in tests.rows] == [
        ("berkenkamp", "MLE", "simple regret", 2),
        ("berkenkamp", "MLE", "cumulative regret", 2),
    ]
    assert [row[4] for row in tests.rows] == [-1.0, -3.0]
    assert [row[5] for row in tests.rows] == [1.0, 1.0]  # of two differences of one sign p = 0.5, twice that by Holm


def test_there_may_be_nothing_to_rank_or_test(out):
    alone = tables(out, problem="michalewicz")
    assert alone["Ranks"].rows == [("A-GP-UCB", 1, 1)]
    assert alone["Tests of LB"].rows == []
    assert "no tests" in alone["Tests of LB"].note
    apart = tables(out)  # no problem has all three methods
    assert apart["Ranks"].rows == []
    assert "no pair" in apart["Ranks"].note
    assert tables(out, method="mle")["Optimality factors"].rows == []


def test_factors_by_hand(out):
    # made-up points have one input: d̂ = 1 + 2 · 5/2 = 6. A-GP-UCB: g(16) = 4, b(16) = 2; LB: g(2) is below its floor
    lb, agpucb = tables(out)["Optimality factors"].rows
    assert agpucb[:8] == ("michalewicz", "t^0.5", "t^0.25", 1, 6, 16, 4, 2)
    assert agpucb[8:] == pytest.approx((4096, 6 * math.log(4), 8192, 6 * math.log(4) * math.log(2)))
    assert lb[:6] == ("berkenkamp", "sqrt(t)", "sqrt(t)", 1, 6, 2)
    b = math.sqrt(2)
    assert lb[6:] == pytest.approx((math.exp(5 / 6), b, math.exp(5), 5, math.exp(5) * b, 5 * math.log(b)))


def test_run_times_stand_beside_the_papers(tmp_path):
    made_up.write(tmp_path, "lb", "berkenkamp", 0, [1.0] * 250)
    made_up.write(tmp_path, "mle", "berkenkamp", 0, [1.0] * 10)
    made_up.write(tmp_path, "random", "berkenkamp", 0, [1.0] * 250)
    times = tables(tmp_path)["Run times"]
    here = 0.3 * (250 + made_up.DESIGN)
    assert times.rows[0] == ("berkenkamp", "LB", 250, 442, pytest.approx(here), pytest.approx(442 / here))
    assert len(times.rows) == 1  # another number of steps does not compare, and the paper has no random search
    assert times.note.endswith("; 1 more cannot be compared: the paper's are of 250 steps on problems as in configs/")
    assert "1 × Abacus" in times.note


def test_variants_with_a_value_that_was_asked_for_are_told_apart(out):
    for seed in range(2):
        made_up.write(out, "lb", "berkenkamp", seed, [9.0, 8.0], elimination="posterior")
    wanted = {"elimination": ("prior", "posterior"), "problem": ("berkenkamp",)}
    collection = Collection.at(out, wanted)
    found = summaries.tables(collection, collection.usual(["elimination"]), ("ranks", "tests"))
    assert found[0].rows[0][0] == "LB"
    assert found[1].title == "Tests of LB"
    assert {row[1] for row in found[1].rows} == {"LB (elimination=posterior)", "MLE"}


def lbbench(*arguments):
    result = CliRunner().invoke(cli.app, ["table", *arguments])
    if isinstance(result.exception, UsageError):
        return result.exception
    assert result.exit_code == 0, result.exception
    return result


def test_the_command_writes_every_format(out):
    everything = lbbench(f"out={out}").stdout
    for title in ("Final regrets", "Ranks", "Tests of LB", "Optimality factors", "Run times"):
        assert title in everything
        assert f"## {title}" in lbbench(f"out={out}", "format=markdown").stdout
    rows = list(csv.DictReader(lbbench(f"out={out}", "format=csv").stdout.splitlines()))
    assert [row["method"] for row in rows] == ["LB", "MLE", "A-GP-UCB"]
    assert float(rows[0]["simple_regret"]) == pytest.approx(8 / 3)
    source = lbbench(f"out={out}", "format=latex", "problem=berkenkamp").stdout
    assert re.findall(r"\\begin\{(.*?)\}", source) == ["tabular"]
    assert "A-GP-UCB" not in source
    two = lbbench(f"out={out}", "format=latex", "table=ranks,factors").stdout
    assert len(re.findall(r"\\begin", two)) == len(re.findall(r"\n\n%", two)) + 1 == 2
    assert "one value with format=csv" in str(lbbench(f"out={out}", "format=csv", "table=ranks,tests"))
    assert "format=pdf: must be one of text, markdown, csv, latex" in str(lbbench("format=pdf"))


def test_variants_that_are_not_shown_are_said_so(out):
    made_up.write(out, "lb", "berkenkamp", 0, [9.0, 8.0], elimination="posterior")
    usual = lbbench(f"out={out}", "table=summary", "format=csv")
    assert "1 more at hand, with other settings: variants=all shows them" in usual.stderr
    assert "posterior" not in usual.stdout
    for line in (["variants=all"], ["elimination=posterior"]):
        assert "LB,2,posterior" in lbbench(f"out={out}", "table=summary", "format=csv", *line).stdout


def test_a_directory_without_traces_or_with_strange_ones_gets_a_line(tmp_path, out):
    command = [sys.executable, "-m", "lbbench", "table"]
    empty = tmp_path / "empty"
    empty.mkdir()
    result = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert result.stderr == (
        "lbbench: no traces in results/traces; make some: lbbench run method=lb problem=michalewicz\n"
    )
    (out / "traces" / "strange.parquet").write_text("strange")
    shown = lbbench(f"out={out}", "table=summary")
    assert "left out: " in shown.stderr
    assert "strange.parquet is no trace" in shown.stderr
    assert "MLE" in shown.stdout


def test_a_table_without_rows_is_no_csv():
    with pytest.raises(UsageError, match="no tests: LB is alone"):
        list(comma_separated(Table(("problem", "p"), [], "Tests of LB", "no tests: LB is alone")))
