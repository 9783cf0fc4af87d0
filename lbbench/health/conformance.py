"""What lbbench asks of a method or a problem, put to the test; for those who write their own."""

import functools
import math
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from lbbench.asktell.core import AskTell
from lbbench.domain import Array, Box, Pool
from lbbench.errors import UsageError
from lbbench.health.check import Check
from lbbench.methods.base import Step
from lbbench.plan import build, registry
from lbbench.plan.checks import FIXED
from lbbench.plan.settings import Settings, compose
from lbbench.plan.sweeps import plan
from lbbench.problems.base import Problem
from lbbench.records import traces
from lbbench.records.run import runs
from lbbench.study import runner

STEPS, INITIAL = 8, 4
Test = Callable[[], str]  # says what was found; what does not hold is raised


class Fault(Exception):  # noqa: N818 (a finding, not a failure of the test)
    """What does not hold."""


def checks(name: str, arguments: Sequence[str] = ()) -> Iterator[Check]:
    """Each thing that is asked of the method or problem of that name, with what was found; `arguments` are settings.

    Raises `UsageError` if there is none of that name, or for a setting that it does not have.
    """
    group = _group(name)
    planned = plan([f"{group}={name}", *arguments])
    if len(planned.combinations) > 1:
        raise UsageError(f"check takes one {group} with one value of each setting, not {len(planned.combinations)}")
    settings = compose(planned.combinations[0])
    tests = _of_method(settings) if group == "method" else _of_problem(settings)
    tests["a study"] = functools.partial(_study, settings, group)
    for title, test in tests.items():
        try:
            yield Check(title, test())
        except (Exception, SystemExit) as error:
            found = str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}"
            yield Check(title, " ".join(found.split()), "see the docstrings of Method, Step and Problem in lbbench")


def _group(name: str) -> str:
    """Whether a name is that of a method or a problem."""
    for group in registry.OURS:
        if registry.folded(name) in (registry.OURS[group] | registry.registered(group)):
            return group
    if not registry.is_target(name):
        known = [one for group in registry.OURS for one in (*registry.OURS[group], *registry.registered(group))]
        raise UsageError(f"check {name}: is no method and no problem; allowed: module:name, {', '.join(known)}")
    return "method" if "surrogate" in registry.arguments(registry.find(name)) else "problem"


def _of_method(settings: Settings) -> dict[str, Test]:
    """The tests of a method, each in a box and in a pool."""
    rng = np.random.default_rng(0)
    box = Problem("box", Box(np.zeros(2), np.ones(2)), _hills, math.nan)
    pool = Problem("pool", Pool(rng.random((12, 2))), _hills, math.nan)
    tests = {
        "protocol": _protocol,
        "bounds": _bounds,
        "determinism": _determinism,
        "random numbers": _random_numbers,
        "asking twice": _asking_twice,
        "data": _data,
        "resume": _resume,
        "pending points": _pending,
    }
    makers = [functools.partial(_asktell, settings, problem) for problem in (box, pool)]
    return {title: functools.partial(_each, test, makers) for title, test in tests.items()}


def _each(test: Callable[[Callable[[], AskTell]], str], makers: Sequence[Callable[[], AskTell]]) -> str:
    return [test(make) for make in makers][-1]


def _asktell(settings: Settings, problem: Problem) -> AskTell:
    return replace(AskTell.of(settings, problem, seed=0), initial=INITIAL)


def _hills(x: Array) -> Array:
    found: Array = np.sin(7.0 * x[:, 0]) + np.cos(5.0 * x[:, 1])
    return found


def _value(play: AskTell, step: Step) -> float:
    return float(_hills(play.user(step)[None])[0])


def _played(play: AskTell, steps: int = INITIAL + STEPS) -> list[dict[str, Any]]:
    """The steps of a run, from where it stands."""
    rows = []
    for _ in range(steps):
        step = play.ask()
        rows.append(_plain(play.tell(step, _value(play, step))))
    return rows


def _plain(step: Step) -> dict[str, Any]:
    return {**asdict(step), "point": step.point.tolist()}


def _same(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]], otherwise: str) -> None:
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        for key in a:
            if repr(a[key]) != repr(b[key]):
                raise Fault(f"{otherwise}: step {i + 1 - INITIAL} has {key} = {b[key]}, not {a[key]}")


def _protocol(make: Callable[[], AskTell]) -> str:
    play = make()
    for name in ("start", "suggest", "observe"):
        if not callable(getattr(play.method, name, None)):
            raise Fault(f"the method has no {name}()")
    for _ in range(INITIAL + STEPS):
        step = play.ask()
        if not isinstance(step, Step):
            raise Fault(f"suggest() returned {type(step).__name__}, no Step")
        if step.point.shape != play.domain.uniform(1, np.random.default_rng(0)).shape:
            raise Fault(f"a point has the shape {step.point.shape}: it must be (1,) in a pool and (1, d) in a box")
        if not isinstance(play.tell(step, _value(play, step)), Step):
            raise Fault("observe() returned no Step")
    return "start, suggest and observe, with steps as they must be"


def _bounds(make: Callable[[], AskTell]) -> str:
    play = make()
    top = play.domain.size - 1 if isinstance(play.domain, Pool) else 1.0
    for row in _played(play):
        if not all(0 <= coordinate <= top for coordinate in np.ravel(row["point"])):
            raise Fault(f"a point is outside of the domain: {row['point']} is not within 0 to {top:g}")
    return "every point is in the domain"


def _determinism(make: Callable[[], AskTell]) -> str:
    _reseed(0)
    once = _played(make())
    _reseed(1)
    _same(once, _played(make()), "two runs of one seed differ")
    return "two runs of one seed are the same, bit for bit, whatever the global seeds"


def _reseed(seed: int) -> None:
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (what a method must not depend on)
    torch.manual_seed(seed)


def _random_numbers(make: Callable[[], AskTell]) -> str:
    import torch

    def state() -> list[str]:
        return [str(random.getstate()), str(np.random.get_state()), str(torch.get_rng_state().tolist())]  # noqa: NPY002

    before = state()
    _played(make())
    if state() != before:
        raise Fault("draws from a global random generator, and not from the one that suggest() is given")
    return "global generators are left alone, so other methods see the same noise and initial design"


def _asking_twice(make: Callable[[], AskTell]) -> str:
    play, rows = make(), []
    for _ in range(INITIAL + STEPS):
        play.ask()
        rows += _played(play, 1)
    _same(_played(make()), rows, "asking twice changes the run")
    return "changes nothing"


def _data(make: Callable[[], AskTell]) -> str:
    play = make()
    for _ in range(INITIAL + STEPS):
        before = [play.data.points.copy(), play.data.y.copy(), play.data.z.copy()]
        step = play.ask()
        after = [play.data.points, play.data.y, play.data.z]
        if not all(np.array_equal(one, other) for one, other in zip(before, after, strict=True)):
            raise Fault("suggest() writes to the data that it is given")
        play.tell(step, _value(play, step))
    return "are read, and never written to"


def _resume(make: Callable[[], AskTell]) -> str:
    whole = _played(make())
    for taken in range(INITIAL, INITIAL + STEPS):
        play = make()
        for row in whole[:taken]:
            step = play.ask(np.array(row["point"]))
            play.tell(step, _value(play, step))
        _same(whole[taken:], _played(play, len(whole) - taken), f"a run taken up after {taken} evaluations differs")
    return f"a run taken up after any of its {INITIAL + STEPS} evaluations is the same, bit for bit"


def _pending(make: Callable[[], AskTell]) -> str:
    play, rows = make(), []
    for t in range(INITIAL + STEPS):
        step = play.ask()
        if t >= INITIAL:
            play.ask_beside([step, play.ask_beside([step])])
        rows.append(_plain(play.tell(step, _value(play, step))))
    _same(_played(make()), rows, "asking for points beside a pending one changes the run")
    play = make()
    _played(play, INITIAL)
    for _ in range(STEPS // 2):
        first = play.ask()
        for step in (play.ask_beside([first]), first):
            play.tell(step, _value(play, step))
    return "a copy is asked for more, and they are told in another order"


def _of_problem(settings: Settings) -> dict[str, Test]:
    """The tests of a problem."""
    problem = build.problem(settings)
    rng = np.random.default_rng(0)
    domain = problem.domain
    points = domain.user(np.arange(domain.size) if isinstance(domain, Pool) else domain.uniform(50, rng))
    return {
        "values": functools.partial(_values, problem, points),
        "determinism": functools.partial(_same_values, problem, points),
        "maximum": functools.partial(_maximum, problem, points),
    }


def _values(problem: Problem, points: Array) -> str:
    given = points.copy()
    values = problem.evaluate(given)
    if not isinstance(values, np.ndarray) or values.shape != (len(points),):
        raise Fault(f"evaluate() of {points.shape} coordinates must return an array of shape ({len(points)},)")
    if not np.isfinite(values).all():
        where = points[~np.isfinite(values)][0].tolist()
        raise Fault(f"is not finite at {where}; on_nan=skip goes on")
    if not np.array_equal(given, points):
        raise Fault("evaluate() writes to the points that it is given")
    return f"finite at {len(points)} points"


def _same_values(problem: Problem, points: Array) -> str:
    _reseed(0)
    together = problem.evaluate(points)
    _reseed(1)
    alone = np.array([problem.evaluate(point[None])[0] for point in points])
    if not np.allclose(together, alone, rtol=1e-12, atol=0.0):
        where = points[int(np.abs(together - alone).argmax())].tolist()
        raise Fault(f"two evaluations at {where} differ; let noise_std= add the noise")
    return "a point has the same value again, alone and among others"


def _maximum(problem: Problem, points: Array) -> str:
    if math.isnan(problem.optimum):
        return "is not known: regret is to the best value that was found"
    largest = float(problem.evaluate(points).max())
    if largest > problem.optimum:
        raise Fault(f"a value of {largest:.8g} is above the maximum {problem.optimum:.8g}")
    if isinstance(problem.domain, Pool) and largest < problem.optimum:
        raise Fault(f"the best candidate has {largest:.8g}, not the maximum {problem.optimum:.8g}")
    return f"{problem.optimum:.8g}, above the {largest:.8g} of the best of {len(points)} points"


def _study(settings: Settings, group: str) -> str:
    """A run as `lbbench run` has it: in a process of its own, with a journal and a trace."""
    with tempfile.TemporaryDirectory() as directory:
        other = {"problem": "method=random", "method": "problem=berkenkamp"}[group]
        own = [f"{key}={value}" for key, value in settings[group].items() if key not in FIXED]
        line = [f"{group}={settings[group]['name']}", other, f"iterations={STEPS}", "seeds=1", *own]
        planned = plan([*line, "jobs=1", f"out={directory}"])
        (run,) = runs(planned)
        runner.prepare(Path(directory))
        (outcome,) = runner.execute([run], planned.study, lambda outcome: None)
        if outcome.failure is not None:
            raise Fault(outcome.failure.reason)
        traces.read_runs(run.path)
    return "runs in a process of its own, and leaves a trace that can be read"
