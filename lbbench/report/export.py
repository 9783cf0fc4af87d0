"""Many traces in a few compact files, to be kept or passed on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lbbench.errors import UsageError
from lbbench.report.collection import Collection
from lbbench.report.selection import command_line
from lbbench.report.tables import Table, comma_separated
from lbbench.report.variants import Variant
from lbbench.study import traces
from lbbench.study.checks import printable, seeds_text
from lbbench.study.overrides import plan
from lbbench.study.settings import compose

# Few values of a trace come twice, so that dictionaries only get in the way of the compression.
COMPACT = {"compression": "zstd", "compression_level": 19, "use_dictionary": False}


def runs_of_preset(collection: Collection, overrides: Sequence[str]) -> Collection:
    """Of a collection, the runs that `lbbench run` makes of some overrides. Raises `UsageError` if one is missing."""
    combinations = [(compose(combination), combination.seeds) for combination in plan(overrides).combinations]
    keys = {(one.problem, one.method, one.id, seed) for one, seeds in combinations for seed in seeds}
    found = collection.only(keys)
    if missing := len(keys) - len(found.traces):
        command = command_line("lbbench", "run", *overrides)
        raise UsageError(f"{missing} of {len(keys)} runs are missing; make them: {command}")
    return found


def export(collection: Collection, to: Path, force: bool = False) -> list[Path]:
    """Write the runs of a collection, which is not empty, below `to`; returns the files.

    `traces/<problem>.parquet` holds a problem's runs, with their metadata under the key "runs"; `settings.csv` has a
    row per variant. An earlier export there is replaced. Raises `UsageError` if there is anything else, or runs that
    this export lacks, unless `force` drops them.
    """
    earlier = _earlier(to)
    there = Collection.of_files(earlier)
    if there.unreadable and not force:
        raise UsageError(f"{there.unreadable[0]}; force=true replaces it")
    lost = {trace.key for trace in there.traces} - {trace.key for trace in collection.traces}
    if lost and not force:
        raise UsageError(f"to={printable(str(to))} holds {len(lost)} runs that this lacks; force=true drops them")
    files = []
    for problem in dict.fromkeys(variant.problem for variant in collection.variants):
        variants = [variant for variant in collection.variants if variant.problem == problem]
        runs = [_without_version(trace.metadata) for trace in collection.of(variants)]
        files.append(to / "traces" / f"{problem.replace('/', '_')}.parquet")
        traces.write_table(files[-1], collection.table(variants), {"runs": runs}, **COMPACT)
    for stale in set(earlier) - set(files):
        stale.unlink()
    settings = to / "settings.csv"
    settings.write_text("\n".join([*comma_separated(_settings(collection.variants)), ""]), encoding="utf-8")
    return [*files, settings]


def _without_version(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key != "schema_version"}


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
        (v.problem, v.method, v.run_id, seeds_text(v.seeds), *(str(settings.get(name, "")) for name in names))
        for v, settings in zip(variants, flat, strict=True)
    ]
    return Table(("problem", "method", "run_id", "seeds", *names), rows)
