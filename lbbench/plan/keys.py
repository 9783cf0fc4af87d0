"""The keys and names that exist: which are meant by what was typed, and what is near to one that is unknown."""

import difflib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lbbench.errors import UsageError, printable
from lbbench.plan import registry
from lbbench.plan.checks import CHECKS, FIXED, check
from lbbench.plan.configs import load, options

GROUPS = ("method", "problem")
EXECUTION = "execution"  # a group as well, but of the study: it does not sweep
GROWTHS = ("g", "b")
ALIASES = {"trials": "seeds"}  # other words for a key
MEANT = {  # by words that other libraries have
    **dict.fromkeys(("n_trials", "n_calls", "n_iter", "max_iter", "steps", "budget", "horizon"), "iterations"),
    **dict.fromkeys(("seed", "random_state", "random_seed"), "seeds=[…]"),
    **dict.fromkeys(("n_jobs", "workers", "n_workers"), "jobs"),
    **dict.fromkeys(("algorithm", "algo", "acquisition", "policy"), "method"),
    **dict.fromkeys(("objective", "function", "dataset", "data", "benchmark"), "problem"),
    **dict.fromkeys(("length_scale", "ls"), "lengthscale"),
    **dict.fromkeys(("noise", "sigma"), "noise_std"),
    **dict.fromkeys(("preset", "experiment"), "+experiment"),
}


class Keys(NamedTuple):
    """The keys that exist: common ones, and those of each chosen method and problem."""

    config: dict[str, Any]
    common: list[str]
    method: dict[str, list[str]]
    problem: dict[str, list[str]]

    @property
    def all(self) -> list[str]:
        """All of them, in full."""
        return [*self.common, *itertools.chain(*self.method.values(), *self.problem.values())]


def keys_of(overrides: Mapping[str, list[str]]) -> Keys:
    """The keys that exist for the methods and problems that were chosen, or else for the default ones."""
    config = load("config")
    defaults = {group: name for entry in config.pop("defaults") if entry != "_self_" for group, name in entry.items()}
    chosen = {group: pick(group, overrides.get(group, [name]), options(group)) for group, name in defaults.items()}
    if len(chosen[EXECUTION]) > 1:
        raise UsageError(f"{EXECUTION} takes one value, not {len(chosen[EXECUTION])}")
    config[EXECUTION] = load(f"{EXECUTION}/{chosen[EXECUTION][0]}")
    own = {group: {name: leaves({group: load(f"{group}/{name}")}) for name in chosen[group]} for group in GROUPS}
    return Keys(config, leaves(config), own["method"], own["problem"])


def pick(key: str, names: Sequence[str], allowed: Mapping[str, str]) -> list[str]:
    """Names of a group, folded: `A-GP-UCB` is agpucb, `LB` is lb. A target, `module:name`, is a name as it is."""
    picked = []
    for name in names:
        if key in GROUPS and registry.is_target(name):
            picked.append(name)
            continue
        folded = registry.folded(name)
        folded = folded if folded in allowed else folded.removesuffix("gpucb")
        if folded not in allowed:
            hint = _hint(name, list(allowed))
            own = " or module:name" if key in GROUPS else ""
            raise UsageError(f"{key}={printable(name)} is unknown{hint}; allowed: {', '.join(allowed)}{own}")
        picked.append(folded)
    return list(dict.fromkeys(picked))


def leaves(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The full keys of a configuration's settings."""
    keys = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            keys += leaves(value, f"{prefix}{key}.")
        elif key not in FIXED:
            keys.append(prefix + key)
    return keys


def resolve(key: str, full_keys: Sequence[str], others: Sequence[str] = (*GROUPS, EXECUTION, "+experiment")) -> str:
    """The full key that a key or its last name stands for.

    Raises `UsageError`, which names the keys that are allowed: those, and the `others` that are no settings.
    """
    for full in full_keys:
        if ALIASES.get(key, key) in (full, last(full)):
            return full
    names = [*others, *dict.fromkeys(map(last, full_keys))]
    if last(key) in CHECKS:
        raise UsageError(f"{printable(key)} is not a setting of what was chosen; allowed here: {', '.join(names)}")
    raise UsageError(f"unknown key '{printable(key)}'{_hint(key, names)}; allowed here: {', '.join(names)}")


def last(key: str) -> str:
    """The last name of a full key, which stands for it; of another word for a key, that key."""
    return ALIASES.get(key, key.rpartition(".")[2])


def canonical(full: str, key: str, text: str) -> str:
    """A checked value as text, in the one way of writing it that its check gives (seeds stay as they were typed)."""
    value = check(last(full), key, text)
    return text if isinstance(value, tuple) else str(value)


def today(name: str, text: str) -> str:
    """A value of an older trace as it would be written now; as it is, if it would not be allowed or is unknown."""
    try:
        return canonical(name, name, text) if name in CHECKS else text
    except UsageError:
        return text


def once(key: str, name: str, typed: dict[str, str]) -> None:
    """Notes that `key` was typed for what `name` stands for. Raises `UsageError` if something was already."""
    if typed.setdefault(name, key) != key:
        raise UsageError(f"{printable(key)} is given twice, once as {typed[name]}")


def _hint(word: str, known: Sequence[str]) -> str:
    meant = MEANT.get(word.lower(), "")
    close = [meant] if meant.removesuffix("=[…]") in known else difflib.get_close_matches(word.lower(), known, n=1)
    return f", did you mean '{close[0]}'?" if close else ""
