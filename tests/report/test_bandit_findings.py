"""The findings on the bandits, against what pandas makes of the same traces."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.errors import UsageError
from lbbench.plan.sweeps import plan
from lbbench.records.run import runs
from lbbench.study.runner import execute

LINE = ["+experiment=bandits", "trials=3", "iterations=40"]


def findings(*arguments):
    result = CliRunner().invoke(cli.app, ["findings", *arguments])
    return result.exception if isinstance(result.exception, UsageError) else result


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    out = tmp_path_factory.mktemp("bandits")
    planned = plan([*LINE, "jobs=1", f"out={out}"])
    assert not any(outcome.failure for outcome in execute(runs(planned), planned.study, lambda outcome: None))
    return out


def table(text, head):
    """The rows of the Markdown table whose first cell is `head`, by their own first cell."""
    lines = text[text.index(f"| {head} |") :].split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(cells[0][1:], row[1:], strict=True)) for row in cells[2:]}


def test_what_is_written_is_in_the_traces(study):
    assert findings(*LINE, f"out={study}").exit_code == 0
    text = (study / "findings.md").read_text()
    assert "`lbbench run +experiment=bandits trials=3 iterations=40` from 96 runs" in text
    frame = pd.read_parquet(study / "traces")
    last = frame[frame["t"] == 40].set_index(["problem", "method", "seed"]).sort_index()
    early = frame[frame["t"] == 4].set_index(["problem", "method", "seed"]).sort_index()
    regrets, slopes = table(text, "cumulative regret"), table(text, "slope")
    for method, name in (("igpucb", "IGP-UCB"), ("gpts", "GP-TS"), ("lnb", "LNB")):
        for problem in ("rkhsrbf", "gpmatern"):
            own, before = (rows.loc[problem, method]["cumulative_regret"] for rows in (last, early))
            mean, error = map(float, regrets[name][problem].split(" ± "))
            assert mean == pytest.approx(own.mean(), rel=0.02)
            assert error == pytest.approx(own.std(ddof=1) / math.sqrt(3), rel=0.06)
            slope, count = re.fullmatch(r"([\d.-]+) \((\d)\)", slopes[name][problem]).groups()
            assert float(slope) == pytest.approx(np.log10(own.mean() / before.mean()), abs=1e-4)
            assert int(count) == (own >= 10 * before).sum()
    difference, error = table(text, "IGP-UCB minus")["gprbf"]["GP-UCB"].split(" (")[0].split(" ± ")
    pairs = last.loc["gprbf", "igpucb"]["cumulative_regret"] - last.loc["gprbf", "gpucb"]["cumulative_regret"]
    assert float(difference) == pytest.approx(pairs.mean(), rel=0.02)
    assert float(error) == pytest.approx(pairs.std(ddof=1) / math.sqrt(3), rel=0.06)
    for number in range(1, 6):
        assert f"## {number}. " in text


def test_a_thinned_export_has_the_same_findings(study, tmp_path):
    assert findings(*LINE, f"out={study}").exit_code == 0
    export = CliRunner().invoke(cli.app, ["export", f"out={study}", "thin=10", f"to={tmp_path}"])
    assert export.exit_code == 0
    assert findings(*LINE, f"out={tmp_path}").exit_code == 0
    assert (tmp_path / "findings.md").read_text() == (study / "findings.md").read_text().partition("A reason")[0]


def test_one_trial_decides_nothing(study):
    single = ["+experiment=bandits", "trials=1", "iterations=40", f"out={study}"]
    assert findings(*single).exit_code == 0
    text = (study / "findings.md").read_text()
    assert text.count("**Not decided**") == 4
    assert "verdict than" not in text


def test_a_trial_without_regret_has_no_slope(study, tmp_path):
    """Where the first arm is the best and played throughout, 0 is no more than ten times 0."""
    frame = pd.read_parquet(study / "traces")
    assert findings(*LINE, f"out={study}").exit_code == 0
    slopes = table((study / "findings.md").read_text(), "slope")
    own = frame[(frame["method"] == "pi") & (frame["t"].isin([4, 40]))]
    own = own.pivot(index=["problem", "seed"], columns="t", values="cumulative_regret")
    steep = own[(own[40] >= 10 * own[4]) & (own[40] > 0)].groupby("problem").size()
    for problem, cell in slopes["GP-PI"].items():
        assert cell.endswith(f"({steep.get(problem, 0)})")


def test_what_is_written_by_hand_is_kept(study):
    findings(*LINE, f"out={study}")
    text = (study / "findings.md").read_text()
    (study / "findings.md").write_text(text + "\nA reason.\n")
    findings(*LINE, f"out={study}")
    assert (study / "findings.md").read_text() == text + "\nA reason.\n"


WRONG = {
    "trials=4": "32 of 128 runs are missing; make them: lbbench run +experiment=bandits",
    "trials=3 method=igpucb,gpucb": "the findings need method=gpts problem=",
    "trials=0": "trials=0: must be a count",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be_judged(study, line):
    assert WRONG[line] in str(findings("+experiment=bandits", "iterations=40", *line.split(), f"out={study}"))


def test_other_presets_have_no_findings():
    assert "allowed: findings, bandits" in str(findings("+experiment=figure3"))
    assert "takes one preset" in str(findings("+experiment=bandits,findings"))
