"""From overrides such as `method=lb,mle seeds=10` to the combinations of settings that they ask for.

Every usage error is found here, from the files in configs/ and the table in `checks`, without a heavy library.
"""

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lbbench import growth
from lbbench.errors import UsageError
from lbbench.plan import registry
from lbbench.plan.checks import CHECKS, check, printable, typed_tree
from lbbench.plan.configs import PYTHON, load, options

GROUPS = ("method", "problem")
EXECUTION = "execution"  # a group as well, but of the study: it does not sweep
GROWTHS = ("g", "b")
ALIASES = {"trials": "seeds"}  # other words for a key


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
    expanded = [_expand(sweep) for sweep in _sweeps(read(arguments))]
    combinations = {repr(combination): combination for _, found, _ in expanded for combination in found}
    swept = tuple(dict.fromkeys(key for _, _, keys in expanded for key in keys))
    return Plan(tuple(combinations.values()), expanded[0][0], swept, tuple(arguments))


def _sweeps(overrides: dict[str, list[str]], within: tuple[str, ...] = ()) -> list[dict[str, list[str]]]:
    """The sweeps that overrides ask for: their own, or those of the lines of a preset with the overrides applied.

    `within` are the presets that led to these overrides.
    """
    presets = overrides.pop("+experiment", None)
    if presets is None:
        return [overrides]
    names = pick("+experiment", presets, options("experiment"))
    if len(names) > 1:
        raise UsageError(f"+experiment takes one preset, not {len(names)}")
    if names[0] in within:
        raise UsageError(f"+experiment={names[0]} names itself, by way of {' and '.join(within)}")
    within += (names[0],)
    lines = [sweep for line in load(f"experiment/{names[0]}") for sweep in _sweeps(read(line.split()), within)]
    for group in GROUPS:
        if group in overrides:
            lines, overrides = _narrow(group, lines, overrides)
    return _override(lines, overrides)


def _narrow(
    group: str, lines: list[dict[str, list[str]]], overrides: dict[str, list[str]]
) -> tuple[list[dict[str, list[str]]], dict[str, list[str]]]:
    """Methods or problems that a preset has choose among its sweeps, and are no override any more."""
    chosen = pick(group, overrides[group], options(group))
    if not set(chosen) <= {name for line in lines for name in line.get(group, [])}:
        return lines, overrides
    shared = [line | {group: [name for name in line.get(group, []) if name in chosen]} for line in lines]
    return [line for line in shared if line[group]], {key: own for key, own in overrides.items() if key != group}


def _override(lines: Sequence[dict[str, list[str]]], overrides: dict[str, list[str]]) -> list[dict[str, list[str]]]:
    """The sweeps of a preset, with the overrides in place of what a sweep says.

    An override that is no setting of what a sweep chooses leaves that sweep alone, but it must apply to one of them.
    """
    own = [{key: texts for key, texts in line.items() if last(key) not in map(last, overrides)} for line in lines]
    applicable = [{key for key in overrides if _applies(key, {**line, **overrides})} for line in own]
    for key in overrides:
        if not any(key in here for here in applicable):
            resolve(key, keys_of({**own[0], **overrides}).all)
    return [
        line | {key: texts for key, texts in overrides.items() if key in here}
        for line, here in zip(own, applicable, strict=True)
    ]


def _applies(key: str, sweep: Mapping[str, list[str]]) -> bool:
    try:
        return key in (*GROUPS, EXECUTION) or bool(resolve(key, keys_of(sweep).all))
    except UsageError:
        return False


def last(key: str) -> str:
    """The last name of a full key, which stands for it."""
    return key.rpartition(".")[2]


def split(text: str) -> list[str]:
    """The values of a sweep: `text` at its commas, but for those inside brackets or quotes."""
    values, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        depth += (character in "([{") - (character in ")]}") if not quote else 0
        if character == "," and depth == 0 and not quote:
            values.append("")
        else:
            values[-1] += character
    return [value.strip() for value in values]


def pairs(arguments: Sequence[str], allowed: Sequence[str] | None = None) -> dict[str, str]:
    """`key=value` arguments that take one value each, and no key but those that are `allowed`, if any are named."""
    found = {}
    for key, texts in read(arguments).items():
        if allowed is not None:
            resolve(key, allowed, others=())
        if len(texts) > 1:
            raise UsageError(f"{printable(key)} takes one value, not {len(texts)}")
        found[key] = texts[0]
    return found


def read(arguments: Sequence[str]) -> dict[str, list[str]]:
    """`key=value,value` arguments as a mapping from keys to their values."""
    overrides: dict[str, list[str]] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or not key:
            raise UsageError(f"'{printable(argument)}' is not of the form key=value, such as method=lb")
        key = ALIASES.get(key, key)
        if key in overrides:
            name = printable(key)
            hint = "" if last(key) in load("config")["study"] else f"; to sweep, separate values by commas: {name}=…,…"
            raise UsageError(f"{name} is given twice{hint}")
        overrides[key] = [value[1:-1] if _is_quoted(value) else value for value in split(text)]
        for value in overrides[key]:
            if not value:
                raise UsageError(f"{printable(key)}= has an empty value")
            if "${" in value:
                raise UsageError(f"{printable(key)}={printable(value)}: values are data, ${{…}} is not allowed")
    for group in GROUPS:
        if PYTHON in overrides.get(group, []):
            overrides[group] = [*(name for name in overrides[group] if name != PYTHON), *_targets(group, overrides)]
    return overrides


def _targets(group: str, overrides: dict[str, list[str]]) -> list[str]:
    """Takes the targets, which are the names of what is the user's own, out of the overrides."""
    for key in (f"{group}.target", "target"):
        if key in overrides:
            return overrides.pop(key)
    raise UsageError(f"{group}=python needs {group}.target=, such as {group}.target=mypkg.mymodule:name")


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "'\""


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


def _expand(overrides: Mapping[str, list[str]]) -> tuple[dict[str, Any], tuple[Combination, ...], tuple[str, ...]]:
    """The study's own settings, every combination of the others, and the full keys that take several values."""
    keys = keys_of(overrides)
    for (method, own), (problem, theirs) in itertools.product(keys.method.items(), keys.problem.items()):
        if shared := set(map(last, own)) & set(map(last, theirs)):
            raise UsageError(
                f"{shared.pop()} is a setting of {method} and of {problem}; one of them needs another name"
            )
    values: dict[str, list[str]] = {}
    for key, texts in overrides.items():
        if key not in (*GROUPS, EXECUTION):
            full = resolve(key, keys.all)
            if full in values:
                raise UsageError(f"{last(key)} is given twice, once as {full}")
            values[full] = list(dict.fromkeys(canonical(full, key, text) for text in texts))
    study = typed_tree(keys.config["study"]) | _pop(values, "study")
    study[EXECUTION] = typed_tree(keys.config[EXECUTION]) | _pop(values, EXECUTION)
    _check_growths(values, max(int(text) for text in values.get("iterations", [str(keys.config["iterations"])])))

    found = []
    for method, problem in itertools.product(keys.method, keys.problem):
        here = {*keys.common, *keys.method[method], *keys.problem[problem]}
        applicable = {full: texts for full, texts in values.items() if full in here}
        for cell in itertools.product(*applicable.values()):
            found.append(Combination(method, problem, dict(zip(applicable, cell, strict=True)), study["seeds"]))
    return study, tuple(found), tuple(full for full, texts in values.items() if len(texts) > 1)


def _pop(values: dict[str, list[str]], section: str) -> dict[str, Any]:
    """Takes the settings of a section, which do not sweep, out of `values`."""
    found: dict[str, Any] = {}
    for full in [full for full in values if full.startswith(f"{section}.")]:
        name, texts = last(full), values.pop(full)
        if len(texts) > 1:
            hint = "; for some seeds: [3,7]" if name == "seeds" else ""
            raise UsageError(f"{name} takes one value, not {len(texts)}{hint}")
        found[name] = check(name, name, texts[0])
    return found


def _check_growths(values: Mapping[str, list[str]], iterations: int) -> None:
    """A growth function needs a finite value at every step."""
    steps = [*range(1, min(iterations, 10_000) + 1), iterations]
    for full, texts in values.items():
        name = last(full)
        for function in [growth.parse(text) for text in texts if name in GROWTHS]:
            try:
                for t in steps:
                    function(t)
            except UsageError as error:
                raise UsageError(f"{name}={error}") from None


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
            hint = _hint(name, allowed)
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
        elif key != "name":
            keys.append(prefix + key)
    return keys


def resolve(key: str, full_keys: Sequence[str], others: Sequence[str] = (*GROUPS, EXECUTION, "+experiment")) -> str:
    """The full key that a key or its last name stands for.

    Raises `UsageError`, which names the keys that are allowed: those, and the `others` that are no settings.
    """
    for full in full_keys:
        if key in (full, last(full)):
            return full
    names = [*others, *dict.fromkeys(map(last, full_keys))]
    if last(key) in CHECKS:
        raise UsageError(f"{printable(key)} is not a setting of what was chosen; allowed here: {', '.join(names)}")
    raise UsageError(f"unknown key '{printable(key)}'{_hint(key, names)}; allowed here: {', '.join(names)}")


def _hint(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f", did you mean '{close[0]}'?" if close else ""


def canonical(full: str, key: str, text: str) -> str:
    """A checked value as text, in the one way of writing it that its check gives (seeds stay as they were typed)."""
    value = check(last(full), key, text)
    return text if isinstance(value, tuple) else str(value)
