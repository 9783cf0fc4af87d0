"""Players whose objective goes wrong in the run of seed 1, for workers to load (see `lbbench.study.worker.Task`)."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
from played import until

from lbbench.plan import build
from lbbench.study import optimising
from lbbench.study.execution import remote

BAD_SEED = 1
GOOD = 4  # evaluations before it goes wrong
OUT = "LBBENCH_TEST_OUT"  # names the output directory of a study whose workers do not share it
GO = "LBBENCH_TEST_GO"  # names a file; see `waits`
ONCE = "LBBENCH_TEST_ONCE"  # names a file; once it is there, nothing goes wrong any more


def _play(fault: Callable[[], float], settings, seed, past, on_nan):
    sound, evaluations = build.problem(settings), len(past)

    def evaluate(x):
        nonlocal evaluations
        evaluations += 1
        if seed != BAD_SEED or evaluations <= GOOD or (ONCE in os.environ and Path(os.environ[ONCE]).exists()):
            return sound.evaluate(x)
        if ONCE in os.environ:
            Path(os.environ[ONCE]).touch()
        return np.array([fault()])

    with mock.patch.object(build, "problem", return_value=replace(sound, evaluate=evaluate)):
        yield from optimising.play(settings, seed, past, on_nan)


def _raise() -> float:
    raise ValueError("the objective broke\nsecond line")


def _exit() -> float:
    raise SystemExit(3)


def _hang() -> float:
    time.sleep(3600)
    return 0.0


def _kill() -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


raises = partial(_play, _raise)
exits = partial(_play, _exit)
hangs = partial(_play, _hang)
dies = partial(_play, _kill)
leaves = partial(_play, lambda: os._exit(7))
is_nan = partial(_play, lambda: float("nan"))
is_infinite = partial(_play, lambda: float("inf"))


def slow(settings, seed, past, on_nan, seconds=0.05):
    """A step takes a twentieth of a second."""
    for row in optimising.play(settings, seed, past, on_nan):
        time.sleep(seconds)
        yield row


def waits(settings, seed, past, on_nan, seconds=0.3):
    """No step ends before the file that `GO` names is there; after each a worker of a cluster asks whether to stop."""
    with mock.patch.object(remote, "ASK_S", 0.0):
        for row in optimising.play(settings, seed, past, on_nan):
            if row["t"] > 0:
                until(Path(os.environ[GO]).exists)
                time.sleep(seconds)
            yield row


held = partial(waits, seconds=0.0)


def apart(settings, seed, past, on_nan):
    """Nothing is written to the journals of the study as a whole."""
    for row in optimising.play(settings, seed, past, on_nan):
        assert not any(path.stat().st_size for path in Path(os.environ[OUT], "journal").rglob("*.jsonl"))
        yield row
