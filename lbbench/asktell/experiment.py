"""An experiment that is played from the command line: a directory with its description and its history."""

import contextlib
import fcntl
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lbbench.asktell.optimizer import Optimizer
from lbbench.domain import Array
from lbbench.errors import UsageError, printable
from lbbench.plan.configs import parsed
from lbbench.plan.rules import check_by, integer_of, number
from lbbench.problems import tables
from lbbench.records.files import naming

DESCRIPTION, HISTORY = "experiment.yaml", "history.json"
EXAMPLE = "inputs: {temperature: [20, 80], pressure: [1, 5]}"


class Experiment:
    """What a directory says: the names of the inputs, and the optimizer with all that was asked and told so far."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        file = directory / DESCRIPTION
        described = _described(file)
        try:
            self.names, where = _inputs(directory, described)
            if unknown := {"self", "bounds", "candidates"} & described.keys():
                raise UsageError(f"unknown key '{min(unknown)}'; allowed: inputs or candidates, and settings")
            begun = Optimizer(**where, **described)
        except UsageError as error:
            raise UsageError(f"{file}: {error}") from None
        self.history = directory / HISTORY
        self.optimizer = begun
        if self.history.exists():
            self.optimizer = Optimizer.load(self.history)
            if self.optimizer.about != begun.about:
                raise UsageError(f"{file} has changed since {self.history} was begun; move that away to begin anew")

    def ask(self, count: int) -> list[Array]:
        """The points that are pending, each `(d,)`, once there are at least `count` of them."""
        optimizer = self.optimizer
        while len(optimizer.pending) < count:
            optimizer.ask()
        optimizer.save(self.history)
        return list(optimizer.pending)

    def tell(self, given: Mapping[str, str]) -> tuple[Array, float | None]:
        """Take in `y`, the value of the pending point, of the `point` of that number, or of the inputs that are given.

        `y` "failed" is of a pending point that cannot be evaluated. Returns the point, `(d,)`, and the value.
        """
        allowed = ["y", "point", *self.names]
        for key in given:
            if key not in allowed:
                raise UsageError(f"unknown key '{printable(key)}'; allowed: {', '.join(allowed)}")
        if "y" not in given:
            raise UsageError("y= is missing: the value that was measured, or y=failed")
        x = self._point(given)
        y = None if given["y"] == "failed" else _finite("y", given["y"])
        self.optimizer.tell(x, y)
        self.optimizer.save(self.history)
        return x, y

    def text(self, x: Array) -> str:
        """A point for the user to read, and to give back."""
        spans = np.subtract(*self.optimizer.domain.bounds[::-1])
        return " ".join(
            f"{name}={value:.{_decimals(span)}f}" for name, value, span in zip(self.names, x, spans, strict=True)
        )

    def _point(self, given: Mapping[str, str]) -> Array:
        pending = self.optimizer.pending
        inputs = [name for name in self.names if name in given]
        if inputs and "point" in given:
            raise UsageError("give either point= or the inputs, not both")
        if inputs:
            if missing := [name for name in self.names if name not in given]:
                raise UsageError(f"{', '.join(missing)} is missing: give all inputs, or none for the pending point")
            return np.array([_finite(name, given[name]) for name in self.names])
        if not len(pending):
            raise UsageError(f"no point is pending: give {' '.join(f'{name}=' for name in self.names)} or ask for one")
        if "point" in given:
            return np.array(pending[integer_of("point", given["point"], len(pending)) - 1])
        if len(pending) > 1:
            raise UsageError(f"{len(pending)} points are pending: say which by point=1 to point={len(pending)}")
        return np.array(pending[0])


@contextlib.contextmanager
def opened(directory: Path) -> Iterator[Experiment]:
    """The experiment in a directory, kept from other processes meanwhile.

    Raises `UsageError`, which names the file, if it cannot be one.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"{printable(str(directory))} is no directory of an experiment: {error.strerror}") from None
    try:
        with naming(directory):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Experiment(directory)
    finally:
        with naming(directory):
            os.close(descriptor)


def _described(file: Path) -> dict[str, Any]:
    try:
        content = parsed(file)
    except FileNotFoundError:
        raise UsageError(f"{file} is missing; write it, such as: {EXAMPLE}") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise UsageError(f"{file} must have keys and values, such as: {EXAMPLE}")
    return content


def _inputs(directory: Path, described: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of the inputs, and what they may be, which is taken out of the description."""
    if ("inputs" in described) == ("candidates" in described):
        raise UsageError(f"must have either inputs, such as {EXAMPLE}, or candidates, the name of a CSV file")
    if "inputs" in described:
        inputs = described.pop("inputs")
        if not isinstance(inputs, dict) or not inputs:
            raise UsageError(f"inputs must be names with a lowest and a highest value each, such as {EXAMPLE}")
        return _named(inputs), {"bounds": list(inputs.values())}
    file = directory / str(described.pop("candidates"))
    table = tables.complete(file, tables.numbers(file, tables.read(file)))
    return _named(table.columns), {"candidates": table.to_numpy()}


def _named(names: Any) -> list[str]:
    for name in names:
        if not isinstance(name, str) or not name.isprintable() or not name.strip() or "=" in name:
            raise UsageError(f"{printable(repr(name))} cannot be the name of an input")
        if name in ("y", "point"):
            raise UsageError(f"an input cannot have the name {name}, which is a key of `lbbench tell`")
    return [str(name) for name in names]


def _finite(key: str, text: str) -> float:
    return float(str(check_by(number("a finite number", lambda value: True), key, text)))


def _decimals(span: float) -> int:
    """So many that what is left out is below a millionth of an input's range."""
    return max(0, 6 - math.floor(math.log10(span))) if span > 0 else 6
