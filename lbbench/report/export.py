"""Many traces in a few compact files, to be kept or passed on."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lbbench.errors import UsageError, printable
from lbbench.plan.rules import seeds_text
from lbbench.plan.settings import Composer
from lbbench.plan.sweeps import plan
from lbbench.plan.words import command_line
from lbbench.progress import watched
from lbbench.records import thinning, traces
from lbbench.records.files import replacing
from lbbench.records.inspection import Key
from lbbench.records.rows import row_of
from lbbench.report.collection import TOTAL, Collection, Trace
from lbbench.report.tables import Table, comma_separated
from lbbench.report.variants import Variant

# Few values of a trace come twice, so that dictionaries only get in the way of the compression.
COMPACT = {"compression": "zstd", "compression_level": 19, "use_dictionary": False}


def runs_of_preset(collection: Collection, overrides: Sequence[str]) -> Collection:
    """Of a collection, the runs that `lbbench run` makes of some overrides. Raises `UsageError` if one is missing."""
    asked = plan(overrides).combinations
    looked = watched(asked, f"planning {len(asked):,} settings")
    compose = Composer()
    combinations = [(compose(combination), combination.seeds) for combination in looked]
    keys = {(one.problem, one.method, one.id, seed) for one, seeds in combinations for seed in seeds}
    found = collection.only(keys)
    if missing := len(keys) - len(found.traces):
        command = command_line("lbbench", "run", *overrides)
        raise UsageError(f"{missing} of {len(keys)} runs are missing; make them: {command}")
    return found


def export(collection: Collection, to: Path, force: bool = False, thin: int | None = None) -> list[Path]:
    """Write the runs of a collection, which is not empty, below `to`; returns the files.

    `traces/<problem>.parquet` holds a problem's runs, with their metadata under the key "runs"; `settings.csv` has a
    row per variant. With `thin`, of each run the design, so many steps per decade, and the last. An earlier export
    there is replaced. Raises `UsageError` if there is anything else, or runs or rows that this export lacks, unless
    `force` drops them; or if a run cannot be thinned.
    """
    earlier = _earlier(to)
    there = Collection.of_files(earlier)
    if there.unreadable and not force:
        raise UsageError(f"{there.unreadable[0]}; force=true replaces it")
    metadata = _metadata(collection, thin)
    if (lost := _lost(there, metadata)) and not force:
        raise UsageError(f"to={printable(str(to))} holds {lost} that this lacks; force=true drops them")
    files = []
    problems = dict.fromkeys(variant.settings.problem for variant in collection.variants)
    for problem in watched(problems, f"writing {len(problems):,} problems"):
        variants = [variant for variant in collection.variants if variant.settings.problem == problem]
        runs = [metadata[trace.key] for trace in collection.of(variants)]
        rows = (_kept(trace, rows, thin) for trace, rows in collection.each(variants))
        files.append(to / "traces" / f"{problem.replace('/', '_')}.parquet")
        traces.write_tables(files[-1], rows, {"runs": runs}, **COMPACT)
    for stale in set(earlier) - set(files):
        stale.unlink()
    settings = to / "settings.csv"
    with replacing(settings) as file:
        file.write("\n".join([*comma_separated(_settings(collection.variants)), ""]).encode())
    return [*files, settings]


def _metadata(collection: Collection, thin: int | None) -> dict[Key, dict[str, Any]]:
    """What is written of each run beside its rows. Raises `UsageError` if one cannot be thinned."""
    found = {trace.key: {**trace.metadata} for trace in collection.traces}
    for metadata in found.values():
        metadata.pop("schema_version", None)
    if thin is not None:
        for trace, rows in _told(collection):
            name = f"{trace.settings.method} on {trace.settings.problem}"
            for column, reason in row_of(trace.settings.kind).thinnable.items():
                if pc.any(pc.is_nan(rows[column])).as_py():
                    raise UsageError(f"thin={thin}: {name} needs all rows, since {reason}")
            if not thinning.holds(trace.thin, thin, trace.settings["iterations"]):
                raise UsageError(f"thin={thin}: of {name} there are {trace.thin} steps per decade, not all of these")
            found[trace.key] |= {"thin": thin, TOTAL: trace.seconds(rows)}
    return found


def _told(collection: Collection) -> Iterator[tuple[Trace, pa.Table]]:
    """Each run, with the columns that tell whether it can be thinned, and its seconds."""
    for kind in collection.kinds:
        own, row = collection.of_kind(kind), row_of(kind)
        yield from own.each(own.variants, [*row.thinnable, *row.seconds])


def _kept(trace: Trace, rows: pa.Table, thin: int | None) -> pa.Table:
    """The rows of a run that are written."""
    if thin is None:
        return rows
    steps = thinning.steps(trace.settings["iterations"], thin)
    return rows.filter(pa.array(thinning.keeps(rows["t"].to_numpy(), steps)))


def _lost(there: Collection, metadata: Mapping[Key, Mapping[str, Any]]) -> str:
    """What an earlier export holds, and one with such metadata does not: runs, or rows of runs."""
    if runs := {trace.key for trace in there.traces} - metadata.keys():
        return f"{len(runs)} runs"
    rows = [
        trace.key
        for trace in there.traces
        if not thinning.holds(metadata[trace.key].get("thin"), trace.thin, trace.settings["iterations"])
    ]
    return f"rows of {len(rows)} runs" if rows else ""


def _earlier(to: Path) -> list[Path]:
    """The trace files of an earlier export below `to`."""
    if to.exists() and not to.is_dir():
        raise UsageError(f"to={printable(str(to))} is a file")
    there = [path for path in sorted(to.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    files = [path for path in there if path.parent == to / "traces" and path.suffix == ".parquet"]
    foreign = [path for path in files if not _is_export(path)] if files else there
    foreign += sorted(set((to / "traces").rglob("*.parquet")) - set(files))
    if foreign:
        raise UsageError(
            f"{foreign[0]} is not from an export, or damaged; choose another directory with to=, or move it away"
        )
    return files


def _is_export(path: Path) -> bool:
    try:
        return "runs" in traces.read_metadata(path)
    except (OSError, LookupError, TypeError, ValueError, pa.ArrowException):
        return False


def _settings(variants: Sequence[Variant]) -> Table:
    """A row per variant and a column per setting, empty where the variant has no such setting."""
    flat = [variant.settings.flat for variant in variants]
    names = list(dict.fromkeys(name for settings in flat for name in settings))
    rows = [
        (*v.key, seeds_text(v.seeds), *(str(settings.get(name, "")) for name in names))
        for v, settings in zip(variants, flat, strict=True)
    ]
    return Table(("problem", "method", "run_id", "seeds", *names), rows)
