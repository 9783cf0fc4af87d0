"""From overrides such as `method=lb,mle seeds=10` to the combinations of settings that they ask for.

Every usage error is found here, from the files in configs/ and the table in `checks`, without a heavy library.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lbbench import growth
from lbbench.errors import UsageError
from lbbench.plan.checks import check, typed_tree
from lbbench.plan.configs import load
from lbbench.plan.keys import EXECUTION, GROUPS, GROWTHS, canonical, keys_of, last, once, resolve
from lbbench.plan.kinds import OPTIMISATION
from lbbench.plan.presets import sweeps
from lbbench.plan.words import read


@dataclass(frozen=True)
class Combination:
    """One cell of a sweep: a method, a problem, and the value of every other key that applies to them."""

    method: str
    problem: str
    values: Mapping[str, str]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """What a command line asks for."""

    combinations: tuple[Combination, ...]
    study: Mapping[str, Any]
    swept: tuple[str, ...]  # the full keys, beside method and problem, that take more than one value
    arguments: tuple[str, ...] = field(default=(), compare=False)  # as they were typed


def plan(arguments: Sequence[str]) -> Plan:
    """Read and check overrides.

    Raises `UsageError`, which names the key and what is allowed.
    """
    expanded = [_expand(sweep) for sweep in sweeps(read(arguments))]
    combinations = {repr(combination): combination for _, found, _ in expanded for combination in found}
    swept = tuple(dict.fromkeys(key for _, _, keys in expanded for key in keys))
    return Plan(tuple(combinations.values()), expanded[0][0], swept, tuple(arguments))


def _expand(overrides: Mapping[str, list[str]]) -> tuple[dict[str, Any], tuple[Combination, ...], tuple[str, ...]]:
    """The study's own settings, every combination of the others, and the full keys that take several values."""
    keys = keys_of(overrides)
    for (method, own), (problem, theirs) in itertools.product(keys.method.items(), keys.problem.items()):
        kind, other = (load(name).get("kind", OPTIMISATION) for name in (f"method/{method}", f"problem/{problem}"))
        if kind != other:
            raise UsageError(f"method={method} is for {kind}, and problem={problem} for {other}")
        if shared := set(map(last, own)) & set(map(last, theirs)):
            raise UsageError(
                f"{shared.pop()} is a setting of {method} and of {problem}; one of them needs another name"
            )
    values: dict[str, list[str]] = {}
    typed: dict[str, str] = {}
    for key, texts in overrides.items():
        if key not in (*GROUPS, EXECUTION):
            full = resolve(key, keys.all)
            once(key, full, typed)
            values[full] = list(dict.fromkeys(canonical(full, key, text) for text in texts))
    study = typed_tree(keys.config["study"]) | _pop(values, "study", typed)
    study[EXECUTION] = typed_tree(keys.config[EXECUTION]) | _pop(values, EXECUTION, typed)
    _check_growths(values, typed, max(int(text) for text in values.get("iterations", [str(keys.config["iterations"])])))

    found = []
    for method, problem in itertools.product(keys.method, keys.problem):
        here = {*keys.common, *keys.method[method], *keys.problem[problem]}
        applicable = {full: texts for full, texts in values.items() if full in here}
        for cell in itertools.product(*applicable.values()):
            found.append(Combination(method, problem, dict(zip(applicable, cell, strict=True)), study["seeds"]))
    return study, tuple(found), tuple(full for full, texts in values.items() if len(texts) > 1)


def _pop(values: dict[str, list[str]], section: str, typed: Mapping[str, str]) -> dict[str, Any]:
    """Takes the settings of a section, which do not sweep, out of `values`; each was typed as `typed` says."""
    found: dict[str, Any] = {}
    for full in [full for full in values if full.startswith(f"{section}.")]:
        name, texts = last(full), values.pop(full)
        if len(texts) > 1:
            hint = "; for some seeds: [3,7]" if name == "seeds" else ""
            raise UsageError(f"{typed[full]} takes one value, not {len(texts)}{hint}")
        found[name] = check(name, typed[full], texts[0])
    return found


def _check_growths(values: Mapping[str, list[str]], typed: Mapping[str, str], iterations: int) -> None:
    """A growth function needs a finite value at every step."""
    steps = [*range(1, min(iterations, 10_000) + 1), iterations]
    for full, texts in values.items():
        for function in [growth.parse(text) for text in texts if last(full) in GROWTHS]:
            try:
                for t in steps:
                    function(t)
            except UsageError as error:
                raise UsageError(f"{typed[full]}={error}") from None
