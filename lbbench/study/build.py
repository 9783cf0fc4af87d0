"""From settings to the objects of a run: problem, method, and what asks and tells."""

import functools
from dataclasses import fields, replace
from typing import Any

import numpy as np

from lbbench import growth
from lbbench.acquisition import Maximiser
from lbbench.asktell import AskTell, generator
from lbbench.errors import ObjectiveError, UsageError
from lbbench.gp.kernels import KERNELS
from lbbench.methods.base import Method, Surrogate
from lbbench.methods.lengthscales import Shrinking
from lbbench.problems.base import Problem
from lbbench.problems.materials import require_data
from lbbench.problems.python import objective as own_objective
from lbbench.study import registry
from lbbench.study.settings import Settings


def problem(settings: Settings) -> Problem:
    """The objective of a run; the same object for the same settings, so that a worker loads data once."""
    own = {key: value for key, value in settings["problem"].items() if key not in ("name", "initial")}
    return _problem(settings.problem, tuple(sorted(own.items())))


@functools.cache
def _problem(name: str, settings: tuple[tuple[str, Any], ...]) -> Problem:
    found, given = registry.find(registry.target("problem", name)), dict(settings)
    if not registry.is_plugin("problem", name):
        ours: Problem = found(**given)
        return ours
    if registry.is_objective(found):
        return own_objective(name, found, **given)
    noise_std = given["noise_std"]
    if "noise_std" not in registry.arguments(found):
        del given["noise_std"]
    where = registry.target("problem", name)
    try:
        built = found(**given)
    except (Exception, SystemExit) as error:  # whatever the function does
        raise UsageError(f"{where} makes no problem: {type(error).__name__}: {' '.join(str(error).split())}") from error
    if not isinstance(built, Problem):
        raise UsageError(
            f"{where} makes no lbbench.problems.base.Problem; a function of a point needs an argument for it"
        )
    return replace(built, name=name, noise_std=noise_std)


def require(settings: Settings) -> None:
    """Raises `UsageError` if the data of a run's problem are not there."""
    require_data(settings.problem)
    if settings.problem == "csv" or registry.is_plugin("problem", settings.problem):
        problem(settings)


def signature(settings: Settings) -> dict[str, Any]:
    """What three fixed points of a problem are, `x` in user units, and the objective's values `f` there.

    Another data set, or another version of a library, has another signature.
    """
    return _signature(problem(settings))


@functools.cache
def _signature(objective: Problem) -> dict[str, Any]:
    points = objective.domain.user(objective.domain.uniform(3, generator(0, "signature", objective.name)))
    values = objective.evaluate(points)
    if not isinstance(values, np.ndarray) or values.shape != (len(points),):
        raise ObjectiveError(f"evaluate() of {points.shape} coordinates must return an array of shape ({len(points)},)")
    return {"x": points.tolist(), "f": values.tolist()}


def optimal_lengthscale(settings: Settings) -> float:
    """θ̂* for the problem, kernel and regulariser of a run."""
    from lbbench.methods.oracle import estimate_lengthscale

    gp = settings["gp"]
    return estimate_lengthscale(problem(settings), KERNELS[gp["kernel"]], gp["regulariser"])


def surrogate(settings: Settings, noise_std: float) -> Surrogate:
    """The GP and the confidence band of a run; `noise_std` is the objective's."""
    gp = settings["gp"]
    return Surrogate(**{**gp, "kernel": KERNELS[gp["kernel"]], "noise_std": noise_std})


def method(settings: Settings, objective: Problem) -> Method:
    """The method of a run, not yet started."""
    own: dict[str, Any] = {key: value for key, value in settings["method"].items() if key != "name"}
    own |= {key: growth.parse(own[key]) for key in ("g", "b") if key in own}
    if own.get("lengthscale") == "auto":
        own["lengthscale"] = optimal_lengthscale(settings)
    if "theta0" in own and not registry.is_plugin("method", settings.method):
        own["shrinking"] = Shrinking(**{field.name: own.pop(field.name) for field in fields(Shrinking)})
    found = registry.find(registry.target("method", settings.method))
    built: Method = found(surrogate=surrogate(settings, objective.noise_std), **own)
    return built


def asktell(settings: Settings, objective: Problem, seed: int) -> AskTell:
    """What a run asks and tells."""
    return AskTell(
        domain=objective.domain,
        method=method(settings, objective),
        name=objective.name,
        seed=seed,
        initial=settings["problem"]["initial"],
        maximiser=Maximiser(**settings["acquisition"]),
    )
