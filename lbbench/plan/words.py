"""The words of a command line: `key=value,value` arguments as they are typed, and commands to be typed."""

import re
import shlex
from collections.abc import Sequence

from lbbench.errors import UsageError, printable
from lbbench.plan.configs import PYTHON, load
from lbbench.plan.keys import GROUPS, last, resolve


def read(arguments: Sequence[str]) -> dict[str, list[str]]:
    """`key=value,value` arguments as a mapping from keys to their values."""
    overrides: dict[str, list[str]] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or not key:
            raise UsageError(f"'{printable(argument)}' is not of the form key=value, such as method=lb, without spaces")
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


def word(key: str, value: object) -> str:
    """`key=value` as `read` takes it for one value, whatever commas are in it."""
    text = str(value)
    return f"{key}={text}" if split(text) == [text] else f"{key}='{text}'"


def command_line(*words: str) -> str:
    """A command as it is typed in a shell, where `^` and commas need no quotes."""
    return " ".join(word if re.fullmatch(r"[\w.,=^+/-]+", word) else shlex.quote(word) for word in words)


def _targets(group: str, overrides: dict[str, list[str]]) -> list[str]:
    """Takes the targets, which are the names of what is the user's own, out of the overrides."""
    for key in (f"{group}.target", "target"):
        if key in overrides:
            return overrides.pop(key)
    raise UsageError(f"{group}=python needs {group}.target=, such as {group}.target=mypkg.mymodule:name")


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
