"""Rules of which each checks one value as it was typed, and gives it its type. Light to import, as all of plan/."""

import json
import math
import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lbbench import growth
from lbbench.errors import UsageError, printable

Value = str | int | float | bool | tuple[int, ...]
Check = Callable[[str], Value]


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    choices: tuple[str, ...]

    def __call__(self, text: str) -> Value:
        if text.lower() not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        return text.lower()


@dataclass(frozen=True)
class Numbers(Choice):
    """One of some whole numbers."""

    def __call__(self, text: str) -> Value:
        return int(str(super().__call__(text)))


@dataclass(frozen=True)
class Either:
    """A word of its own, or whatever `check` takes."""

    word: str
    check: Check

    @property
    def choices(self) -> tuple[str, ...]:
        """The word, and those of `check`."""
        return self.word, *choices(self.check)

    def __call__(self, text: str) -> Value:
        if text.lower() == self.word:
            return self.word
        try:
            return self.check(text)
        except ValueError as error:
            raise ValueError(f"'{self.word}' or {error}") from None


def choice(*options: str) -> Choice:
    """One of the given words."""
    return Choice(options)


def either(word: str, check: Check) -> Either:
    """A word of its own, or whatever `check` takes."""
    return Either(word, check)


def choices(check: Check) -> tuple[str, ...]:
    """The words that a rule takes, if it takes any."""
    return ("true", "false") if check is boolean else tuple(getattr(check, "choices", ()))


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
        return value + 0.0  # not -0

    return check


def boolean(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def expression(text: str) -> str:
    """A growth function, in its canonical form."""
    return growth.parse(text).text


def path(text: str) -> str:
    """A path on disk."""
    if not text.strip() or not text.isprintable() or "${" in text:
        raise ValueError("a directory")
    if os.path.expanduser(text).startswith("~"):
        raise ValueError("a directory; there is no such user (for a name that begins with ~ write ./~)")
    own = str(Path(text)).startswith("~") and not text.startswith("~")  # ./~, whose point a Path forgets
    return os.path.abspath(text) if own else text


def file(text: str) -> str:
    """A path of a file: relative if it lies in the current directory, and as it was typed if not, but for a ~."""
    found = os.path.expanduser(text)
    if not text.strip() or not text.isprintable() or "${" in text or found.startswith("~"):
        raise ValueError("a file (for a name that begins with ~ write ./~)")
    given, here = Path(found), Path.cwd()
    if given.is_absolute() or ".." in given.parts:
        ways = (given, Path(os.path.realpath(given.parent), given.name))
        given = next(
            (way.relative_to(here) for way in ways if way.is_relative_to(here) and ".." not in way.parts), given
        )
    return f"./{given}" if str(given).startswith("~") else str(given)


def columns(text: str) -> str:
    """Names of columns: `none`, one as it is, or several as `[a,b]`, by the alphabet."""
    listed = words(text).startswith("[") and text.endswith("]")
    inner = text[1:-1] if listed else text
    names = sorted({name.strip() for name in inner.split(",")}) if inner.strip() else ["none"]
    if "" in names:
        raise ValueError("none, the name of a column, or several such as [batch,date]")
    named = listed and inner.strip() and (names[0] == "none" or names[0].startswith("["))
    return names[0] if len(names) == 1 and not named else f"[{','.join(names)}]"


def directory(key: str, text: str) -> Path:
    """The directory that `key=text` gives, which may not be there. Raises `UsageError` if it is a file."""
    found = Path(text).expanduser()
    if found.is_file():
        raise UsageError(f"{key}={printable(text)} is a file")
    return found


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


def version(text: str) -> int | str:
    """A number, or any text of one line."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) else words(text)


def digest(text: str) -> str:
    """A hash as lbbench writes it."""
    if not re.fullmatch(r"[0-9a-f]{10}", text):
        raise ValueError("ten hexadecimal digits")
    return text


def bounds(text: str) -> str:
    """The lowest and the highest value of each input, `[[0,1],[20,80]]`."""
    try:
        ranges = [(float(low) + 0.0, float(high) + 0.0) for low, high in json.loads(text)]
    except (ValueError, TypeError, RecursionError):
        ranges = []
    if not ranges or not all(-math.inf < low < high < math.inf for low, high in ranges):
        raise ValueError("the lowest and highest value of each input, such as [[0,1],[20,80]]")
    return json.dumps(ranges).replace(" ", "")


positive = number("a number above 0", lambda value: value > 0)
lengthscale = number("a number from 1e-6 to 1e6, in unit-cube units", lambda value: 1e-6 <= value <= 1e6)


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
