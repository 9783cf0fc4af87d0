"""The tables that only the report has: times and memory, coverage, settings, provenance, and the commands to run."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from lbbench.errors import UsageError
from lbbench.plan.rules import seeds_text
from lbbench.plan.settings import Settings, defaults
from lbbench.plan.words import command_line, word
from lbbench.progress import watched
from lbbench.records import files
from lbbench.records.failures import about
from lbbench.report import naming, style
from lbbench.report.collection import Collection
from lbbench.report.stats import final
from lbbench.report.tables import Cell, Estimate, Table, filled
from lbbench.report.variants import Variant, variant_of

SIGNIFICANT = 0.05
THINNED = "no quantiles, since of thinned runs not all steps are there"
NOT_KNOWN = {
    "s/run": "no seconds, which these traces do not tell",
    "ms/step, median": THINNED,
    "ms/step, 95 %": THINNED,
    "peak memory in MB": "no peak memory, which these traces do not tell",
}
MACHINE = ("commit", "cpu", "platform", "threads")

Labels = Mapping[str, str]  # of a variant, by its run_id
Place = tuple[int, int]  # row and column of a cell


def lowest(table: Table) -> set[Place]:
    """Where the lowest means stand, of each column of estimates and each text in the first column."""
    means: dict[tuple[Cell, int], list[tuple[float, Place]]] = defaultdict(list)
    for i, row in enumerate(table.rows):
        for j, cell in enumerate(row):
            if isinstance(cell, Estimate):
                means[row[0], j].append((cell.mean, (i, j)))
    return {place for own in means.values() for mean, place in own if mean == min(own)[0]}


def significant(table: Table) -> set[Place]:
    """Where the last column has a p-value below `SIGNIFICANT`."""
    column = len(table.header) - 1
    return {(i, column) for i, row in enumerate(table.rows) if float(str(row[column])) < SIGNIFICANT}


def times(collection: Collection, frame: pd.DataFrame, labels: Labels) -> Table:
    """Seconds per run, milliseconds per suggestion, and the largest peak memory of a worker, for each variant.

    Thinned runs have no milliseconds, since early steps, of which more are kept, are quicker than others.
    """
    seconds = final(frame).groupby("run_id")["seconds"].mean()
    rows: list[tuple[Cell, ...]] = []
    for variant in watched(collection.variants, f"timing {len(collection.variants):,} settings"):
        suggest = _suggested(collection, variant)
        times = (float(seconds[variant.run_id]), 1e3 * suggest.median(), 1e3 * float(suggest.quantile(0.95)))
        memory = max(float(trace.metadata.get("peak_memory_mb", math.nan)) for trace in collection.of([variant]))
        rows.append((variant.problem, labels[variant.run_id], *times, memory))
    header = ("problem", "method", "s/run", "ms/step, median", "ms/step, 95 %", "peak memory in MB")
    note = "mean seconds per run; quantiles over all its steps; peak memory of the worker, which may play many runs"
    return filled(Table(header, rows, note=note), NOT_KNOWN)


def _suggested(collection: Collection, variant: Variant) -> pd.Series:
    """The seconds of every suggestion after the design; NaN alone if the variant's runs are thinned."""
    runs = (rows for _, rows in collection.each(collection.whole([variant]), ["t", "suggest_s"]))
    steps = [rows.filter(pc.greater(rows["t"], 0))["suggest_s"].to_numpy() for rows in runs]
    return pd.Series(np.concatenate(steps) if steps else [math.nan])


def coverage(variants: Sequence[Variant], labels: Labels) -> Table:
    """How many seeds each label has on each problem, and which it lacks of those that the problem has in all."""
    everything: dict[str, set[int]] = defaultdict(set)
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for variant in sorted(variants, key=lambda variant: style.order(variant.method)):
        everything[variant.problem].update(variant.seeds)
        found[labels[variant.run_id], variant.problem].update(variant.seeds)
    names, problems = dict.fromkeys(label for label, _ in found), sorted(everything)
    rows = [[name, *(_covered(found[name, problem], everything[problem]) for problem in problems)] for name in names]
    return Table(("method", *problems), rows, note="seeds at hand, and those missing that others have on the problem")


def _covered(seeds: set[int], everything: set[int]) -> Cell:
    if not seeds or seeds == everything:
        return len(seeds) or ""
    missing = sorted(everything - seeds)
    return f"{len(seeds)} of {len(everything)}, without {seeds_text(missing) if len(missing) > 1 else missing[0]}"


def settings(variant: Variant) -> Table:
    """All settings of a variant, with the usual value of each that is another."""
    usual = defaults(variant.method, variant.settings.problem)
    rows = [
        (key, str(value), str(usual.get(key)) if key in variant.changed else "")
        for key, value in variant.settings.flat.items()
    ]
    note = f"the hash of these settings, run_id, is {variant.run_id}"
    return filled(Table(("setting", "value", "default, if another"), rows, note=note))


def failures(out: Path, collection: Collection) -> tuple[Table, list[str]]:
    """The runs below `<out>/failures` that failed, and a message for each file there that tells of none.

    Problems are called as beside the runs of the collection.
    """
    found, unreadable = [], []
    paths = files.below(out / "failures", ".json")
    for path in watched(paths, f"reading {len(paths):,} failures"):
        try:
            found.append(about(path))
        except UsageError as error:
            unreadable.append(str(error))
    names = naming.names(
        [trace.settings for trace in collection.everything] + [Settings(content["settings"]) for content in found]
    )
    rows: list[tuple[Cell, ...]] = []
    for content in found:
        own = variant_of(Settings(content["settings"]), [content["seed"]], names)
        step = "" if content["t"] is None else content["t"]
        rows.append((own.problem, own.label(), content["seed"], content["status"], step, content["error"]))
    header = ("problem", "method", "seed", "status", "step", "error")
    return filled(Table(header, rows, note="runs that did not end")), unreadable


def provenance(metadata: Sequence[Mapping[str, Any]]) -> Table:
    """What the runs were made with and on: each that there was, and of how many runs."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for run in metadata:
        for key in MACHINE:
            if told := run.get(key):
                counts[key, str(told)] += 1
        for package, version in run.get("versions", {}).items():
            counts[package, str(version)] += 1
    rows = sorted(((*what, n) for what, n in counts.items()), key=lambda row: (row[0] not in MACHINE, row))
    return Table(("what", "which", "runs"), rows, note="what the runs were made with; + is a commit with changes")


def commands(variants: Sequence[Variant]) -> Iterator[str]:
    """The command lines that make the runs of the variants, and no others."""
    methods: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for variant in variants:
        line = (f"seeds={seeds_text(variant.seeds)}", *(word(key, value) for key, value in variant.changed.items()))
        methods.setdefault(line, {}).setdefault(variant.settings.problem, []).append(variant.method)
    for line, by_problem in methods.items():
        problems: dict[tuple[str, ...], list[str]] = {}
        for problem, names in by_problem.items():
            problems.setdefault(tuple(names), []).append(problem)
        for same, here in problems.items():
            yield command_line("lbbench", "run", f"method={','.join(same)}", f"problem={','.join(here)}", *line)
