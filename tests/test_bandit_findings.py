"""The findings on the bandits, against what pandas makes of the same traces."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.errors import UsageError
from lbbench.study.overrides import plan
from lbbench.study.runner import execute, runs

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


def test_what_is_written_by_hand_is_kept(study):
    findings(*LINE, f"out={study}")
    text = (study / "findings.md").read_text()
    (study / "findings.md").write_text(text + "\nA reason.\n")
    findings(*LINE, f"out={study}")
    assert (study / "findings.md").read_text() == text + "\nA reason.\n"


WRONG = {
    "trials=4": "32 of 128 runs are missing; make them: lbbench run +experiment=bandits",
    "trials=3 method=igpucb,gpucb": "the findings need method=gpts problem=",
    "trials=0": "seeds=0: must be a count",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be_judged(study, line):
    assert WRONG[line] in str(findings("+experiment=bandits", "iterations=40", *line.split(), f"out={study}"))


def test_other_presets_have_no_findings():
    assert "allowed: findings, bandits" in str(findings("+experiment=figure3"))
    assert "takes one preset" in str(findings("+experiment=bandits,findings"))
