"""From overrides such as `method=lb,mle seeds=10` to validated, frozen settings.

`plan` finds every usage error on its own, from the files in configs/ and the table in `checks`; only then does
`compose` load Hydra, which builds one configuration for each combination of what is swept.
"""

import difflib
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lbbench import growth
from lbbench.errors import UsageError
from lbbench.study.checks import CHECKS, Value

GROUPS = ("method", "problem")
GROWTHS = ("g", "b")


@dataclass(frozen=True)
class Settings:
    """All that decides the numbers of a run, but for its seed: the sections of configs/ as plain typed values."""

    tree: Mapping[str, Any]

    def __getitem__(self, section: str) -> Any:
        return self.tree[section]

    @property
    def method(self) -> str:
        return str(self.tree["method"]["name"])

    @property
    def problem(self) -> str:
        return str(self.tree["problem"]["name"])

    @cached_property
    def id(self) -> str:
        """A hash of the settings; the order of keys does not matter."""
        return hashlib.sha256(self.json.encode()).hexdigest()[:10]

    @property
    def json(self) -> str:
        """The settings as canonical JSON."""
        return json.dumps(self.tree, sort_keys=True)


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


def config_dir() -> Path:
    """The directory of configs: inside an installed package, at the top of a checkout."""
    package = Path(__file__).resolve().parents[1]
    for directory in (package / "configs", package.parent / "configs"):
        if (directory / "config.yaml").is_file():
            return directory
    raise UsageError(f"the configs are missing from {package}: install lbbench again")


def options(group: str) -> dict[str, str]:
    """The names of a config group's files, each with the comment in its first line."""
    files = sorted((config_dir() / group).glob("*.yaml"))
    return {file.stem: file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for file in files}


def load(name: str) -> Any:
    """The content of one file in configs/."""
    import yaml

    return yaml.safe_load((config_dir() / f"{name}.yaml").read_text(encoding="utf-8"))


def plan(arguments: Sequence[str]) -> Plan:
    """Read and check overrides.

    Raises `UsageError`, which names the key and what is allowed.
    """
    overrides = _read(arguments)
    preset = overrides.pop("+experiment", None)
    sweeps = [overrides]
    if preset:
        name = _pick("+experiment", preset, options("experiment"))[0]
        sweeps = [_read(line.split()) | overrides for line in load(f"experiment/{name}")]
    combinations: dict[str, Combination] = {}
    swept: dict[str, None] = {}
    study: dict[str, Any] = {}
    for sweep in sweeps:
        study, found = _expand(sweep, swept)
        for combination in found:
            combinations.setdefault(repr(combination), combination)
    return Plan(tuple(combinations.values()), study, tuple(swept))


def compose(combination: Combination) -> Settings:
    """The settings of one combination, composed by Hydra from configs/."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    groups = [f"method={combination.method}", f"problem={combination.problem}"]
    values = [f"{key}={_quote(value)}" for key, value in combination.values.items()]
    with initialize_config_dir(str(config_dir()), version_base="1.3", job_name="lbbench"):
        tree = OmegaConf.to_container(hydra_compose("config", groups + values), resolve=True)
    assert isinstance(tree, dict)
    del tree["study"]
    return Settings(_typed(tree))


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


def _quote(value: str) -> str:
    """A value as a quoted Hydra string: an unquoted one may not hold `^`, a parenthesis or a comma."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _read(arguments: Sequence[str]) -> dict[str, list[str]]:
    """`key=value,value` arguments as a mapping from keys to their values."""
    overrides: dict[str, list[str]] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or not key:
            raise UsageError(f"'{_printable(argument)}' is not of the form key=value, such as method=lb")
        if key in overrides:
            raise UsageError(f"{key} is given twice; to sweep, separate values by commas: {key}=…,…")
        values = split(text)
        if len(values) > 1 and len(set(values)) < len(values):
            values = list(dict.fromkeys(values))
        overrides[key] = [value[1:-1] if _is_quoted(value) else value for value in values]
        for value in overrides[key]:
            if not value:
                raise UsageError(f"{key}= has an empty value")
            if "${" in value:
                raise UsageError(f"{key}={_printable(value)}: values are data, ${{…}} is not allowed")
    return overrides


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "'\""


def _expand(
    overrides: Mapping[str, list[str]], swept: dict[str, None]
) -> tuple[dict[str, Any], list[Combination]]:
    """The study's own settings, and every combination of the others. Adds the keys that vary to `swept`."""
    config = load("config")
    defaults = {key: value for entry in config.pop("defaults") if isinstance(entry, dict) for key, value in entry.items()}
    chosen = {group: _pick(group, overrides.get(group, [defaults[group]]), options(group)) for group in GROUPS}
    known = {group: {name: _leaves({group: load(f"{group}/{name}")}) for name in chosen[group]} for group in GROUPS}
    common = _leaves(config)
    everywhere = [key for leaves in (common, *known["method"].values(), *known["problem"].values()) for key in leaves]

    values: dict[str, list[str]] = {}
    for key, texts in overrides.items():
        if key not in GROUPS:
            full = _resolve(key, everywhere)
            if full in values:
                raise UsageError(f"{key} is given twice, once as {full}")
            values[full] = [_canonical(full, key, text) for text in texts]
    study = _typed(config["study"])
    for full in [full for full in values if full.startswith("study.")]:
        texts = values.pop(full)
        name = full.removeprefix("study.")
        if len(texts) > 1:
            raise UsageError(f"{name} takes one value, not {len(texts)}" + (", such as [3,7]" if name == "seeds" else ""))
        study[name] = _check(name, name, texts[0])
    _check_growths(values, int(values.get("iterations", [str(config["iterations"])])[-1]))
    swept.update({full: None for full, texts in values.items() if len(texts) > 1})

    found = []
    for method, problem in itertools.product(chosen["method"], chosen["problem"]):
        here = {*common, *known["method"][method], *known["problem"][problem]}
        applicable = {full: texts for full, texts in values.items() if full in here}
        for cell in itertools.product(*applicable.values()):
            found.append(Combination(method, problem, dict(zip(applicable, cell, strict=True)), study["seeds"]))
    return study, found


def _check_growths(values: Mapping[str, list[str]], iterations: int) -> None:
    """A growth function needs a finite value at every step."""
    for full, texts in values.items():
        if full.rpartition(".")[2] in GROWTHS:
            for text in texts:
                function = growth.parse(text)
                for t in itertools.chain(range(1, min(iterations, 10_000) + 1), [iterations]):
                    try:
                        function(t)
                    except UsageError as error:
                        raise UsageError(f"{full.rpartition('.')[2]}={error}") from None


def _pick(key: str, names: Sequence[str], allowed: Mapping[str, str]) -> list[str]:
    """Names of config files, folded: `A-GP-UCB` is agpucb, `LB` is lb."""
    picked = []
    for name in names:
        folded = name.lower().replace("-", "").replace("_", "").replace(" ", "")
        folded = folded if folded in allowed else folded.removesuffix("gpucb")
        if folded not in allowed:
            raise UsageError(f"{key}={_printable(name)} is unknown{_hint(name, allowed)}; allowed: {', '.join(allowed)}")
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
        if key in (full, full.rpartition(".")[2]):
            return full
    names = [*GROUPS, *dict.fromkeys(full.rpartition(".")[2] for full in full_keys)]
    if key.rpartition(".")[2] in CHECKS:
        raise UsageError(f"{key} is not a setting of what was chosen; allowed here: {', '.join(names)}")
    raise UsageError(f"unknown key '{_printable(key)}'{_hint(key, names)}; allowed here: {', '.join(names)}")


def _hint(word: str, known: Iterator[str] | Sequence[str] | Mapping[str, str]) -> str:
    close = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f", did you mean '{close[0]}'?" if close else ""


def _check(name: str, key: str, text: str) -> Value:
    try:
        return CHECKS[name](text)
    except ValueError as error:
        raise UsageError(f"{key}={_printable(text)}: must be {error}") from None
    except UsageError as error:
        head, _, pointer = str(error).partition("\n")
        indented = f"\n{' ' * len(key + '=')}{pointer}" if pointer else ""
        raise UsageError(f"{key}={head}{indented}") from None


def _canonical(full: str, key: str, text: str) -> str:
    """A checked value as text, in the one way of writing it that its check gives (seeds stay as they were typed)."""
    value = _check(full.rpartition(".")[2], key, text)
    return text if isinstance(value, tuple) else str(value)


def _typed(tree: Mapping[Any, Any]) -> dict[str, Any]:
    """A configuration with every value checked and of its own type."""
    typed: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            typed[key] = _typed(value)
        else:
            typed[key] = value if key == "name" else _check(key, key, str(value))
    return typed


def _printable(text: str) -> str:
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown if len(shown) <= 80 else shown[:77] + "…"
