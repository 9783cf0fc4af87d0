"""Traces on disk: a parquet file per run, or of many runs once they are exported, with a row per evaluation.

A directory of them reads as one table: `pandas.read_parquet("results/traces")`.
"""

import contextlib
import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lbbench.errors import UsageError
from lbbench.plan.checks import printable
from lbbench.records import files, inspection

SCHEMA_VERSION = 1
KEY = b"lbbench"  # of the JSON in a file's metadata
GROUP = 100_000  # rows of many runs that are written together

SCHEMA = pa.schema(
    [
        pa.field("problem", pa.string(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        pa.field("growth", pa.string()),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),  # hash of the settings: the same for every seed
        pa.field("t", pa.int64(), nullable=False),  # 0 and below: initial design
        pa.field("phase", pa.string(), nullable=False),  # "initial" or "search"
        pa.field("x", pa.list_(pa.float64()), nullable=False),  # user units
        pa.field("y", pa.float64(), nullable=False),  # observed, for maximisation
        pa.field("f", pa.float64(), nullable=False),  # without noise
        pa.field("regret", pa.float64(), nullable=False),
        pa.field("simple_regret", pa.float64(), nullable=False),
        pa.field("cumulative_regret", pa.float64(), nullable=False),
        pa.field("lengthscale", pa.float64()),
        pa.field("norm", pa.float64()),
        pa.field("beta", pa.float64()),
        pa.field("sigma", pa.float64()),  # posterior standard deviation at x, in units of y
        pa.field("information_gain", pa.float64()),
        pa.field("candidates", pa.list_(pa.float64())),  # length scales that stood to choose from
        pa.field("eliminated", pa.list_(pa.float64())),  # length scales dropped after this step
        pa.field("jitter", pa.float64()),
        pa.field("divergences", pa.int64()),  # of NUTS
        pa.field("rhat", pa.float64()),
        pa.field("ess", pa.float64()),
        pa.field("suggest_s", pa.float64(), nullable=False),
        pa.field("evaluate_s", pa.float64(), nullable=False),
    ]
)
LARGE = {pa.string(): pa.large_string(), pa.list_(pa.float64()): pa.large_list(pa.float64())}
FINITE = [field.name for field in SCHEMA if field.type == pa.float64() and not field.nullable]
CHECKED = [*inspection.RUN, "t", "lengthscale", *FINITE]  # the columns that no table or figure can do without


def write(path: Path, rows: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> None:
    """Write the trace of one run, of rows that have the columns of `SCHEMA` and may have others."""
    write_table(path, pa.Table.from_pylist(list(rows), schema=SCHEMA), metadata)


def write_table(path: Path, table: pa.Table, metadata: Mapping[str, Any]) -> None:
    """Write a table of `SCHEMA` under its final name only once it is whole and on disk."""
    with files.replacing(path) as file:
        pq.write_table(table.replace_schema_metadata(_stated(metadata)), file, compression="zstd")


def write_tables(path: Path, tables: Iterable[pa.Table], metadata: Mapping[str, Any], **options: Any) -> None:
    """Write tables of `SCHEMA`, at least one, to a file in the same way, with little more than `GROUP` rows in memory.

    `options` are those of `pyarrow.parquet.ParquetWriter`.
    """
    groups = (group.replace_schema_metadata(_stated(metadata)) for group in _groups(tables))
    first = next(groups)
    with files.replacing(path) as file, pq.ParquetWriter(file, first.schema, **options) as writer:
        for group in itertools.chain([first], groups):
            writer.write_table(group)


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in fewer tables, each but the last of `GROUP` rows or more."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= GROUP:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting.clear()
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _stated(metadata: Mapping[str, Any]) -> dict[bytes, bytes]:
    return {KEY: json.dumps({"schema_version": SCHEMA_VERSION, **metadata}, sort_keys=True).encode()}


def read_metadata(path: Path) -> dict[str, Any]:
    """The settings, versions and circumstances of a trace; in an exported file those of all its runs, as `runs`."""
    metadata: dict[str, Any] = json.loads(pq.read_schema(path).metadata[KEY])
    return metadata


def read_runs(path: Path) -> list[dict[str, Any]]:
    """The metadata of each run in a file of traces: the one that `lbbench run` wrote, or all that were exported to it.

    Raises `UsageError` for a file that is no trace, whose rows are not whole, or that is of another version.
    """
    try:
        with path.open("rb") as opened:
            file = pq.ParquetFile(opened)
            content = _content(file.schema_arrow)
            if (version := content["schema_version"]) != SCHEMA_VERSION:
                raise UsageError(f"{path} has traces of version {printable(str(version))}, not {SCHEMA_VERSION}")
            runs = list(content.get("runs", [content]))
            by_key = {inspection.key_of(run): run for run in runs}
            _check_types(file.schema_arrow)
            inspection.check_rows(_columns(file, CHECKED), by_key)
    except (LookupError, TypeError, AttributeError):
        raise UsageError(f"{path} is no trace (its metadata are not lbbench's)") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{path} is no trace ({_reason(error)})") from None
    return runs


def _content(schema: pa.Schema) -> dict[str, Any]:
    """What a file's metadata say. Raises `LookupError` if they are not of lbbench."""
    try:
        content: dict[str, Any] = json.loads((schema.metadata or {})[KEY])
    except ValueError as error:
        raise LookupError from error
    return content


def _check_types(schema: pa.Schema) -> None:
    """Every column is there, and of its type or of the one that holds the same in larger pieces."""
    if not set(SCHEMA.names) <= set(schema.names):
        raise ValueError("columns or settings are missing")
    for field in SCHEMA:
        if schema.field(field.name).type not in (field.type, LARGE.get(field.type)):
            raise ValueError(f"column {field.name} is not of type {field.type}")


def _columns(file: pq.ParquetFile, columns: Sequence[str], groups: Sequence[int] | None = None) -> pa.Table:
    """Some columns of a file, or of some of its row groups, just as `SCHEMA` has them."""
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    groups = range(file.num_row_groups) if groups is None else groups
    found = file.read_row_groups(list(groups), columns=columns, use_threads=False)
    found = found.select(columns).replace_schema_metadata()
    return found if found.schema == schema else found.cast(schema)


def read(paths: Iterable[Path], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Traces as one table, in the order of the paths.

    Raises `UsageError` for a file that is no trace, which is left as it is.
    """
    columns = list(columns or SCHEMA.names)
    tables = []
    for path in paths:
        with _opened(path) as file:
            tables.append(_columns(file, columns))
    frame: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return frame


def read_each(path: Path, keys: Iterable[inspection.Key], columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of some runs in a file, run by run. Of a large file that was exported little is in memory at a time.

    Raises `UsageError` as `read` does.
    """
    needed = list(dict.fromkeys([*inspection.RUN, *columns]))
    with _opened(path) as file:

        @functools.lru_cache(maxsize=1)
        def rows(groups: tuple[int, ...]) -> pa.Table:
            return _columns(file, needed, groups)

        for key in keys:
            found = rows(_groups_with(file.metadata, key))
            own = (pc.equal(found[name], value) for name, value in zip(inspection.RUN, key, strict=True))
            yield found.filter(functools.reduce(pc.and_, own)).select(columns)


def _groups_with(metadata: pq.FileMetaData, key: inspection.Key) -> tuple[int, ...]:
    """The row groups of a file that may have rows of a run, by their statistics."""
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    own = [(places[name], value) for name, value in zip(inspection.RUN, key, strict=True)]

    def may_have(group: pq.RowGroupMetaData) -> bool:
        found = [(group.column(place).statistics, value) for place, value in own]
        return all(s is None or not s.has_min_max or s.min <= value <= s.max for s, value in found)

    return tuple(i for i in range(metadata.num_row_groups) if may_have(metadata.row_group(i)))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with path.open("rb") as file:
            yield pq.ParquetFile(file)
    except (OSError, LookupError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{path} is no trace ({_reason(error)}); move it away") from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
