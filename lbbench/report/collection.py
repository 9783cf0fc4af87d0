"""The traces at hand, and which of them belong together."""

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lbbench.errors import UsageError
from lbbench.plan.keys import today
from lbbench.plan.settings import Settings, defaults
from lbbench.records import files, thinning, traces
from lbbench.records.inspection import Key
from lbbench.records.optimising import REGRETS, SCHEMA
from lbbench.records.rows import RUN, row_of
from lbbench.report import style
from lbbench.report.stats import best_values, with_regrets
from lbbench.report.variants import Variant

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
        for path in paths:
            try:
                for metadata in traces.read_runs(path):
                    everything.append(Trace(path, Settings(metadata["settings"]), metadata["seed"], metadata))
            except UsageError as error:
                unreadable.append(str(error))
        found: dict[Key, Trace] = {}
        for trace in sorted(everything, key=lambda trace: trace.thin is not None):  # all rows rather than some
            if _is_wanted(trace, wanted or {}):
                found.setdefault(trace.key, trace)
        return cls(_variants(found.values()), unreadable, list(found.values()), everything)

    def __bool__(self) -> bool:
        return bool(self.variants)

    @property
    def metadata(self) -> list[Mapping[str, Any]]:
        """The metadata of each run: settings, seed, versions, commit, processor, wall time, memory."""
        return [trace.metadata for trace in self.traces]

    def usual(self, settings: Sequence[str] = ()) -> list[Variant]:
        """For each problem and method the variant nearest to the defaults: that with the fewest changes.

        Among equals that whose changes most methods and problems share, so that they are shown alike if they can be;
        then the most seeds, then the alphabet. With the last names of some settings: for each of their values as well.
        """
        nearest: dict[tuple[Any, ...], Variant] = {}
        for variant in sorted(self.variants, key=_distance(self.variants)):
            values = (variant.settings.flat.get(name) for name in settings)
            nearest.setdefault((variant.problem, variant.method, *values), variant)
        kept = {id(variant) for variant in nearest.values()}
        return [variant for variant in self.variants if id(variant) in kept]

    def of(self, variants: Sequence[Variant]) -> list[Trace]:
        """The runs of some variants, variant by variant in the order of seeds."""
        places = {(v.problem, v.method, v.run_id): i for i, v in enumerate(variants)}
        own = [trace for trace in self.traces if trace.key[:3] in places]
        return sorted(own, key=lambda trace: (places[trace.key[:3]], trace.seed))

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
        return Collection(_variants(kept), self.unreadable, kept, self.everything)

    def read(
        self, variants: Sequence[Variant], columns: Sequence[str] | None = None, *, thinned: bool = False
    ) -> pd.DataFrame:
        """The rows of some variants in that order, with the columns of `SCHEMA` that are named, or all.

        A further column, if it is named, is `total_s`, the seconds of the whole run. With `thinned`, only some rows of
        long runs, as curves are drawn from, and for all runs of a variant the same. Where an objective's maximum is
        not known, regrets are to the best value that any run at hand has found, whether that was asked for or not.
        """
        asked = list(columns or SCHEMA.names)
        needed = [name for name in asked if name != TOTAL]
        if TOTAL in asked:
            needed += [name for kind in self.kinds for name in row_of(kind).seconds]
        needed += [*RUN, "t", "f", *REGRETS] if set(asked) & set(REGRETS) else ["t"]
        kept = {variant.key: self._kept(variant) if thinned else None for variant in variants}
        best = functools.cache(self._best)
        tables = []
        for trace, rows in self.each(variants, list(dict.fromkeys(needed))):
            if TOTAL in asked:
                rows = rows.append_column(TOTAL, pa.array(np.full(len(rows), trace.seconds(rows))))
            if "simple_regret" in rows.column_names and pc.any(pc.is_nan(rows["simple_regret"])).as_py():
                rows = _with_regrets(rows, best(trace.settings.objective))
            if (steps := kept[trace.key[:3]]) is not None:
                rows = rows.filter(pa.array(thinning.keeps(rows["t"].to_numpy(), steps)))
            tables.append(rows.select(asked))
        if not tables:
            return pd.DataFrame(columns=asked)
        frame: pd.DataFrame = pa.concat_tables(tables).to_pandas()
        return frame

    def each(
        self, variants: Sequence[Variant], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[Trace, pa.Table]]:
        """The runs of some variants, variant by variant in the order of seeds, with their rows as they were written."""
        for path, group in itertools.groupby(self.of(variants), key=lambda trace: trace.path):
            own = list(group)
            yield from zip(own, traces.read_each(path, [trace.key for trace in own], columns), strict=True)

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
        found = (best_values(traces.read([path], ["run_id", "f"]), own) for path in paths)
        return max((value for best in found for value in best.values() if math.isfinite(value)), default=math.nan)


def _with_regrets(rows: pa.Table, best: float) -> pa.Table:
    """All rows of a run, with regrets to the best value found."""
    frame = rows.select([*RUN, "t", "f", *REGRETS]).to_pandas()
    found = with_regrets(frame, dict.fromkeys(frame["run_id"], best))
    for name in REGRETS:
        place = rows.column_names.index(name)
        rows = rows.set_column(place, SCHEMA.field(name), pa.array(found[name].to_numpy()))
    return rows


def _is_wanted(trace: Trace, wanted: Mapping[str, Sequence[str]]) -> bool:
    own = {"problem": trace.settings.problem, "method": trace.settings.method, "seeds": trace.seed}
    values = trace.settings.flat | own
    return all(
        {str(values[key]), today(key, str(values[key]))} & set(allowed)
        for key, allowed in wanted.items()
        if key in values
    )


def _variants(found: Iterable[Trace]) -> list[Variant]:
    """The runs gathered by their settings, in the order in which they are shown."""
    seeds: dict[tuple[str, str, str], list[int]] = {}
    settings: dict[tuple[str, str, str], Settings] = {}
    for trace in found:
        seeds.setdefault(trace.key[:3], []).append(trace.seed)
        settings[trace.key[:3]] = trace.settings
    variants = [variant_of(settings[key], sorted(seeds[key])) for key in seeds]
    return sorted(
        variants, key=lambda v: (v.problem, style.order(v.method), len(v.changed), str(v.changed.items()), v.run_id)
    )


def _distance(variants: Sequence[Variant]) -> Callable[[Variant], tuple[Any, ...]]:
    """A sort key: how far a variant is from the defaults. It is the same for all variants with the same changes."""
    sharing: dict[str, set[tuple[str, str]]] = defaultdict(set)
    seeds: dict[str, int] = defaultdict(int)
    for variant in variants:
        for change in variant.changes:
            sharing[change].add((variant.problem, variant.method))
            seeds[change] += len(variant.seeds)

    def distance(variant: Variant) -> tuple[Any, ...]:
        own = variant.changes
        return len(own), -sum(len(sharing[change]) for change in own), -sum(seeds[change] for change in own), own

    return distance


def variant_of(settings: Settings, seeds: Iterable[int]) -> Variant:
    """The variant of some settings, which knows what in them is not as in configs/."""
    usual = defaults(settings.method, settings.problem)
    changed = {key: value for key, value in settings.flat.items() if value != usual.get(key)}
    return Variant(settings.problem, settings.method, settings.id, settings, tuple(seeds), changed)
