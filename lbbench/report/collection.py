"""The traces at hand, and which of them belong together."""

import functools
import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lbbench.errors import UsageError
from lbbench.plan.settings import Settings
from lbbench.progress import watched
from lbbench.records import files, thinning, traces
from lbbench.records.inspection import Key
from lbbench.records.optimising import REGRETS, SCHEMA
from lbbench.records.rows import RUN, row_of
from lbbench.report import naming, style
from lbbench.report.choosing import is_wanted, nearest
from lbbench.report.naming import Name
from lbbench.report.stats import best_values, with_regrets
from lbbench.report.variants import Variant, VariantKey, variant_of

TOTAL = "total_s"  # the column, and key of metadata, that has the seconds of a whole run


@dataclass(frozen=True)
class Trace:
    """One run at hand: the file that holds its rows, and its metadata."""

    path: Path
    settings: Settings
    seed: int
    metadata: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """What tells it from every other run."""
        return self.settings.problem, self.settings.method, self.settings.id, self.seed

    @property
    def thin(self) -> int | None:
        """How many steps per decade its file holds; None if all."""
        thin: int | None = self.metadata.get("thin")
        return thin

    def seconds(self, rows: pa.Table) -> float:
        """What the whole run took, from all rows in its file; NaN if these are but some and the metadata do not say."""
        if self.thin is not None:
            return float(self.metadata.get(TOTAL, math.nan))
        return math.fsum(pc.sum(rows[name]).as_py() for name in row_of(self.settings.kind).seconds)


@dataclass(frozen=True)
class Collection:
    """The runs below an output directory that were asked for, as variants."""

    variants: list[Variant]
    unreadable: list[str]  # one message, with its path, per file that is no trace
    traces: list[Trace] = field(repr=False)
    everything: list[Trace] = field(default_factory=list, repr=False)  # also the runs that were not asked for

    @classmethod
    def at(cls, out: Path, wanted: Mapping[str, Sequence[str]] | None = None) -> "Collection":
        """The traces below `<out>/traces`, which may be missing.

        `wanted` keeps runs by problem, method, seeds and the last names of settings, whose values are given as text. A
        run that has no such setting is kept, as a key of `lbbench run` leaves alone what has no such key.
        """
        return cls.of_files(files.below(out / "traces", ".parquet"), wanted)

    @classmethod
    def of_files(cls, paths: Iterable[Path], wanted: Mapping[str, Sequence[str]] | None = None) -> "Collection":
        """The traces in some files."""
        everything = []
        unreadable = []
        paths = list(paths)
        for path in watched(paths, f"reading {len(paths):,} traces"):
            try:
                for metadata in traces.read_runs(path):
                    everything.append(Trace(path, Settings(metadata["settings"]), metadata["seed"], metadata))
            except UsageError as error:
                unreadable.append(str(error))
        found: dict[Key, Trace] = {}
        for trace in sorted(everything, key=lambda trace: trace.thin is not None):  # all rows rather than some
            if is_wanted(trace.settings, trace.seed, wanted or {}):
                found.setdefault(trace.key, trace)
        names = naming.names(trace.settings for trace in everything)
        return cls(_variants(list(found.values()), names), unreadable, list(found.values()), everything)

    def __bool__(self) -> bool:
        return bool(self.variants)

    @property
    def metadata(self) -> list[Mapping[str, Any]]:
        """The metadata of each run: settings, seed, versions, commit, processor, wall time, memory."""
        return [trace.metadata for trace in self.traces]

    def usual(self, settings: Sequence[str] = ()) -> list[Variant]:
        """For each problem and method the variant nearest to the defaults, as `choosing.nearest` has it."""
        return nearest(self.variants, settings)

    def of(self, variants: Sequence[Variant]) -> list[Trace]:
        """The runs of some variants, variant by variant in the order of seeds."""
        return [trace for variant in variants for trace in self._own.get(variant.key, ())]

    @functools.cached_property
    def _own(self) -> dict[VariantKey, list[Trace]]:
        """The runs of each variant, in the order of seeds."""
        own: dict[VariantKey, list[Trace]] = {}
        for trace in sorted(self.traces, key=lambda trace: trace.seed):
            own.setdefault(trace.key[:3], []).append(trace)
        return own

    def of_kind(self, kind: str) -> "Collection":
        """The runs that are of one kind of study."""
        return self.only({trace.key for trace in self.traces if trace.settings.kind == kind})

    @property
    def kinds(self) -> list[str]:
        """The kinds of study that there are runs of."""
        return list(dict.fromkeys(trace.settings.kind for trace in self.traces))

    def only(self, keys: Container[Key]) -> "Collection":
        """The runs of the collection with one of the given keys."""
        kept = [trace for trace in self.traces if trace.key in keys]
        seeds = _seeds(kept)
        variants = [replace(v, seeds=seeds[v.key]) for v in self.variants if v.key in seeds]
        return Collection(variants, self.unreadable, kept, self.everything)

    def read(
        self, variants: Sequence[Variant], columns: Sequence[str] | None = None, *, thinned: bool = False
    ) -> pd.DataFrame:
        """The rows of some variants in that order, with the columns of `SCHEMA` that are named, or all.

        A further column, if it is named, is `total_s`, the seconds of the whole run. With `thinned`, only some rows of
        long runs, as curves are drawn from, and for all runs of a variant the same. Where an objective's maximum is
        not known, regrets are to the best value that any run at hand has found, whether that was asked for or not.
        Problems are called as those of the variants are.
        """
        asked = list(columns or SCHEMA.names)
        needed = [name for name in asked if name != TOTAL]
        if TOTAL in asked:
            needed += [name for kind in self.kinds for name in row_of(kind).seconds]
        needed += [*RUN, "t", "f", *REGRETS] if set(asked) & set(REGRETS) else ["t"]
        kept = {variant.key: self._kept(variant) if thinned else None for variant in variants}
        names = {variant.key: variant.problem for variant in variants}
        best = functools.cache(self._best)
        tables = []
        for trace, rows in self.each(variants, list(dict.fromkeys(needed))):
            if TOTAL in asked:
                rows = rows.append_column(TOTAL, pa.array(np.full(len(rows), trace.seconds(rows))))
            if "simple_regret" in rows.column_names and pc.any(pc.is_nan(rows["simple_regret"])).as_py():
                rows = _with_regrets(rows, best(trace.settings.objective))
            if (steps := kept[trace.key[:3]]) is not None:
                rows = rows.filter(pa.array(thinning.keeps(rows["t"].to_numpy(), steps)))
            if "problem" in asked:
                called = pa.array([names[trace.key[:3]]] * len(rows))
                rows = rows.set_column(rows.column_names.index("problem"), SCHEMA.field("problem"), called)
            tables.append(rows.select(asked))
        if not tables:
            return pd.DataFrame(columns=asked)
        frame: pd.DataFrame = pa.concat_tables(tables).to_pandas()
        return frame

    def each(
        self, variants: Sequence[Variant], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[Trace, pa.Table]]:
        """The runs of some variants, variant by variant in the order of seeds, with their rows as they were written."""
        runs = self.of(variants)
        yield from zip(watched(runs, f"reading {len(runs):,} runs"), _rows(runs, columns), strict=True)

    def whole(self, variants: Sequence[Variant]) -> list[Variant]:
        """Those of the variants of whose runs all rows are at hand."""
        thinned = {trace.key[:3] for trace in self.traces if trace.thin is not None}
        return [variant for variant in variants if variant.key not in thinned]

    def _kept(self, variant: Variant) -> thinning.Steps | None:
        """The steps from which curves of a variant are drawn: what all of its runs have; None if that is all."""
        iterations = variant.settings["iterations"]
        usual = thinning.DRAWN if iterations > thinning.LONG else None
        thins = {trace.thin or usual for trace in self.of([variant])}
        if thins <= {None}:
            return None
        return functools.reduce(np.intersect1d, (thinning.steps(iterations, thin) for thin in thins))

    def _best(self, objective: str) -> float:
        """The best value that any run at hand has found on an objective."""
        own = {trace.settings.id: objective for trace in self.everything if trace.settings.objective == objective}
        paths = dict.fromkeys(trace.path for trace in self.everything if trace.settings.id in own)
        looked = watched(paths, f"looking for the best value in {len(paths):,} traces")
        found = (best_values(traces.read([path], ["run_id", "f"]), own) for path in looked)
        return max((value for best in found for value in best.values() if math.isfinite(value)), default=math.nan)


def _rows(runs: Sequence[Trace], columns: Sequence[str] | None) -> Iterator[pa.Table]:
    """The rows of each run; of runs that follow each other in one file, that is opened once."""
    for path, group in itertools.groupby(runs, key=lambda trace: trace.path):
        yield from traces.read_each(path, [trace.key for trace in group], columns)


def _with_regrets(rows: pa.Table, best: float) -> pa.Table:
    """All rows of a run, with regrets to the best value found."""
    frame = rows.select([*RUN, "t", "f", *REGRETS]).to_pandas()
    found = with_regrets(frame, dict.fromkeys(frame["run_id"], best))
    for name in REGRETS:
        place = rows.column_names.index(name)
        rows = rows.set_column(place, SCHEMA.field(name), pa.array(found[name].to_numpy()))
    return rows


def _seeds(found: Iterable[Trace]) -> dict[VariantKey, tuple[int, ...]]:
    """The seeds of the runs of each variant."""
    seeds: dict[VariantKey, list[int]] = {}
    for trace in found:
        seeds.setdefault(trace.key[:3], []).append(trace.seed)
    return {key: tuple(sorted(own)) for key, own in seeds.items()}


def _variants(found: Sequence[Trace], names: Mapping[str, Name]) -> list[Variant]:
    """The runs gathered by their settings, in the order in which they are shown."""
    settings = {trace.key[:3]: trace.settings for trace in found}
    variants = [variant_of(settings[key], seeds, names) for key, seeds in _seeds(found).items()]
    return sorted(
        variants, key=lambda v: (v.problem, style.order(v.method), len(v.changed), str(v.changed.items()), v.run_id)
    )
