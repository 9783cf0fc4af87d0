"""Pools of the user's own: tables of measured candidates."""

from __future__ import annotations

import functools
import hashlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lbbench.domain import Array, Pool
from lbbench.errors import UsageError
from lbbench.problems.base import Problem

if TYPE_CHECKING:
    import pandas as pd

ADVICE = "; leave it out by problem.ignore=, or have problem.categories=onehot"


def csv(
    path: str,
    target: str,
    maximize: bool = True,
    ignore: str = "none",
    categories: str = "refuse",
    digest: str = "auto",
    noise_std: float = 0.0,
) -> Problem:
    """A table of candidates as a pool: the column `target` is the objective, the others are the inputs.

    Candidates that were measured several times have the mean of their values; rows without a value are left out. Raises
    `UsageError`, which names the file, if it cannot be such a table.
    """
    for key, value in (("path", path), ("target", target)):
        if value == "none":
            raise UsageError(f"problem=csv needs problem.{key}=, such as problem.path=data.csv problem.target=yield")
    unchanged(path, digest)
    table = read(Path(os.path.expanduser(path)))
    has(path, table, target)
    left_out = ignored(path, table, ignore)
    table = table[table[target].notna()]
    if table.empty:
        raise UsageError(f"{path} has no row with a value of {target}")
    inputs = complete(Path(path), numbers(Path(path), table.drop(columns=[target, *left_out]), categories, ADVICE))
    values = complete(Path(path), numbers(Path(path), table[[target]]))[target]
    means = values.groupby([inputs[name] for name in inputs], sort=False).mean()
    candidates = np.array([np.atleast_1d(key) for key in means.index], dtype=float)
    return tabulated("csv", Pool(candidates), means.to_numpy() * (1.0 if maximize else -1.0), noise_std)


def tabulated(name: str, pool: Pool, values: Array, noise_std: float, lengthscale: float = math.nan) -> Problem:
    """The problem of finding the largest of the values `(m,)` of a pool's candidates, which all differ."""
    index = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(pool.candidates))}

    def evaluate(x: Array) -> Array:
        found: Array = values[[index[row.tobytes()] for row in np.ascontiguousarray(x)]]
        return found

    return Problem(name, pool, evaluate, float(values.max()), noise_std, lengthscale)


def has(path: str, table: pd.DataFrame, *names: str) -> None:
    """Raises `UsageError`, which names the file and its columns, if the table has no column of one of the names."""
    for name in names:
        if name not in table:
            raise UsageError(f"{path} has no column {name}; its columns: {', '.join(map(str, table))}")


def ignored(path: str, table: pd.DataFrame, ignore: str) -> list[str]:
    """The columns that `ignore` names, as `[a,b]`, or none. Raises `UsageError` as `has` does."""
    inner = ignore[1:-1] if ignore.startswith("[") and ignore.endswith("]") else ignore
    names = [] if ignore == "none" else [name.strip() for name in inner.split(",")]
    has(path, table, *names)
    return names


def unchanged(path: str, digest: str) -> str:
    """The digest of a file's content. Raises `UsageError` if another is given than that or "auto"."""
    if digest not in ("auto", found := digest_of(path)):
        raise UsageError(f"{path} has changed: the digest of its content is {found}, not {digest}")
    return found


def digest_of(path: str) -> str:
    """A hash of a file's content. Raises `UsageError` if it cannot be read."""
    try:
        file = os.path.expanduser(path)
        stat = os.stat(file)
        return _digest(file, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


@functools.cache  # for the settings of a sweep, which share it
def _digest(file: str, *version: int) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:10]


def read(path: Path) -> pd.DataFrame:
    """The table in a CSV file. Raises `UsageError`, which names the file, if there is none."""
    import pandas as pd

    try:
        table = pd.read_csv(path, skipinitialspace=True, dtype=str)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is no CSV file: {str(error).strip().partition(chr(10))[0]}") from None
    if table.empty:
        raise UsageError(f"{path} has no rows")
    if not isinstance(table.index, pd.RangeIndex):  # which the first values would be, under no name
        raise UsageError(f"{path}: its rows have more values than its first line has names")
    return table.apply(_numeric)


def _numeric(column: pd.Series) -> pd.Series:
    """The column as floats, to the last bit, if it has numbers alone; missing values are NaN."""
    texts = column.dropna()
    if texts.str.contains("_").any():  # which Python allows in numbers
        return column
    try:
        return texts.astype(float).reindex(column.index)
    except ValueError:
        return column


def numbers(path: Path, table: pd.DataFrame, categories: str = "refuse", advice: str = "") -> pd.DataFrame:
    """The table with columns of floats alone; with `categories` "onehot" others are a column of 0 and 1 per value.

    Raises `UsageError`, which names the file and the column, if that cannot be.
    """
    import pandas as pd

    others = [name for name in table if table[name].dtype.kind not in "iuf"]
    if categories == "onehot":
        table = pd.get_dummies(table, columns=others)
    elif others:
        raise UsageError(f"{path}: the column {others[0]} has values that are no numbers{advice}")
    if not len(table.columns):
        raise UsageError(f"{path} has no column that is an input")
    return table.astype(float)


def complete(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The table. Raises `UsageError`, which names the file and the column, if a value is missing or not finite."""
    for name in table:
        if not np.isfinite(table[name]).all():
            raise UsageError(f"{path}: the column {name} has values that are missing or not finite")
    return table
