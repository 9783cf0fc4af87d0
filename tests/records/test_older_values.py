"""Traces of versions that kept values as they were typed."""

import sys
from pathlib import Path

import pytest

from lbbench.report.collection import Collection
from lbbench.report.figures import ablation
from lbbench.report.selection import select

sys.path.insert(0, str(Path(__file__).parents[1]))
import made_up


@pytest.fixture
def out(tmp_path):
    for method in ("lb", "agpucb"):
        for g in ("t^0.5", "t^0.25", "sqrt(t)"):
            for seed in range(2 if g == "t^0.5" else 1):
                made_up.write(tmp_path, method, "michalewicz", seed, [1.0, 0.5], g=g)
    return tmp_path


@pytest.mark.parametrize("typed", ["t^0.5", "sqrt(t)", "t^.50"])
def test_a_growth_as_it_was_typed_is_found_by_what_it_is(out, typed):
    found = Collection.at(out, select([f"g={typed}", "method=lb"], {}).wanted)
    assert sorted(variant.settings["method"]["g"] for variant in found.variants) == ["sqrt(t)", "t^0.5"]
    assert found.unreadable == []


def test_it_is_one_curve_beside_what_is_written_now(out):
    (sheet,) = ablation.draw(Collection.at(out))
    labels = [line.get_label() for line in sheet.figure.axes[0].get_lines() if line.get_label().startswith("g=")]
    assert labels == ["g=t^0.25", "g=t^0.5"]
