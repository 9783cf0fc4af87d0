"""One thing that was looked at."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lbbench.errors import UsageError


@dataclass(frozen=True)
class Check:
    """One thing looked at, what was found, and what to do about it if that is a problem."""

    name: str
    found: str
    advice: str = ""


def faults(looks: Mapping[str, Callable[[], Any]]) -> Iterator[tuple[str, str]]:
    """The names of those that raise an error, with what it says."""
    for name, look in looks.items():
        try:
            look()
        except Exception as error:
            yield name, message(error)


def message(error: Exception) -> str:
    """The first line of an error, with its type unless it is meant for a user."""
    text = str(error).strip().partition("\n")[0]
    return text if isinstance(error, UsageError) else f"{type(error).__name__}: {text}"
