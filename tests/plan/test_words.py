"""Messages have the word that was typed, and what is another's habit is told in our words."""

import subprocess
import sys

import pytest

from lbbench.asktell.optimizer import Optimizer
from lbbench.errors import UsageError
from lbbench.plan import ablation
from lbbench.plan.sweeps import plan
from lbbench.report.selection import select


def refusal(function, *arguments, **named):
    with pytest.raises(UsageError) as raised:
        function(*arguments, **named)
    return str(raised.value)


SEEDS = "must be a count (10: seeds 0 to 9), a range (5-9) or a list ([3,7])"
ASKED = {"run": plan, "ablate": ablation.plan, "table": lambda line: select(line, {})}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("word", ["seeds", "trials", "study.seeds"])
def test_seeds_are_called_what_they_were_called(asked, word):
    assert refusal(asked, [f"{word}=0"]) == f"{word}=0: {SEEDS}"
    assert asked([f"{word}=3", "g=t^0.25,t^0.5"]) is not None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("trials=1,2", "trials takes one value, not 2; for some seeds: [3,7]"),
        ("study.seeds=1,2", "study.seeds takes one value, not 2; for some seeds: [3,7]"),
        ("study.jobs=0", "study.jobs=0: must be 'auto' or a whole number from 1 to 4096"),
        ("gp.kernel=x", "gp.kernel=x: must be one of matern52, matern32, rbf, empirical"),
        ("method.g=1/(t-3)", "method.g=1/(t-3)"),
        ("g=1/(t-3)", "g=1/(t-3)"),
        ("+experiment=bandits trials=0", f"trials=0: {SEEDS}"),
    ],
)
def test_a_wrong_value_is_told_with_its_key_as_typed(line, told):
    assert refusal(plan, line.split()).partition("\n")[0].startswith(told)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize(
    ("first", "second"), [("trials=5", "seeds=5"), ("seeds=5", "study.seeds=5"), ("gp.kernel=rbf", "kernel=rbf")]
)
def test_what_is_given_twice_is_told_by_both_of_its_names(asked, first, second):
    names = [word.partition("=")[0] for word in (first, second)]
    assert refusal(asked, [first, second]) == f"{names[1]} is given twice, once as {names[0]}"
    assert refusal(asked, [second, first]) == f"{names[0]} is given twice, once as {names[1]}"


def test_a_word_for_seeds_replaces_a_presets_own():
    for word in ("trials", "study.seeds"):
        assert {found.seeds for found in plan(["+experiment=figure3", f"{word}=3"]).combinations} == {(0, 1, 2)}
    assert plan(["+experiment=figure3", "trials=3"]) == plan(["+experiment=figure3", "seeds=3"])
    assert {found.seeds for found in ablation.plan(["g=t^0.25,t^0.5", "trials=3"]).combinations} == {(0, 1, 2)}
    assert select(["trials=2"], {}).wanted == select(["study.seeds=2"], {}).wanted == {"seeds": ("0", "1")}


def test_settings_in_python_are_called_what_they_were_called():
    assert refusal(Optimizer, [(0, 1)], **{"gp.kernel": "x"}).startswith("gp.kernel=x: must be")
    assert refusal(Optimizer, [(0, 1)], **{"gp.kernel": "rbf", "kernel": "rbf"}) == (
        "kernel is given twice, once as gp.kernel"
    )


@pytest.mark.parametrize(
    ("line", "helped"),
    [
        ("Method=LB", "did you mean 'method'?"),
        ("METHOD=lb", "did you mean 'method'?"),
        ("problems=agnp", "did you mean 'problem'?"),
        ("seed=3", "did you mean 'seeds=[…]'?"),
        ("random_state=0", "did you mean 'seeds=[…]'?"),
        ("n_trials=50", "did you mean 'iterations'?"),
        ("n_jobs=2", "did you mean 'jobs'?"),
        ("acquisition=ei", "did you mean 'method'?"),
        ("preset=bandits", "did you mean '+experiment'?"),
        ("experiment=bandits", "did you mean '+experiment'?"),
        ("length_scale=1 method=ei", "did you mean 'lengthscale'?"),
        ("method = lb", "such as method=lb, without spaces"),
        ("method: lb", "such as method=lb, without spaces"),
        ("method= lb", "method= has an empty value"),
        ("--method lb", "No such option: --method; settings are typed without dashes, such as method=lb"),
        ("--seeds=3", "No such option: --seeds; settings are typed without dashes, such as method=lb"),
    ],
)
def test_habits_from_elsewhere_get_one_helpful_line(line, helped, tmp_path):
    command = [sys.executable, "-m", "lbbench", "run", *line.split()]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert helped in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_word_from_elsewhere_is_only_a_hint_where_what_it_means_is_allowed():
    assert "did you mean" not in refusal(plan, ["length_scale=1", "method=random"])
