import math

import pyarrow.parquet as pq
import pytest

from lbbench.errors import UsageError
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.records.run import runs
from lbbench.report.findings import write
from lbbench.report.tables import plus_minus
from lbbench.study.runner import execute


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
    line = ["iterations=2", "seeds=2", "jobs=1", f"out={tmp_path}", "raw_samples=16"]
    planned = plan(["+experiment=findings", *line])
    todo = runs(planned)
    with pytest.raises(
        UsageError,
        match=rf"{len(todo)} of {len(todo)} runs are missing.*lbbench run .experiment=findings iter",
    ):
        write(line)
    assert not any(outcome.failure for outcome in execute(todo, planned.study, lambda outcome: None))
    file = tmp_path / "findings.md"
    write(line)
    text = file.read_text()
    assert text.count("**Holds.**") + text.count("**Does not hold**") == 5
    for number in range(1, 6):
        assert f"## {number}. " in text
    assert "nan" not in text
    file.write_text(text + "\nA reason.\n")
    write(line)
    assert file.read_text() == text + "\nA reason.\n"
    (planned_run,) = [run for run in todo if run.name == "agnp mle seed=0"]
    table = pq.read_table(planned_run.path)
    metadata = traces.read_metadata(planned_run.path)
    traces.write_table(planned_run.path, table, {key: metadata[key] for key in ("settings", "seed")})
    write(line)
    traces.write_table(planned_run.path, table[:10], metadata)
    with pytest.raises(UsageError, match="it has no steps of mle on agnp with seed 0"):
        write(line)
