"""Methods and problems by name: ours, those that installed packages register, and your own as `module:name`."""

import functools
import importlib
import importlib.metadata
import inspect
import re
import sys
from typing import Any

from lbbench.errors import UsageError, printable
from lbbench.plan.checks import admit

OURS = {
    "method": {
        "lb": "lbbench.methods.lb:LB",
        "lnb": "lbbench.methods.lnb:LNB",
        "agpucb": "lbbench.methods.agpucb:AGPUCB",
        "mle": "lbbench.methods.mle:MLE",
        "mcmc": "lbbench.methods.mcmc:MCMC",
        "oracle": "lbbench.methods.oracle:Oracle",
        "random": "lbbench.methods.random:Random",
        "igpucb": "lbbench.methods.igpucb:IGPUCB",
        "gpucb": "lbbench.methods.gpucb:GPUCB",
        "gpts": "lbbench.methods.gpts:GPTS",
        "ei": "lbbench.methods.ei:GPEI",
        "pi": "lbbench.methods.pi:GPPI",
        "tight": "lbbench.methods.tight:Tight",
    },
    "problem": {
        "berkenkamp": "lbbench.problems.synthetic:berkenkamp",
        "michalewicz": "lbbench.problems.synthetic:michalewicz",
        "agnp": "lbbench.problems.materials:agnp",
        "csv": "lbbench.problems.tables:csv",
        "autoam": "lbbench.problems.materials:autoam",
        "crossedbarrel": "lbbench.problems.materials:crossedbarrel",
        "p3ht": "lbbench.problems.materials:p3ht",
        "perovskite": "lbbench.problems.materials:perovskite",
        "rkhsrbf": "lbbench.problems.bandits:rkhsrbf",
        "rkhsmatern": "lbbench.problems.bandits:rkhsmatern",
        "gprbf": "lbbench.problems.bandits:gprbf",
        "gpmatern": "lbbench.problems.bandits:gpmatern",
        "rosenbrock": "lbbench.problems.bandits:rosenbrock",
        "hartmann": "lbbench.problems.bandits:hartmann",
        "sensors": "lbbench.problems.sensors:sensors",
        "syntheticsensors": "lbbench.problems.sensors:syntheticsensors",
    },
}
SHARED = ("initial", "noise_std")  # the settings that all problems have
GIVEN = ("name", "seed", "surrogate", *SHARED)  # what a run gives beside a plug-in's own settings


def folded(name: str) -> str:
    """A name without what makes no difference: `My-Method` is mymethod."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


@functools.cache
def _entries(group: str) -> dict[str, list[str]]:
    """What installed packages register as entry points `lbbench.methods` or `.problems`: by name, each target once."""
    found: dict[str, list[str]] = {}
    for entry in sorted(importlib.metadata.entry_points(group=f"lbbench.{group}s"), key=lambda entry: entry.value):
        if entry.value not in found.setdefault(folded(entry.name), []):
            found[folded(entry.name)].append(entry.value)
    return found


def registered(group: str) -> dict[str, str]:
    """The targets `module:name` that installed packages register, by their names."""
    return {name: targets[0] for name, targets in _entries(group).items() if name not in OURS.get(group, {})}


def clashes(group: str) -> dict[str, str]:
    """What to say of each name that a package registers and that is not only its own."""
    found = {}
    for name, targets in _entries(group).items():
        if name in OURS.get(group, {}):
            found[name] = f"{name} is lbbench's own; what packages register as that is {group}={','.join(targets)}"
        elif len(targets) > 1:
            found[name] = f"{name} is registered by several packages; say which: {group}={' or '.join(targets)}"
    return found


def introduction(target: str) -> str:
    """The first line of a docstring, and where it stands; or why it cannot be imported."""
    try:
        text = inspect.getdoc(find(target)) or ""
    except UsageError as error:
        return str(error)
    first = text.partition("\n")[0]
    return f"{first} ({target})" if first else target


def is_plugin(group: str, name: str) -> bool:
    """Is it a method or problem that is registered, or a target?"""
    return group in OURS and (is_target(name) or name in registered(group))


def is_target(name: str) -> bool:
    """Is a name of the form `module:name`?"""
    return bool(re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", name))


def target(group: str, name: str) -> str:
    """What a method or problem is, as `module:name`. Raises `UsageError` for a name that nothing here has."""
    if found := OURS[group].get(name):
        return found
    if name in clashes(group):
        raise UsageError(clashes(group)[name])
    if found := registered(group).get(name):
        return found
    if not is_target(name):
        raise UsageError(f"{printable(name)} cannot be imported: no installed package registers it")
    return name


def find(target: str) -> Any:
    """What `module:name` names; only what a run needs is imported. The current directory is looked in last.

    Raises `UsageError` if there is none.
    """
    module, _, name = target.partition(":")
    if "" not in sys.path:
        sys.path.append("")
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError:
        raise UsageError(f"{printable(target)}: the module {module} has no {printable(name)}") from None
    except (Exception, SystemExit) as error:  # whatever the module does
        reason = " ".join(str(error).split())
        raise UsageError(f"{printable(target)} cannot be imported: {type(error).__name__}: {reason}") from error


def arguments(found: Any) -> dict[str, Any]:
    """What a callable can be given by name, with the defaults; those without one have `inspect.Parameter.empty`.

    Raises `UsageError` if it does not tell.
    """
    try:
        given = inspect.signature(found).parameters.values()
    except (ValueError, TypeError):
        raise UsageError(f"{printable(repr(found))} cannot be called, or does not tell with what") from None
    return {one.name: one.default for one in given if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}


def is_objective(found: Any) -> bool:
    """Is it a function of a point? One that makes a `Problem` has a default for each of its arguments."""
    return inspect.Parameter.empty in arguments(found).values()


def settings(group: str, name: str) -> dict[str, Any] | None:
    """The settings of a plug-in with their defaults, which are checked from now on.

    They are the arguments of the method's class, or of the function that makes the problem; None for a function of a
    point, whose settings are those in configs/. Raises `UsageError` if it is none of these, or a setting cannot be
    checked.
    """
    where = target(group, name)
    found = find(where)
    if not callable(found):
        raise UsageError(f"{printable(where)} is no {'class of a method' if group == 'method' else 'function'}")
    given = arguments(found)
    if group == "method" and "surrogate" not in given:
        raise UsageError(f"{printable(where)} is no method: its class must take the argument surrogate")
    lacks = [name for name in ("start", "suggest", "observe") if not callable(getattr(found, name, None))]
    if group == "method" and inspect.isclass(found) and lacks:
        raise UsageError(f"{printable(where)} is no method: it lacks {lacks[0]}()")
    if group == "problem" and is_objective(found):
        return None
    own = {key: default for key, default in given.items() if key not in GIVEN}
    for key, default in own.items():
        admit(key, default, f"{printable(where)}: its setting {key}")
    return own | {key: given[key] for key in SHARED if key in given}
