"""What each setting may be. Light to import: every usage error is found here, before any heavy library loads."""

import json
import math
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lbbench import growth
from lbbench.errors import UsageError

Value = str | int | float | bool | tuple[int, ...]
Check = Callable[[str], Value]


def choice(*options: str) -> Check:
    """One of the given words."""

    def check(text: str) -> str:
        if text.lower() not in options:
            raise ValueError(f"one of {', '.join(options)}")
        return text.lower()

    return check


def integer(at_least: int = 1, at_most: int = 10**9) -> Check:
    """A whole number in a range."""

    def check(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,10}", text) or not at_least <= int(text) <= at_most:
            raise ValueError(f"a whole number from {at_least}" + (f" to {at_most}" if at_most < 10**9 else " up"))
        return int(text)

    return check


def number(allowed: str, test: Callable[[float], bool]) -> Check:
    """A finite number that passes a test; `allowed` says in words which do."""

    def check(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or not test(value):
            raise ValueError(allowed)
        return value

    return check


def either(word: str, check: Check) -> Check:
    """A word of its own, or whatever `check` takes."""

    def checked(text: str) -> Value:
        if text == word:
            return word
        try:
            return check(text)
        except ValueError as error:
            raise ValueError(f"'{word}' or {error}") from None

    return checked


def boolean(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def expression(text: str) -> str:
    """A growth function, without whitespace."""
    return growth.parse(text).text


def path(text: str) -> str:
    """A path on disk."""
    if not text.strip() or not text.isprintable() or "${" in text:
        raise ValueError("a directory")
    if os.path.expanduser(text).startswith("~"):
        raise ValueError("a directory; there is no such user (for a name that begins with ~ write ./~)")
    return text


def inside(out: Path, key: str, text: str) -> Path:
    """The path that `key=text` gives: below `out`, unless it is absolute and so surely meant.

    A relative one starts from the current directory; `..` and symbolic links are followed. Raises `UsageError` if it
    leads out of `out`, with the absolute path.
    """
    given, real = Path(text).expanduser(), os.path.realpath(os.path.expanduser(text))
    if not given.is_absolute() and not Path(real).is_relative_to(os.path.realpath(out)):
        there = shlex.quote(f"{key}={real}")
        raise UsageError(f"{key}={printable(text)} is not inside out={printable(str(out))}; if it is meant: {there}")
    return given


def seeds(text: str) -> tuple[int, ...]:
    """`10`: 0 to 9; `5-9`: that range; `[3,7]`: those."""
    if re.fullmatch(r"[0-9]{1,6}", text) and int(text) > 0:
        return tuple(range(int(text)))
    if (found := re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)) and 0 <= int(found[2]) - int(found[1]) < 10**6:
        return tuple(range(int(found[1]), int(found[2]) + 1))
    if re.fullmatch(r"\[\s*[0-9]{1,9}(\s*,\s*[0-9]{1,9})*\s*\]", text):
        return tuple(dict.fromkeys(int(seed) for seed in re.findall(r"[0-9]+", text)))
    raise ValueError("a count (10: seeds 0 to 9), a range (5-9) or a list ([3,7])")


def seeds_text(seeds: Sequence[int]) -> str:
    """Seeds as a range or a list, the way `seeds` reads them."""
    consecutive = tuple(seeds) == tuple(range(seeds[0], seeds[0] + len(seeds)))
    return f"{seeds[0]}-{seeds[-1]}" if consecutive else str(list(seeds))


def words(text: str) -> str:
    """Text of one line."""
    if not text.strip() or not text.isprintable():
        raise ValueError("text of one line")
    return text


def address(text: str) -> str:
    """Where a server listens."""
    if not re.fullmatch(r"(tcp|tls|ucx|wss?)://([\w.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}", text):
        raise ValueError("an address such as tcp://host:8786")
    return text


def digest(text: str) -> str:
    """A hash as lbbench writes it."""
    if not re.fullmatch(r"[0-9a-f]{10}", text):
        raise ValueError("ten hexadecimal digits")
    return text


def bounds(text: str) -> str:
    """The lowest and the highest value of each input, `[[0,1],[20,80]]`."""
    try:
        ranges = [(float(low), float(high)) for low, high in json.loads(text)]
    except (ValueError, TypeError, RecursionError):
        ranges = []
    if not ranges or not all(-math.inf < low < high < math.inf for low, high in ranges):
        raise ValueError("the lowest and highest value of each input, such as [[0,1],[20,80]]")
    return json.dumps(ranges).replace(" ", "")


positive = number("a number above 0", lambda value: value > 0)
lengthscale = number("a number from 1e-6 to 1e6, in unit-cube units", lambda value: 1e-6 <= value <= 1e6)

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
    "dim": lambda text: int(str(choice("2", "5", "10")(text))),
    "path": path,
    "target": words,
    "maximize": boolean,
    "ignore": words,
    "categories": choice("refuse", "onehot"),
    "digest": either("auto", digest),
    "bounds": either("none", bounds),
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


def check_by(rule: Check, key: str, text: str) -> Value:
    """The value that a check gives to `key=text`. Raises `UsageError` as `check` does."""
    try:
        return rule(text)
    except ValueError as error:
        raise UsageError(f"{key}={printable(text)}: must be {error}") from None
    except UsageError as error:
        head, _, pointer = str(error).partition("\n")
        indented = f"\n{' ' * len(key + '=')}{pointer}" if pointer else ""
        raise UsageError(f"{key}={head}{indented}") from None


def integer_of(key: str, text: str, at_most: int) -> int:
    """The whole number from 1 that `key=text` gives. Raises `UsageError` as `check` does."""
    return int(str(check_by(integer(at_most=at_most), key, text)))


def typed_tree(tree: Mapping[Any, Any]) -> dict[str, Any]:
    """A configuration with every value checked and of its own type."""
    typed: dict[str, Any] = {}
    for key, value in tree.items():
        if (key in CHECKS or key == "name") == isinstance(value, Mapping):
            raise UsageError(f"{printable(str(key))}: {printable(str(value))} has no place there")
        if isinstance(value, Mapping):
            typed[key] = typed_tree(value)
        else:
            typed[key] = value if key == "name" else check(key, key, str(value))
    return typed


def printable(text: str) -> str:
    """A user's text as it may stand in a one-line message."""
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown if len(shown) <= 80 else shown[:77] + "…"
