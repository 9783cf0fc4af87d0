"""Random numbers, each for one purpose of one run."""

import zlib
from typing import cast

import numpy as np
from numpy.random import Generator


def generator(seed: int, *purpose: int | str) -> Generator:
    """The random generator of a run's `seed` for one purpose, such as `("step", 12)`; purposes are independent."""
    key = tuple(part if isinstance(part, int) else zlib.crc32(part.encode()) for part in purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class Stream:
    """The random generator of a run's seed for one purpose, at step after step.

    At each it is 2⁶⁴ draws on from the last, which is faster than a new one.
    """

    def __init__(self, seed: int, *purpose: int | str) -> None:
        self._rng = generator(seed, *purpose)
        self._bits = cast(np.random.PCG64, self._rng.bit_generator)
        self._start = self._bits.state

    def at(self, step: int) -> Generator:
        """The generator of a step; that of the step before is the same object, and is not to be used any more."""
        self._bits.state = self._start
        self._bits.advance(step << 64)
        return self._rng
