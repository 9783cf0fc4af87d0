"""What the rows of a trace are, for each kind of study."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lbbench.plan import registry
from lbbench.plan.kinds import KINDS

RUN = ["problem", "method", "run_id", "seed"]  # the columns that tell a run from every other
FIRST = [  # the columns that those of every kind begin with
    pa.field("problem", pa.string(), nullable=False),
    pa.field("method", pa.string(), nullable=False),
    pa.field("growth", pa.string()),
    pa.field("seed", pa.int64(), nullable=False),
    pa.field("run_id", pa.string(), nullable=False),  # hash of the settings: the same for every seed
    pa.field("t", pa.int64(), nullable=False),  # 0 and below: before the first step
]


@dataclass(frozen=True)
class Row:
    """The columns of the traces of one kind of study, and what must hold of them."""

    schema: pa.Schema
    settings: tuple[str, ...]  # full keys that every run has
    checked: tuple[str, ...]  # columns, beside those that tell runs and steps apart, that `check` is given
    check: Callable[[pa.Table, bool], None]  # raises `ValueError` for rows, maybe thinned, that cannot be relied on
    seconds: tuple[str, ...]  # columns that add up to what a run took
    result: Callable[[Mapping[str, Any]], str]  # what a run came to, by its last row; nothing if that is not known
    thinnable: Mapping[str, str]  # columns without which a run cannot be thinned, and what it means if they are NaN


def row_of(kind: str) -> Row:
    """The rows of a kind of study. Raises `LookupError` if there is no such kind."""
    row: Row = registry.find(KINDS[kind].row)
    return row
