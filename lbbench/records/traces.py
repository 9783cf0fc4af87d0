"""Traces on disk: a parquet file per run, or of many runs once they are exported, with a row per evaluation.

A directory of them reads as one table: `pandas.read_parquet("results/traces")`.
"""

import contextlib
import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lbbench.errors import UsageError, printable
from lbbench.plan.settings import Settings
from lbbench.records import files, inspection
from lbbench.records.rows import RUN, Row, row_of

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
KEY = b"lbbench"  # of the JSON in a file's metadata
GROUP = 100_000  # rows of many runs that are written together

LARGE = {pa.string(): pa.large_string(), pa.list_(pa.float64()): pa.large_list(pa.float64())}


def write(path: Path, rows: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> None:
    """Write the trace of one run, of rows that have the columns of its kind and may have others."""
    schema = row_of(Settings(metadata["settings"]).kind).schema
    write_table(path, pa.Table.from_pylist(list(rows), schema=schema), metadata)


def write_table(path: Path, table: pa.Table, metadata: Mapping[str, Any]) -> None:
    """Write a table under its final name only once it is whole and on disk."""
    with files.replacing(path) as file:
        pq.write_table(table.replace_schema_metadata(_stated(metadata)), file, compression="zstd")


def write_tables(path: Path, tables: Iterable[pa.Table], metadata: Mapping[str, Any], **options: Any) -> None:
    """Write tables of one schema, at least one, in the same way, with little more than `GROUP` rows in memory.

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
            row = _row(content)
            _check_types(file.schema_arrow, row.schema)
            inspection.check_rows(_columns(file, row.schema, [*RUN, "t", *row.checked]), by_key, row)
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


def _row(content: Mapping[str, Any]) -> Row:
    """The kind of rows that a file has, by its metadata. Raises `LookupError` if it is unknown."""
    first = next(iter(content.get("runs", [content])))
    return row_of(Settings(first["settings"]).kind)


def _check_types(found: pa.Schema, schema: pa.Schema) -> None:
    """Every column is there, and of its type or of the one that holds the same in larger pieces."""
    if not set(schema.names) <= set(found.names):
        raise ValueError("columns or settings are missing")
    for field in schema:
        if found.field(field.name).type not in (field.type, LARGE.get(field.type)):
            raise ValueError(f"column {field.name} is not of type {field.type}")


def _columns(
    file: pq.ParquetFile, schema: pa.Schema, columns: Sequence[str], groups: Sequence[int] | None = None
) -> pa.Table:
    """Some columns of a file, or of some of its row groups, just as the schema has them."""
    own = pa.schema([schema.field(name) for name in columns])
    groups = range(file.num_row_groups) if groups is None else groups
    found = file.read_row_groups(list(groups), columns=columns, use_threads=False)
    found = found.select(columns).replace_schema_metadata()
    return found if found.schema == own else found.cast(own)


def read(paths: Iterable[Path], columns: Sequence[str] | None = None) -> "pd.DataFrame":
    """Traces as one table, in the order of the paths.

    Raises `UsageError` for a file that is no trace, which is left as it is.
    """
    tables = []
    for path in paths:
        with _opened(path) as (file, schema):
            tables.append(_columns(file, schema, list(columns or schema.names)))
    frame: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return frame


def read_each(path: Path, keys: Iterable[inspection.Key], columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The rows of some runs in a file, run by run. Of a large file that was exported little is in memory at a time.

    Raises `UsageError` as `read` does.
    """
    with _opened(path) as (file, schema):
        columns = columns or schema.names
        needed = list(dict.fromkeys([*RUN, *columns]))

        @functools.lru_cache(maxsize=1)
        def rows(groups: tuple[int, ...]) -> pa.Table:
            return _columns(file, schema, needed, groups)

        for key in keys:
            found = rows(_groups_with(file.metadata, key))
            own = (pc.equal(found[name], value) for name, value in zip(RUN, key, strict=True))
            yield found.filter(functools.reduce(pc.and_, own)).select(columns)


def _groups_with(metadata: pq.FileMetaData, key: inspection.Key) -> tuple[int, ...]:
    """The row groups of a file that may have rows of a run, by their statistics."""
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    own = [(places[name], value) for name, value in zip(RUN, key, strict=True)]

    def may_have(group: pq.RowGroupMetaData) -> bool:
        found = [(group.column(place).statistics, value) for place, value in own]
        return all(s is None or not s.has_min_max or s.min <= value <= s.max for s, value in found)

    return tuple(i for i in range(metadata.num_row_groups) if may_have(metadata.row_group(i)))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[pq.ParquetFile, pa.Schema]]:
    """A file of traces, and the schema that its kind has."""
    try:
        with path.open("rb") as opened:
            file = pq.ParquetFile(opened)
            yield file, _row(_content(file.schema_arrow)).schema
    except (OSError, LookupError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{path} is no trace ({_reason(error)}); move it away") from None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
