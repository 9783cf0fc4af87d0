"""`problem=csv`: a table of the user's own as a pool."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lbbench.errors import UsageError
from lbbench.plan.sweeps import plan
from lbbench.problems.materials import agnp
from lbbench.problems.tables import csv
from lbbench.records.run import runs

TABLE = """batch, solvent, temperature, time, yield
1, water, 20, 1, 3.0
2, water, 20, 1, 5.0
3, ethanol, 30, 1, 6.0
4, ethanol, 40, 2, 9.5
5, water, 40, 2,
6, water, 50, 3, 7
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text(TABLE)
    return str(file)


def test_repeated_candidates_have_their_mean_and_rows_without_a_value_are_left_out(path):
    problem = csv(path, "yield", ignore="[batch, solvent]")
    assert problem.domain.candidates.tolist() == [[20, 1], [30, 1], [40, 2], [50, 3]]
    assert problem.evaluate(problem.domain.candidates).tolist() == [4.0, 6.0, 9.5, 7.0]
    assert problem.optimum == 9.5


def test_to_minimise_negates(path):
    problem = csv(path, "yield", maximize=False, ignore="[batch,solvent]")
    assert problem.evaluate(problem.domain.candidates).tolist() == [-4.0, -6.0, -9.5, -7.0]
    assert problem.optimum == -4.0


def test_categories_become_inputs_of_0_and_1(path):
    problem = csv(path, "yield", ignore="batch", categories="onehot")
    assert problem.domain.candidates.tolist() == [[20, 1, 0, 1], [30, 1, 1, 0], [40, 2, 1, 0], [50, 3, 0, 1]]


def test_one_input_is_enough(path):
    assert csv(path, "yield", ignore="[batch,solvent,time]").domain.candidates.tolist() == [[20], [30], [40], [50]]


def test_agnp_as_a_file_is_agnp(tmp_path):
    known = agnp()
    candidates = known.domain.candidates
    table = pd.DataFrame(candidates).assign(loss=-known.evaluate(candidates))
    table.to_csv(tmp_path / "agnp.csv", index=False)
    problem = csv(str(tmp_path / "agnp.csv"), "loss", maximize=False)
    np.testing.assert_array_equal(problem.domain.candidates, candidates)
    np.testing.assert_array_equal(problem.evaluate(candidates), known.evaluate(candidates))


def test_numbers_are_read_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(2_000) * 10.0 ** rng.integers(-290, 290, 2_000)
    file = tmp_path / "data.csv"
    file.write_text("a,yield\n" + "".join(f"{i}, {value!r}\n" for i, value in enumerate(values.tolist())))
    problem = csv(str(file), "yield")
    np.testing.assert_array_equal(problem.evaluate(problem.domain.candidates), values)


WRONG = {
    "no path": ({"path": "none"}, "needs problem.path="),
    "no target": ({"target": "none"}, "needs problem.target="),
    "no file": ({"path": "nowhere.csv"}, "nowhere.csv cannot be read"),
    "target": ({"target": "price"}, "no column price; its columns: batch, solvent, temperature, time, yield"),
    "ignored": ({"ignore": "[batch,colour]"}, "no column colour"),
    "words": (
        {"ignore": "batch"},
        "the column solvent has values that are no numbers; leave it out by problem.ignore=",
    ),
    "nothing left": ({"ignore": "[batch,solvent,temperature,time]"}, "no column that is an input"),
    "target of words": ({"target": "solvent", "ignore": "[batch,yield]"}, "the column solvent has values that are no"),
    "missing": ({"target": "time", "ignore": "[batch,solvent]"}, "the column yield has values that are missing"),
    "another content": ({"digest": "0123456789"}, "has changed"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_named(case, path):
    settings, words = WRONG[case]
    with pytest.raises(UsageError) as complaint:
        csv(**{"path": path, "target": "yield", **settings})
    assert words in str(complaint.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is no CSV file"),
        ("a,b\n", "has no rows"),
        ("a,b\n1,2,3\n4,5,6\n", "more values than its first line has names"),
        ("a,b\n1,2\n1,2,3\n", "is no CSV file"),
        ("a,yield\n1,\n", "has no row with a value of yield"),
        ("a,yield\n1_000,2\n", "the column a has values that are no numbers"),
        ("a,yield\ninf,2\n", "the column a has values that are missing or not finite"),
    ],
)
def test_a_file_that_is_no_such_table_is_named(content, words, path):
    with open(path, "w") as file:
        file.write(content)
    with pytest.raises(UsageError, match=words):
        csv(path, "yield")


def test_another_content_is_another_run(path, tmp_path):
    line = ["problem=csv", f"problem.path={path}", "problem.target=yield", "ignore=[batch,solvent]", f"out={tmp_path}"]
    (before,) = {run.settings.id for run in runs(plan(line))}
    with open(path, "a") as file:
        file.write("7, water, 60, 3, 1\n")
    (after,) = {run.settings.id for run in runs(plan(line))}
    assert before != after


def test_a_study_of_a_table_is_run_shown_and_found_again(path, tmp_path):
    def lbbench(command, *arguments):
        line = [sys.executable, "-m", "lbbench", command, *arguments, f"out={tmp_path / 'out'}"]
        return subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)

    line = [
        "problem=csv",
        "path=data.csv",
        "target=yield",
        "ignore=[batch,solvent]",
        "iterations=6",
        "method=lb,random",
    ]
    found = lbbench("run", *line, "seeds=2")
    assert found.returncode == 0, found.stderr
    assert "4 runs in" in found.stdout
    assert "4 done" in lbbench("status", *line, "seeds=2").stdout
    for command in ("table", "report", "plot"):
        found = lbbench(command, "problem=csv")
        assert (found.returncode, found.stderr) == (0, "")
    (tmp_path / "data.csv").unlink()
    found = lbbench("report", "problem=csv")
    assert (found.returncode, found.stderr) == (0, "")
    found = lbbench("run", *line, "seeds=2")
    assert (found.returncode, found.stderr) == (2, "lbbench: data.csv cannot be read: No such file or directory\n")
