"""`lbbench check`: what is right passes, and each thing that can be wrong is found by the test that is for it."""

import random
import sys
from dataclasses import replace

import numpy as np
import pytest

from lbbench.acquisition import UCB
from lbbench.domain import Box, Pool
from lbbench.errors import UsageError
from lbbench.health import conformance
from lbbench.plan.configs import options
from lbbench.plan.registry import OURS
from lbbench.problems.base import Problem


@pytest.fixture
def made(monkeypatch):
    """This module as one of the user's, of which other processes know nothing."""
    monkeypatch.setitem(sys.modules, "made", sys.modules[__name__])


@pytest.fixture
def alone(made, monkeypatch):
    """No other process."""
    monkeypatch.setattr(conformance, "_study", lambda settings, group: "")


def wrong(name, *arguments):
    """The titles of the tests that fail."""
    return {check.name for check in conformance.checks(name, arguments) if check.advice}


@pytest.mark.parametrize("name", [*OURS["method"], "berkenkamp", "michalewicz", "crossedbarrel"])
def test_ours_pass(name):
    assert wrong(name) == set()


def test_nuts_passes():
    """Pyro draws from torch's global generator, which is lent to it and given back."""
    assert wrong("mcmc", "sampler=nuts", "warmup=20", "samples=20") == set()


class Right:
    """A method that is as it must be; those below do one thing wrong."""

    def __init__(self, surrogate):
        self.surrogate = surrogate

    def start(self, data):
        self.last = 0.0

    def fitted(self, data):
        return self.surrogate.fit(data, 0.3)

    def suggest(self, data, t, maximise, rng):
        return self.surrogate.step(data, self.fitted(data), 1.0, maximise)

    def observe(self, step, t, y):
        return step


class Global(Right):
    def suggest(self, data, t, maximise, rng):
        return replace(super().suggest(data, t, maximise, rng), point=data.domain.uniform(1, np.random))


class Entropy(Right):
    def suggest(self, data, t, maximise, rng):
        own = np.random.default_rng()
        return replace(super().suggest(data, t, maximise, rng), point=data.domain.uniform(1, own))


class Drawing(Right):
    def suggest(self, data, t, maximise, rng):
        random.random()
        return super().suggest(data, t, maximise, rng)


class Writing(Right):
    def suggest(self, data, t, maximise, rng):
        step = super().suggest(data, t, maximise, rng)
        data.y[0] += 0.125
        return step


class Outside(Right):
    def suggest(self, data, t, maximise, rng):
        step = super().suggest(data, t, maximise, rng)
        return step if isinstance(data.domain, Pool) else replace(step, point=step.point + 2.0)


class Counting(Right):
    def suggest(self, data, t, maximise, rng):
        self.last += 1.0
        return replace(super().suggest(data, t, maximise, rng), norm=self.last)


class Shapeless(Right):
    def suggest(self, data, t, maximise, rng):
        step = super().suggest(data, t, maximise, rng)
        return replace(step, point=step.point[0])


class Stepless(Right):
    def suggest(self, data, t, maximise, rng):
        return 0.5


class Deaf(Right):
    def __init__(self, surrogate):
        super().__init__(surrogate)
        self.observe = None


class Forgetful(Right):
    def observe(self, step, t, y):
        return None


class Searching(Right):
    """Remembers what a second search has found, which a run that is taken up does not make."""

    def suggest(self, data, t, maximise, rng):
        if t == 2:
            self.last = float(np.ravel(maximise(UCB(self.fitted(data), 0.0)))[0])
        return replace(super().suggest(data, t, maximise, rng), norm=1.0 + self.last)


class Single(Right):
    """Cannot be copied."""

    def start(self, data):
        self.told = []

    def __deepcopy__(self, memo):
        return self

    def suggest(self, data, t, maximise, rng):
        return replace(super().suggest(data, t, maximise, rng), norm=1.0 + len(self.told))

    def observe(self, step, t, y):
        self.told.append(y)
        return step


class Failing(Right):
    def suggest(self, data, t, maximise, rng):
        raise ZeroDivisionError("there is none")


FAULTS = {
    "Right": set(),
    "Global": {"determinism", "random numbers"},
    "Entropy": {"determinism"},
    "Drawing": {"random numbers"},
    "Writing": {"data"},
    "Outside": {"bounds"},
    "Counting": {"asking twice"},
    "Shapeless": {"protocol"},
    "Stepless": {"protocol"},
    "Deaf": {"protocol"},
    "Forgetful": {"protocol"},
    "Searching": {"resume"},
    "Single": {"pending points"},
    "Failing": {"protocol"},
}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_with_a_method_is_found(name):
    found = wrong(f"made:{name}")
    assert FAULTS[name] <= found
    if not FAULTS[name] & {"protocol", "determinism"}:  # without which the others mean nothing
        assert found - {"asking twice", "resume"} <= FAULTS[name]


@pytest.mark.usefixtures("alone")
def test_an_error_of_a_method_is_told():
    found = next(check for check in conformance.checks("made:Failing") if check.name == "protocol")
    assert found.found == "ZeroDivisionError: there is none"


def slope(x):
    return float(x[0])


def noisy(x):
    return x[0] + random.random()


def broken(x):
    return float("nan") if x[0] > 0.5 else 1.0


def writing() -> Problem:
    def evaluate(x):
        x *= 2.0
        return x[:, 0]

    return Problem("writing", Box(np.zeros(1), np.ones(1)), evaluate, 2.0)


def scalar() -> Problem:
    return Problem("scalar", Box(np.zeros(1), np.ones(1)), lambda x: float(x.sum()), 1.0)


def low_pool() -> Problem:
    return Problem("pool", Pool(np.arange(4.0)[:, None]), lambda x: x[:, 0], 5.0)


def nothing():
    return 3


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("slope", ["bounds=[[0,1]]"], set()),
        ("slope", ["bounds=[[0,1]]", "optimum=1"], set()),
        ("slope", ["bounds=[[0,1]]", "optimum=0", "maximize=false"], set()),
        ("slope", ["bounds=[[0,1]]", "optimum=0.5"], {"values", "determinism", "maximum"}),
        ("noisy", ["bounds=[[0,1]]"], {"determinism"}),
        ("broken", ["bounds=[[0,1]]"], {"values"}),
        ("writing", [], {"values"}),
        ("scalar", [], {"values"}),
        ("low_pool", [], {"maximum"}),
    ],
)
def test_what_is_wrong_with_a_problem_is_found(name, arguments, expected):
    found = wrong(f"made:{name}", *arguments)
    assert expected <= found
    assert found <= expected or name in ("broken", "writing", "scalar")


@pytest.mark.usefixtures("alone")
def test_what_makes_no_problem_is_a_usage_error():
    with pytest.raises(UsageError, match="made:nothing makes no"):
        wrong("made:nothing")


@pytest.mark.usefixtures("made")
def test_a_run_that_fails_is_told():
    """A process of its own has no module of the name `made`."""
    study = next(check for check in conformance.checks("made:Right") if check.name == "a study")
    assert study.advice
    assert "made:Right cannot be imported: ModuleNotFoundError" in study.found


def test_there_is_a_check_for_all_that_is_listed():
    for group in ("method", "problem"):
        for name in options(group):
            assert conformance._group(name) == group
