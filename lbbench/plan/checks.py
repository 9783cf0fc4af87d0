"""What each setting may be: a rule for every key."""

import math
from collections.abc import Mapping
from typing import Any

from lbbench.errors import UsageError, printable
from lbbench.plan.rules import (
    Check,
    Numbers,
    Value,
    address,
    boolean,
    bounds,
    check_by,
    choice,
    columns,
    digest,
    either,
    expression,
    file,
    integer,
    lengthscale,
    number,
    path,
    positive,
    seeds,
    version,
    words,
)

COMMON: dict[str, Check] = {  # what every run or study has
    "iterations": integer(),
    "kernel": choice("matern52", "matern32", "rbf", "empirical"),
    "regulariser": either("noise", either("theory", positive)),
    "beta": choice("fixed", "theory"),
    "norm": either("auto", positive),
    "delta": number("a number between 0 and 1", lambda value: 0 < value < 1),
    "raw_samples": integer(at_most=2**20),
    "restarts": integer(at_most=10_000),
    "seeds": seeds,
    "out": path,
    "jobs": either("auto", integer(at_most=4096)),
    "cores_per_run": either("auto", integer(at_most=4096)),
    "force": boolean,
    "timeout": either("none", number("a number of seconds above 0", lambda value: value > 0)),
    "retry": boolean,
    "fail_fast": boolean,
    "on_nan": choice("error", "skip"),
    "scheduler": either("none", address),
    "collect": boolean,
    "cluster": choice("slurm", "local"),
    "partition": words,
    "timeout_min": integer(at_most=10**6),
    "mem_gb": integer(at_most=10**5),
    "initial": integer(at_most=2_000),
    "noise_std": number("a number from 0 up", lambda value: value >= 0),
}
CHECKS: dict[str, Check] = {
    **COMMON,
    "g": expression,
    "b": expression,
    "t0": either("auto", number("a number from 1 up", lambda value: value >= 1)),
    "theta0": either("mle", lengthscale),
    "lengthscale": either("auto", lengthscale),
    "spacing": choice("d_plus_2nu", "d"),
    "elimination": choice("prior", "posterior", "posterior2"),
    "regret_bound": choice("paper", "matern"),
    "information_gain": either("analytic", either("greedy", either("realised", positive))),
    "sampler": choice("quadrature", "nuts"),
    "nodes": either("auto", integer(at_most=64)),
    "warmup": integer(at_most=10**6),
    "samples": integer(at_least=4, at_most=10**6),
    "theta": lengthscale,
    "arms": integer(at_least=2, at_most=10_000),
    "noise_share": positive,
    "training": number("a number between 0 and 1", lambda value: 0 < value < 1),
    "rows": integer(at_least=2, at_most=100_000),
    "standardise": boolean,
    "dim": Numbers(("2", "5", "10")),
    "path": file,
    "target": words,
    "maximize": boolean,
    "ignore": columns,
    "categories": choice("refuse", "onehot"),
    "digest": either("auto", digest),
    "bounds": either("none", bounds),
    "version": either("none", version),
    "optimum": either("unknown", number("a number", math.isfinite)),
}


def admit(name: str, default: Any, owner: str) -> None:
    """Let a plug-in have a setting: one of the type of its default, or as ours of that name are checked.

    Raises `UsageError`, which begins with the `owner`, if the default is of no such type or not allowed.
    """
    kinds = {bool: boolean, int: integer(-(10**9)), float: number("a number", math.isfinite), str: words}
    if type(default) not in kinds:
        raise UsageError(f"{owner} must have a default that is a number, true or false, or text")
    if name in COMMON:
        raise UsageError(f"{owner} has the name of one of lbbench's own settings; choose another")
    try:
        CHECKS.setdefault(name, kinds[type(default)])(str(default))
    except (ValueError, UsageError) as error:
        raise UsageError(f"{owner} = {printable(str(default))}: where others have that name, it is {error}") from None


def check(name: str, key: str, text: str) -> Value:
    """The value of setting `name`, given as `key=text`.

    Raises `UsageError`, which names the key and what is allowed.
    """
    return check_by(CHECKS[name], key, text)


FIXED = ("name", "kind")  # the keys of a method's or problem's file that are no settings


def typed_tree(tree: Mapping[Any, Any]) -> dict[str, Any]:
    """A configuration with every value checked and of its own type."""
    typed: dict[str, Any] = {}
    for key, value in tree.items():
        if (key in CHECKS or key in FIXED) == isinstance(value, Mapping):
            raise UsageError(f"{printable(str(key))}: {printable(str(value))} has no place there")
        if isinstance(value, Mapping):
            typed[key] = typed_tree(value)
        else:
            typed[key] = value if key in FIXED else check(key, key, str(value))
    return typed
