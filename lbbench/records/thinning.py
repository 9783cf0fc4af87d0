"""Which rows of a run are kept where not all are: a few steps per decade, evenly spaced in ln t.

The initial design, t = 0 and below, is always kept.
"""

import math

import numpy as np
from numpy.typing import NDArray

LONG = 2_000  # steps, beyond which curves are drawn from some rows of a run
DRAWN = 100  # steps per decade of those curves

Steps = NDArray[np.int64]


def steps(iterations: int, thin: int | None) -> Steps:
    """The search steps that are kept of a run, ascending: round(10^(k / thin)), k = 0, 1, …, and the last; or all."""
    if thin is None:
        return np.arange(1, iterations + 1)
    exponents = np.arange(math.floor(thin * math.log10(iterations)) + 1) / thin
    return np.unique(np.append(np.rint(10.0**exponents).astype(np.int64), iterations))


def keeps(t: Steps, steps: Steps) -> NDArray[np.bool_]:
    """Which of the rows with these t are of the initial design or one of the steps."""
    return (t <= 0) | np.isin(t, steps)


def holds(there: int | None, wanted: int | None, iterations: int) -> bool:
    """Whether all steps that `wanted` keeps of a run are among those that `there` keeps."""
    if there == wanted or there is None:
        return True
    return set(steps(iterations, wanted).tolist()) <= set(steps(iterations, there).tolist())


def is_whole(t: Steps, iterations: int, thin: int | None) -> bool:
    """Whether the t of a run's rows, in any order, are those of its design, without a gap, and the steps kept of it."""
    t = np.sort(t)
    design, later = t[t <= 0], t[t > 0]
    if thin is None and len(later) != iterations:  # which may be any number, too large for an array
        return False
    before = np.arange(1 - len(design), 1)
    return np.array_equal(design, before) and np.array_equal(later, steps(iterations, thin))
