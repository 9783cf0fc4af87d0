import math

import made_up
import pytest

from lbbench.records.signatures import differing


def run(f, x=((0.1,), (0.5,), (0.9,)), problem="toy", **settings):
    """The metadata of a run, with the values at three points."""
    signature = {"x": [list(point) for point in x], "f": list(f)}
    return {"settings": dict(made_up.settings("lb", problem, **settings).tree), "signature": signature}


def test_runs_of_one_objective_do_not_differ():
    runs = [run((1, 2, 3)), run((1, 2, 3), kernel="rbf"), run((4, 5, 6), problem="other")]
    older = {"settings": runs[0]["settings"]}
    strange = [older | {"signature": content} for content in (None, 3, {}, {"x": 1, "f": [1]}, {"x": [["a"]], "f": [1]},
               {"x": [[0.1]], "f": [math.nan]})]  # fmt: skip
    assert differing([*runs, older, *strange]) == []
    assert differing([]) == []


def test_other_settings_of_the_problem_are_another_problem():
    assert differing([run((1, 2, 3), problem="berkenkamp"), run((1, 2, 4), problem="berkenkamp", noise_std=0.5)]) == []


@pytest.mark.parametrize(
    ("other", "largest"),
    [
        (run((1, 2.25, 3)), 0.25),
        (run((1, 2, 3), x=((0.1,), (0.5,), (0.4,))), 0.5),
        (run((1, 2, 3 + 2**-40)), 2**-40),
        (run((1, 2, 3), x=((0.1, 0), (0.5, 0), (0.9, 0))), math.inf),
    ],
)
def test_what_differs_is_told_with_its_size_and_how_many_runs_have_which(other, largest):
    (found,) = differing([other, *[run((1, 2, 3))] * 3])
    assert (found.problem, found.largest) == ("toy", largest)
    assert list(found.runs.values()) == [3, 1]
    assert str(found).startswith("toy: its runs were played on different data or libraries")
    assert f"by up to {largest:.3g}: 3 runs with f = 1, 2, 3; 1 run with f = " in str(found)


def test_the_settings_of_a_problem_are_named():
    (found,) = differing([run((1, 2, 3), problem="michalewicz"), run((1, 2, 4), problem="michalewicz")])
    assert str(found).startswith("michalewicz (dim=5, initial=10, noise_std=0.0): ")
