"""What the tests of methods and of problems share."""

import random
from collections.abc import Callable

import numpy as np

STEPS, INITIAL = 8, 4
Test = Callable[[], str]  # says what was found; what does not hold is raised


class Fault(Exception):  # noqa: N818 (a finding, not a failure of the test)
    """What does not hold."""


def reseed(seed: int) -> None:
    """Seed the global random generators, on which nothing may depend."""
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (what a method must not depend on)
    torch.manual_seed(seed)
