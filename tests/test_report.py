import math

import pyarrow.parquet as pq
import pytest

from lbbench.plan.overrides import plan
from lbbench.records import traces
from lbbench.report import findings
from lbbench.report.tables import plus_minus
from lbbench.study.runner import execute, runs


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
    assert not any(outcome.failure for outcome in execute(todo, planned.study, lambda outcome: None))
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
    (planned_run,) = [run for run in todo if run.name == "agnp mle seed=0"]
    table = pq.read_table(planned_run.path)
    metadata = traces.read_metadata(planned_run.path)
    traces.write_table(planned_run.path, table, {key: metadata[key] for key in ("settings", "seed")})
    findings.write(todo, file, "seeds=2")
    traces.write_table(planned_run.path, table[:10], metadata)
    with pytest.raises(findings.UsageError, match="it has no steps of mle on agnp with seed 0"):
        findings.write(todo, file, "seeds=2")
