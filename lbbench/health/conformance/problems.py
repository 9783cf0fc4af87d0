"""What lbbench asks of a problem."""

import functools
import math

import numpy as np

from lbbench.domain import Array, Pool
from lbbench.health.conformance.base import Fault, Test, reseed
from lbbench.plan import build
from lbbench.plan.settings import Settings
from lbbench.problems.base import Problem


def tests_of(settings: Settings) -> dict[str, Test]:
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
    reseed(0)
    together = problem.evaluate(points)
    reseed(1)
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
