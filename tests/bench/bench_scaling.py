"""How the cost of a step in a box grows with the number of points."""

import math

import pytest
from work import optimizer

SIZES = (250, 500, 1000, 2000)


@pytest.fixture(scope="module")
def seconds():
    """Seconds of a step by the number of points, as far as they are known."""
    return {}


@pytest.mark.parametrize("n", SIZES)
def bench_step_in_box(report, benchmark, seconds, n):
    """A step of LB with six length scales, once each of them has been fitted: from then on it appends."""
    problem, run = optimizer("method=lb", "g=1", f"initial={n}")

    def play():
        step = run.ask()
        run.tell(step, float(problem.evaluate(run.domain.user(step.point))[0]))
        return step

    used, alive = set(), {None}
    while not alive <= used:
        step = play()
        if run.t > 0:
            used, alive = used | {step.lengthscale}, set(step.candidates)
    benchmark.pedantic(play, rounds=12)
    seconds[n] = benchmark.stats.stats.median
    report(f"LB in a box, n = {n:,}: a step", seconds[n])
    if n // 2 in seconds:
        slope = math.log2(seconds[n] / seconds[n // 2])
        report(f"LB in a box, n = {n // 2:,} to {n:,}: grows as n to the", slope, "", at_most=2)
