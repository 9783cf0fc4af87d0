"""`lbbench ablate`: what runs, what is printed and drawn."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lbbench.commands.session import ablate
from lbbench.errors import UsageError
from lbbench.plan import ablation
from lbbench.plan.sweeps import plan
from lbbench.report import summaries
from lbbench.report.collection import Collection
from lbbench.report.tables import Estimate

LINE = "lbbench ablate g=t^0.25,t^0.5,t^0.75"
TINY = "problem=berkenkamp iterations=2 seeds=1 raw_samples=16 jobs=1"


def cells(*arguments):
    return [(c.method, c.problem, dict(c.values), len(c.seeds)) for c in ablation.plan(arguments).combinations]


def test_the_papers_ablation_is_what_is_not_said_otherwise():
    growths = ("t^0.25", "sqrt(t)", "t^0.75")
    assert cells("g=t^0.25,t^0.5,t^0.75") == [
        (method, "michalewicz", {"method.g": g}, 10) for method in ("lb", "agpucb") for g in growths
    ]
    assert ablation.plan(["g=t^0.25,t^0.5,t^0.75"]) == plan(["+experiment=figure4"])
    assert cells("g=t^0.25,t^0.5", "method=lnb", "problem=agnp", "study.seeds=3") == [
        ("lnb", "agnp", {"method.g": g}, 3) for g in growths[:2]
    ]


def test_any_settings_can_be_varied_and_apply_to_the_methods_that_have_them():
    assert cells("elimination=prior,posterior", "kernel=rbf", "seeds=1") == [
        ("lb", "michalewicz", {"method.elimination": "prior", "gp.kernel": "rbf"}, 1),
        ("lb", "michalewicz", {"method.elimination": "posterior", "gp.kernel": "rbf"}, 1),
        ("agpucb", "michalewicz", {"gp.kernel": "rbf"}, 1),
    ]
    assert len(cells("theta0=mle,0.2,0.5", "kernel=rbf,matern52")) == 2 * 3 * 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "several values, such as g=t"),
        ("g=t^0.25", "several values, such as g=t"),
        ("method=lb,mle problem=agnp,berkenkamp", "several values"),
        ("+experiment=figure4", "no +experiment"),
        ("sampler=nuts,quadrature", "sampler is not a setting of what was chosen"),
        ("g=t^0.25,t^", "expected a number"),
    ],
)
def test_wrong_lines_say_what_is_missing(line, words):
    with pytest.raises(UsageError) as raised:
        ablation.plan(line.split())
    assert words in str(raised.value)


def test_the_table_by_hand():
    regrets = {
        ("lb", "a", "prior"): [1.0, 3.0],
        ("lb", "a", "posterior"): [4.0, 4.0],
        ("lb", "b", "prior"): [0.5, 0.5],
        ("lb", "b", "posterior"): [2.0],
        ("agpucb", "a", None): [7.0, 8.0],
        ("agpucb", "b", None): [1.0, 1.0],
        ("mle", None, None): [6.0],
    }
    rows = [
        {"problem": "p", "method": key[0], "run_id": "-".join(map(str, key)), "seed": seed, "t": 1, "growth": None,
         "simple_regret": regret, "cumulative_regret": 0.0, "suggest_s": 0.0, "evaluate_s": 0.0}
        for key, values in regrets.items() for seed, regret in enumerate(values)
    ]  # fmt: skip
    varied = {name: {"-".join(map(str, key)): key[i + 1] for key in regrets} for i, name in enumerate(("g", "test"))}
    table = summaries.ablation(pd.DataFrame(rows), varied)
    assert table.header == ("problem", "g", "test", "LB", "A-GP-UCB", "MLE")
    assert [row[:3] for row in table.rows] == [
        ("p", "a", "prior"),
        ("p", "a", "posterior"),
        ("p", "b", "prior"),
        ("p", "b", "posterior"),
        ("p", "a", ""),
        ("p", "b", ""),
        ("p", "", ""),
        ("p", "spread", ""),
    ]
    assert table.rows[0][3:] == (Estimate(2.0, 1.0), "", "")
    assert table.rows[2][3:] == (Estimate(0.5, 0.0), "", "")
    assert table.rows[3][3][0] == 2.0
    assert math.isnan(table.rows[3][3][1])
    assert table.rows[4][3:] == ("", Estimate(7.5, 0.5), "")
    assert table.rows[6][5][0] == 6.0
    assert table.rows[7][3:] == (3.5, 6.5, "")


def test_each_problem_has_its_own_spread_below_its_rows():
    regrets = {("p", "a"): 1.0, ("q", "a"): 5.0, ("p", "b"): 4.0, ("q", "b"): 7.0}
    rows = [
        {"problem": problem, "method": "lb", "run_id": problem + g, "seed": 0, "t": 1, "growth": None,
         "simple_regret": regret, "cumulative_regret": 0.0, "suggest_s": 0.0, "evaluate_s": 0.0}
        for (problem, g), regret in regrets.items()
    ]  # fmt: skip
    table = summaries.ablation(pd.DataFrame(rows), {"g": {problem + g: g for problem, g in regrets}})
    assert [row[:2] for row in table.rows] == [
        ("p", "a"), ("p", "b"), ("p", "spread"), ("q", "a"), ("q", "b"), ("q", "spread")
    ]  # fmt: skip
    assert [row[2] for row in table.rows if row[1] == "spread"] == [3.0, 2.0]


def typed(line, shell, folder, script):
    """What a shell makes of a line, where `lbbench` is a script."""
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} here")
    (folder / "bin").mkdir()
    (folder / "bin" / "lbbench").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "lbbench").chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run([shell, "-c", line], cwd=folder, capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
def test_shells_leave_the_line_as_it_is(shell, tmp_path):
    (tmp_path / "g=t1").touch()  # what a glob of these words might match
    assert typed(LINE, shell, tmp_path, 'printf "%s\\n" "$@"').stdout.splitlines() == LINE.split()[1:]


@pytest.mark.parametrize("shell", ["sh", "zsh"])
def test_the_line_typed_in_a_shell(shell, tmp_path):
    result = typed(f"{LINE} {TINY}", shell, tmp_path, f'exec "{sys.executable}" -m lbbench "$@"')
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    table = result.stdout[result.stdout.index("problem ") :].splitlines()
    assert table[0].split() == ["problem", "g", "LB", "A-GP-UCB"]
    assert [row.split()[:2] for row in table[1:5]] == [
        ["berkenkamp", value] for value in ("t^0.25", "sqrt(t)", "t^0.75", "spread")
    ]
    collection = Collection.at(tmp_path / "results")
    assert [v.settings["method"]["g"] for v in collection.variants] == ["sqrt(t)", "t^0.25", "t^0.75"] * 2
    last = collection.read(collection.variants).groupby(["method", "run_id"])["simple_regret"].last()
    shown = [float(number) for row in table[1:4] for number in row.split()[2:]]
    assert sorted(shown) == pytest.approx(sorted(last), rel=1e-3)
    files = [Path(line.removeprefix("wrote ")) for line in result.stdout.splitlines() if line.startswith("wrote ")]
    assert {file.suffix for file in files} == {".png", ".pdf"}
    for file in files:
        assert (tmp_path / file).stat().st_size > 1000
        assert file.parent == Path("results/figures")
        assert "figure4" in file.name


def test_what_is_there_is_not_run_again_and_a_failed_run_is_the_exit_code(tmp_path, capsys):
    line = ["noise_std=0,1e308", "method=random,lb", "problem=berkenkamp", "seeds=1", "iterations=2", "jobs=1",
            f"out={tmp_path}"]  # fmt: skip
    assert ablate(ablation.plan(line)) == 1
    printed = capsys.readouterr().out
    assert "failed: berkenkamp lb noise_std=1e+308" in printed
    table = [row.split() for row in printed.splitlines() if row.startswith("berkenkamp")]
    assert [row[1] for row in table] == ["0.0"]  # whose means have no spread
    assert len(table[0]) == 4
    assert np.isfinite(float(table[0][2]))
    assert ablate(ablation.plan(line)) == 1
    assert "2 of 4 runs are already there" in capsys.readouterr().out
