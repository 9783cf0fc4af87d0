"""What a preset becomes with other methods and problems than its own."""

import pytest

from lbbench.errors import UsageError
from lbbench.plan.build import require
from lbbench.plan.configs import load, options
from lbbench.plan.keys import last
from lbbench.plan.settings import Composer
from lbbench.plan.sweeps import plan

PRESETS, METHODS, PROBLEMS = map(list, map(options, ("experiment", "method", "problem")))
REASONS = ("needs problem.path=", "standardise=false", "needs a pool", "have a covariance", "chooses length scales")

COMPOSE = Composer()


def cells(*line):
    return [(one.method, one.problem, dict(one.values), one.seeds) for one in plan(line).combinations]


def refused(settings):
    """For which of `REASONS`, or what is said else."""
    try:
        require(settings)
    except UsageError as error:
        return [reason for reason in REASONS if reason in str(error)] or [str(error)]
    return []


def own_keys(method, problem):
    return {*load(f"method/{method}"), *load(f"problem/{problem}")}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_each_preset_is_for_each_method(preset, method):
    """On each of the preset's problems, with those of the preset's settings that the method has."""
    found = cells(f"+experiment={preset}", f"method={method}")
    assert {(name, problem) for name, problem, _, _ in found} == {
        (method, problem) for _, problem, _, _ in cells(f"+experiment={preset}")
    }
    for _, problem, values, _ in found:
        assert {last(key) for key in values if key.startswith("method.")} <= own_keys(method, problem)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_each_preset_is_for_each_problem(preset, problem):
    """For each of the preset's methods; what the problem cannot have is told when the runs are looked at."""
    planned = plan([f"+experiment={preset}", f"problem={problem}"])
    whole = {name for name, there, _, _ in cells(f"+experiment={preset}") if there == problem}
    every = {name for name, _, _, _ in cells(f"+experiment={preset}")}
    assert {one.method for one in planned.combinations} == (whole or every)
    if problem in ("agnp", "autoam", "crossedbarrel", "p3ht", "perovskite"):
        return  # whose data are a package that may not be there
    assert {reason for one in planned.combinations for reason in refused(COMPOSE(one))} <= set(REASONS)


def test_a_method_loses_the_settings_that_it_does_not_have_and_keeps_the_others():
    found = cells("+experiment=sensors", "method=random")
    common = {"gp.beta": "theory", "gp.regulariser": "noise", "gp.delta": "0.1", "iterations": "10000"}
    told, untold = {"gp.kernel": "empirical", "gp.norm": "auto"}, {"gp.kernel": "rbf", "gp.norm": "1.0"}
    assert found == [("random", "syntheticsensors", common | own, tuple(range(25))) for own in (told, untold)]
    gains = {name: values.get("method.information_gain") for name, _, values, _ in cells("+experiment=sensors")}
    assert (gains["igpucb"], gains["gpts"], gains["ei"], gains["lb"]) == ("1.0", "1.0", None, None)
    (alone,) = cells("+experiment=sensors", "method=ei")
    assert alone in cells("+experiment=sensors")


def test_what_a_preset_has_is_where_it_has_it_and_what_it_has_not_is_everywhere():
    whole = cells("+experiment=bandits")
    mixed = cells("+experiment=bandits", "method=igpucb,random")
    assert [cell for cell in mixed if cell[0] == "igpucb"] == [cell for cell in whole if cell[0] == "igpucb"]
    assert [cell for cell in mixed if cell[0] == "random"] == cells("+experiment=bandits", "method=random")
    problems = cells("+experiment=figure3", "problem=agnp,hartmann")
    assert [cell for cell in problems if cell[1] == "agnp"] == [
        cell for cell in cells("+experiment=figure3") if cell[1] == "agnp"
    ]
    assert {cell[3] for cell in problems if cell[1] == "hartmann"} == {tuple(range(20)), tuple(range(10))}


@pytest.mark.parametrize("line", ["method=random elimination=prior", "method=ei information_gain=1", "arm=3"])
def test_what_is_typed_beside_a_preset_must_be_a_setting_of_something(line):
    with pytest.raises(UsageError, match=r"is not a setting of what was chosen|unknown key"):
        plan(["+experiment=bandits", *line.split()])


def test_a_presets_own_misspelling_is_still_found(monkeypatch):
    from lbbench.plan import presets

    monkeypatch.setattr(presets, "load", lambda name: ["method=lb problem=agnp elimnation=prior"])
    for extra in ([], ["method=random"], ["problem=hartmann"]):
        with pytest.raises(UsageError, match="elimnation"):
            plan(["+experiment=figure3", *extra])
