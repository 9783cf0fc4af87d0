"""What lbbench asks of a method, in a box and in a pool."""

import functools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from lbbench.asktell.core import AskTell
from lbbench.domain import Array, Box, Pool
from lbbench.health.conformance.base import INITIAL, STEPS, Fault, Test, reseed
from lbbench.methods.base import Step
from lbbench.plan.settings import Settings
from lbbench.problems.base import Problem


def tests_of(settings: Settings) -> dict[str, Test]:
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
    reseed(0)
    once = _played(make())
    reseed(1)
    _same(once, _played(make()), "two runs of one seed differ")
    return "two runs of one seed are the same, bit for bit, whatever the global seeds"


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
