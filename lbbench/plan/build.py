"""From settings to the objects of a run: problem, surrogate and method."""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from lbbench import growth
from lbbench.domain import Array, Domain, Pool
from lbbench.errors import ObjectiveError, UsageError
from lbbench.gp import kernels
from lbbench.maximiser import COMPARED
from lbbench.methods.base import Method, Surrogate
from lbbench.methods.lengthscales import Shrinking
from lbbench.plan import registry
from lbbench.plan.checks import FIXED
from lbbench.plan.keys import last
from lbbench.plan.settings import Settings
from lbbench.plan.sources import source
from lbbench.problems.base import Problem
from lbbench.problems.materials import require_data
from lbbench.problems.python import objective as own_objective
from lbbench.streams import generator
from lbbench.theory import rkhs_norm

POOLED = {"gp.kernel": "empirical", "gp.norm": "auto", "method.information_gain": "greedy"}  # what needs a pool
RAW = {"gp.norm": "auto", "gp.regulariser": "noise"}  # what is about values as they are
MOST = 10_000  # points of a box that a step may compare with each other: a matrix of 0.8 GB
CHOOSING = ("lb", "lnb", "agpucb", "mle", "mcmc")  # the methods that choose length scales


def problem(settings: Settings, seed: int = 0) -> Problem:
    """The objective of a run; the same object for the same settings, so that a worker loads data once.

    One that is made anew for each seed is that of `seed`.
    """
    own = {key: value for key, value in settings["problem"].items() if key not in (*FIXED, "initial", "standardise")}
    if "seed" in registry.arguments(registry.find(registry.target("problem", settings.problem))):
        own["seed"] = seed
    return _problem(settings.problem, tuple(sorted(own.items())))


@functools.cache
def _problem(name: str, settings: tuple[tuple[str, Any], ...]) -> Problem:
    found, given = registry.find(registry.target("problem", name)), dict(settings)
    if not registry.is_plugin("problem", name):
        ours: Problem = found(**given)
        return ours
    if registry.is_objective(found):
        given.pop("version", None)
        return own_objective(name, found, **given)
    noise_std = given["noise_std"]
    for key in {"noise_std", "version"} & given.keys() - registry.arguments(found).keys():
        del given[key]
    where = registry.target("problem", name)
    try:
        built = found(**given)
    except (Exception, SystemExit) as error:  # whatever the function does
        raise UsageError(f"{where} makes no problem: {type(error).__name__}: {' '.join(str(error).split())}") from error
    if not isinstance(built, Problem):
        raise UsageError(
            f"{where} makes no lbbench.problems.base.Problem; a function of a point needs an argument for it"
        )
    if "seed" in given and math.isnan(built.optimum):
        raise UsageError(f"{where} makes another problem for each seed, so each must tell its optimum")
    return replace(built, name=name, noise_std=noise_std, evaluate=_checked(built.evaluate))


def _checked(evaluate: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function of a user's own problem, whose result has the shape that it must have."""

    def checked(x: Array) -> Array:
        values: Any = evaluate(x)
        if not isinstance(values, np.ndarray) or values.shape != (len(x),):
            raise ObjectiveError(f"evaluate() of {x.shape} coordinates must return an array of shape ({len(x)},)")
        return values

    return checked


def require(settings: Settings, seeds: Iterable[int] = (0,)) -> None:
    """Raises `UsageError` if the data of a run's problem are not there, or its settings ask for what that has not."""
    require_data(settings.problem)
    theirs = settings.get("problem.path") is not None or registry.is_plugin("problem", settings.problem)
    pooled = any(settings.get(key) == value for key, value in POOLED.items())
    if theirs or pooled or _compared(settings) > MOST:
        suits(settings, problem(settings, max(seeds)).domain)  # the last: a table may have too few rows for it
    for key, value in RAW.items():
        if settings.get(key) == value and settings.get("problem.standardise") is not False:
            raise UsageError(f"{last(key)}={value} is for problems with standardise=false, not {settings.problem}")


def suits(settings: Settings, domain: Domain) -> None:
    """Raises `UsageError` if the settings ask for what the domain has not."""
    where = f"not {settings.problem}"
    for key, value in POOLED.items():
        if settings.get(key) == value and not isinstance(domain, Pool):
            raise UsageError(f"{last(key)}={value} needs a pool of candidates, {where}")
    if not isinstance(domain, Pool) and (points := _compared(settings)) > MOST:
        keys = "raw_samples" if settings.method == "gpts" else f"raw_samples, or {COMPARED} × restarts,"
        raise UsageError(
            f"{keys} must be at most {MOST} for method={settings.method} in a box: {points} points make matrices of "
            f"{8e-9 * points**2:.3g} GB"
        )
    if settings["gp"]["kernel"] != kernels.EMPIRICAL.name:
        return
    assert isinstance(domain, Pool)
    if domain.covariance is None:
        raise UsageError(f"kernel=empirical is for problems that have a covariance, such as sensors, {where}")
    if settings.method in CHOOSING:
        raise UsageError(f"method={settings.method} chooses length scales, and kernel=empirical has none")
    if settings.method not in registry.OURS["method"]:
        return
    if settings.get("method.lengthscale") not in (None, "auto"):
        raise UsageError(f"lengthscale={settings['method']['lengthscale']} is of no use: kernel=empirical has none")
    if settings.get("method.information_gain") == "analytic":
        raise UsageError(
            "information_gain=analytic bounds that of a kernel with a length scale, and kernel=empirical has none; "
            "allowed here: greedy, realised or a number of nats"
        )


def _compared(settings: Settings) -> int:
    """How many points of a box a step compares with each other, at a cost of their square, or GP-TS of their cube."""
    raw, restarts = (int(settings["acquisition"][key]) for key in ("raw_samples", "restarts"))
    return raw if settings.method == "gpts" else min(raw, COMPARED * restarts)


def signature(settings: Settings) -> dict[str, Any]:
    """What tells a problem's objective from another, such as one of another data set or version of a library.

    It is what three fixed points are, `x` in user units, and the values `f` there. One of the user's own, which may be
    costly, is not evaluated: its `version` counts, if the settings have one, or else its `source`.
    """
    if not registry.is_plugin("problem", settings.problem):
        return _signature(problem(settings))
    version = settings.get("problem.version")
    return source(registry.target("problem", settings.problem)) if version is None else {"version": version}


@functools.cache
def _signature(objective: Problem) -> dict[str, Any]:
    points = objective.domain.user(objective.domain.uniform(3, generator(0, "signature", objective.name)))
    return {"x": points.tolist(), "f": objective.evaluate(points).tolist()}


def optimal_lengthscale(settings: Settings, objective: Problem) -> float:
    """The objective's own length scale, or else θ̂* for the kernel and the regulariser of a run."""
    from lbbench.methods.oracle import estimate_lengthscale

    if not math.isnan(objective.lengthscale):
        return objective.lengthscale
    kernel = kernels.named(settings["gp"]["kernel"])
    if kernel is kernels.EMPIRICAL:
        return 1.0  # which it has no use for
    return estimate_lengthscale(objective, kernel, _regulariser(settings, objective))


def surrogate(settings: Settings, objective: Problem) -> Surrogate:
    """The GP and the confidence band of a run."""
    own = {
        "kernel": kernels.named(settings["gp"]["kernel"]),
        "regulariser": _regulariser(settings, objective),
        "norm": _norm(settings, objective),
        "noise_std": objective.noise_std,
    }
    return Surrogate(**{**settings["gp"], **own})


def _regulariser(settings: Settings, objective: Problem) -> float:
    """λ: a number, the variance of the noise, or 1 + 2/T as in the analysis of IGP-UCB."""
    asked = settings["gp"]["regulariser"]
    if asked == "theory":
        if settings.get("iterations") is None:
            raise UsageError("regulariser=theory is 1 + 2/T, and there is no number of steps T here; give a number")
        return 1.0 + 2.0 / float(settings["iterations"])
    if asked == "noise" and objective.noise_std == 0.0:
        raise UsageError(f"regulariser=noise needs noise, of which {objective.name} has none")
    return float(objective.noise_std**2 if asked == "noise" else asked)


def _norm(settings: Settings, objective: Problem) -> float:
    """B: a number, or the objective's own under the kernel and its length scale."""
    gp = settings["gp"]
    if gp["norm"] != "auto":
        return float(gp["norm"])
    assert isinstance(objective.domain, Pool)
    values = objective.evaluate(objective.domain.candidates)
    lengthscale = optimal_lengthscale(settings, objective)
    return rkhs_norm(values, kernels.covariance(objective.domain, kernels.named(gp["kernel"]), lengthscale))


def method(settings: Settings, objective: Problem) -> Method:
    """The method of a run, not yet started."""
    own: dict[str, Any] = {key: value for key, value in settings["method"].items() if key not in FIXED}
    own |= {key: growth.parse(own[key]) for key in ("g", "b") if key in own}
    if own.get("lengthscale") == "auto":
        own["lengthscale"] = optimal_lengthscale(settings, objective)
    if "theta0" in own and not registry.is_plugin("method", settings.method):
        own["shrinking"] = Shrinking(**{field.name: own.pop(field.name) for field in fields(Shrinking)})
    found = registry.find(registry.target("method", settings.method))
    built: Method = found(surrogate=surrogate(settings, objective), **own)
    return built
