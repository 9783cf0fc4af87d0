import math

import numpy as np
import pandas as pd
import pytest

from lbbench.report import findings
from lbbench.report.stats import final, paired, summary
from lbbench.report.tables import plus_minus
from lbbench.study.overrides import plan
from lbbench.study.runner import execute, runs


def trace(problem, method, seed, regrets):
    n = len(regrets)
    return pd.DataFrame(
        {
            "problem": problem,
            "method": method,
            "run_id": f"{method}1",
            "growth": "sqrt(t)",
            "seed": seed,
            "t": np.arange(n),
            "simple_regret": np.minimum.accumulate(regrets),
            "cumulative_regret": np.cumsum(regrets),
            "suggest_s": 0.5,
            "evaluate_s": 0.25,
        }
    )


FRAME = pd.concat(
    [
        trace("p", "mle", 0, [3.0, 2.0, 4.0]),
        trace("p", "lb", 0, [3.0, 1.0]),
        trace("p", "lb", 1, [5.0, 2.0]),
        trace("p", "lb", 2, [3.0, 6.0]),
    ]
)


def test_summary_is_over_the_last_rows():
    table = summary(FRAME)
    assert table["method"].tolist() == ["mle", "lb"]  # in the order of the table
    lb = table.iloc[1]
    assert lb["runs"] == 3
    assert lb["simple_regret"] == pytest.approx(2)
    assert lb["simple_regret_se"] == pytest.approx(np.std([1, 2, 3], ddof=1) / math.sqrt(3))
    assert lb["cumulative_regret"] == pytest.approx(np.mean([4, 7, 9]))
    assert lb["seconds"] == pytest.approx(1.5)
    assert np.isnan(table.iloc[0]["simple_regret_se"])


def test_paired_differences_are_over_common_seeds():
    last = final(FRAME)
    lb, mle = (last[last["method"] == method] for method in ("lb", "mle"))
    mean, _, count = paired(lb, mle, "simple_regret")
    assert (mean, count) == (-1.0, 1)


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (1.23456, 0.0123, "1.235 ± 0.012"),
        (409.14, 31.7, "409 ± 32"),
        (0, 0, "0 ± 0"),
        (2.5, math.nan, "2.5"),
        (1.2e-9, 3.4e-10, "1.2e-09 ± 3.4e-10"),
    ],
)
def test_plus_minus(mean, error, text):
    assert plus_minus(mean, error) == text


def test_findings_are_written_from_a_study_and_keep_what_stands_by_hand(tmp_path):
    planned = plan(["+experiment=findings", "iterations=2", "seeds=2", "jobs=1", f"out={tmp_path}", "raw_samples=16"])
    todo = runs(planned)
    with pytest.raises(findings.UsageError, match=rf"{len(todo)} of {len(todo)} runs are missing.*lbbench run seeds=2"):
        findings.write(todo, tmp_path / "findings.md", "seeds=2")
    assert not any(outcome.error for outcome in execute(todo, planned.study, lambda outcome: None))
    file = tmp_path / "findings.md"
    findings.write(todo, file, "seeds=2")
    text = file.read_text()
    assert text.count("**Holds.**") + text.count("**Does not hold**") == 5
    for number in range(1, 6):
        assert f"## {number}. " in text
    assert "nan" not in text
    file.write_text(text + "\nA reason.\n")
    findings.write(todo, file, "seeds=2")
    assert file.read_text() == text + "\nA reason.\n"
