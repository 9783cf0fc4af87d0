"""From overrides such as `method=lb,mle seeds=10` to the combinations of settings that they ask for.

Every usage error is found here, from the files in configs/ and the table in `checks`, without a heavy library.
"""

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lbbench import growth
from lbbench.errors import UsageError
from lbbench.study.checks import CHECKS, check, printable, typed_tree
from lbbench.study.configs import load, options

GROUPS = ("method", "problem")
GROWTHS = ("g", "b")


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


def plan(arguments: Sequence[str]) -> Plan:
    """Read and check overrides.

    Raises `UsageError`, which names the key and what is allowed.
    """
    overrides = _read(arguments)
    presets = overrides.pop("+experiment", None)
    if presets is None:
        study, found, swept = _expand(overrides)
        return Plan(found, study, swept)
    names = _pick("+experiment", presets, options("experiment"))
    if len(names) > 1:
        raise UsageError(f"+experiment takes one preset, not {len(names)}")
    expanded = [_expand(sweep) for sweep in _preset(load(f"experiment/{names[0]}"), overrides)]
    combinations = {repr(combination): combination for _, found, _ in expanded for combination in found}
    swept = tuple(dict.fromkeys(key for _, _, keys in expanded for key in keys))
    return Plan(tuple(combinations.values()), expanded[0][0], swept)


def _preset(lines: Sequence[str], overrides: Mapping[str, list[str]]) -> list[dict[str, list[str]]]:
    """The sweeps of a preset, a line each, with the user's overrides in place of what a line says.

    An override that is no setting of what a line chooses leaves that line alone, but it must apply to one of them.
    """
    own = [
        {key: texts for key, texts in _read(line.split()).items() if _last(key) not in map(_last, overrides)}
        for line in lines
    ]
    applicable = [{key for key in overrides if _applies(key, {**line, **overrides})} for line in own]
    for key in overrides:
        if not any(key in here for here in applicable):
            _resolve(key, _known({**own[0], **overrides}).keys)
    return [
        line | {key: texts for key, texts in overrides.items() if key in here}
        for line, here in zip(own, applicable, strict=True)
    ]


def _applies(key: str, sweep: Mapping[str, list[str]]) -> bool:
    try:
        return key in GROUPS or bool(_resolve(key, _known(sweep).keys))
    except UsageError:
        return False


def _last(key: str) -> str:
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


def _read(arguments: Sequence[str]) -> dict[str, list[str]]:
    """`key=value,value` arguments as a mapping from keys to their values."""
    overrides: dict[str, list[str]] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or not key:
            raise UsageError(f"'{printable(argument)}' is not of the form key=value, such as method=lb")
        if key in overrides:
            name = printable(key)
            raise UsageError(f"{name} is given twice; to sweep, separate values by commas: {name}=…,…")
        overrides[key] = [value[1:-1] if _is_quoted(value) else value for value in split(text)]
        for value in overrides[key]:
            if not value:
                raise UsageError(f"{printable(key)}= has an empty value")
            if "${" in value:
                raise UsageError(f"{printable(key)}={printable(value)}: values are data, ${{…}} is not allowed")
    return overrides


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "'\""


class _Known(NamedTuple):
    """The keys that exist: common ones, and those of each chosen method and problem."""

    config: dict[str, Any]
    common: list[str]
    method: dict[str, list[str]]
    problem: dict[str, list[str]]

    @property
    def keys(self) -> list[str]:
        """All of them, in full."""
        return [*self.common, *itertools.chain(*self.method.values(), *self.problem.values())]


def _known(overrides: Mapping[str, list[str]]) -> _Known:
    config = load("config")
    defaults = {group: entry[group] for entry in config.pop("defaults") for group in GROUPS if group in entry}
    chosen = {group: _pick(group, overrides.get(group, [defaults[group]]), options(group)) for group in GROUPS}
    own = {group: {name: _leaves({group: load(f"{group}/{name}")}) for name in chosen[group]} for group in GROUPS}
    return _Known(config, _leaves(config), own["method"], own["problem"])


def _expand(overrides: Mapping[str, list[str]]) -> tuple[dict[str, Any], tuple[Combination, ...], tuple[str, ...]]:
    """The study's own settings, every combination of the others, and the full keys that take several values."""
    known = _known(overrides)
    values: dict[str, list[str]] = {}
    for key, texts in overrides.items():
        if key not in GROUPS:
            full = _resolve(key, known.keys)
            if full in values:
                raise UsageError(f"{_last(key)} is given twice, once as {full}")
            values[full] = list(dict.fromkeys(_canonical(full, key, text) for text in texts))
    study = typed_tree(known.config["study"]) | _pop_study(values)
    _check_growths(values, max(int(text) for text in values.get("iterations", [str(known.config["iterations"])])))

    found = []
    for method, problem in itertools.product(known.method, known.problem):
        here = {*known.common, *known.method[method], *known.problem[problem]}
        applicable = {full: texts for full, texts in values.items() if full in here}
        for cell in itertools.product(*applicable.values()):
            found.append(Combination(method, problem, dict(zip(applicable, cell, strict=True)), study["seeds"]))
    return study, tuple(found), tuple(full for full, texts in values.items() if len(texts) > 1)


def _pop_study(values: dict[str, list[str]]) -> dict[str, Any]:
    """Takes the study's own settings, which do not sweep, out of `values`."""
    study: dict[str, Any] = {}
    for full in [full for full in values if full.startswith("study.")]:
        name, texts = full.removeprefix("study."), values.pop(full)
        if len(texts) > 1:
            hint = "; for some seeds: [3,7]" if name == "seeds" else ""
            raise UsageError(f"{name} takes one value, not {len(texts)}{hint}")
        study[name] = check(name, name, texts[0])
    return study


def _check_growths(values: Mapping[str, list[str]], iterations: int) -> None:
    """A growth function needs a finite value at every step."""
    steps = [*range(1, min(iterations, 10_000) + 1), iterations]
    for full, texts in values.items():
        name = _last(full)
        for function in [growth.parse(text) for text in texts if name in GROWTHS]:
            try:
                for t in steps:
                    function(t)
            except UsageError as error:
                raise UsageError(f"{name}={error}") from None


def _pick(key: str, names: Sequence[str], allowed: Mapping[str, str]) -> list[str]:
    """Names of config files, folded: `A-GP-UCB` is agpucb, `LB` is lb."""
    picked = []
    for name in names:
        folded = name.lower().replace("-", "").replace("_", "").replace(" ", "")
        folded = folded if folded in allowed else folded.removesuffix("gpucb")
        if folded not in allowed:
            known = ", ".join(allowed)
            raise UsageError(f"{key}={printable(name)} is unknown{_hint(name, allowed)}; allowed: {known}")
        picked.append(folded)
    return list(dict.fromkeys(picked))


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The full keys of a configuration's settings."""
    keys = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            keys += _leaves(value, f"{prefix}{key}.")
        elif key != "name":
            keys.append(prefix + key)
    return keys


def _resolve(key: str, full_keys: Sequence[str]) -> str:
    """The full key that a key or its last name stands for."""
    for full in full_keys:
        if key in (full, _last(full)):
            return full
    names = [*GROUPS, "+experiment", *dict.fromkeys(map(_last, full_keys))]
    if _last(key) in CHECKS:
        raise UsageError(f"{printable(key)} is not a setting of what was chosen; allowed here: {', '.join(names)}")
    raise UsageError(f"unknown key '{printable(key)}'{_hint(key, names)}; allowed here: {', '.join(names)}")


def _hint(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f", did you mean '{close[0]}'?" if close else ""


def _canonical(full: str, key: str, text: str) -> str:
    """A checked value as text, in the one way of writing it that its check gives (seeds stay as they were typed)."""
    value = check(_last(full), key, text)
    return text if isinstance(value, tuple) else str(value)
