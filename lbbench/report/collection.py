"""The traces at hand, and which of them belong together."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from lbbench.errors import UsageError
from lbbench.report import style
from lbbench.report.stats import best_values, with_regrets
from lbbench.report.variants import Variant
from lbbench.study import files, traces
from lbbench.study.inspection import REGRETS, RUN, Key
from lbbench.study.settings import Settings, defaults


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
        found: dict[Key, Trace] = {}
        everything = []
        unreadable = []
        for path in paths:
            try:
                for metadata in traces.read_runs(path):
                    trace = Trace(path, Settings(metadata["settings"]), metadata["seed"], metadata)
                    everything.append(trace)
                    if _is_wanted(trace, wanted or {}):
                        found.setdefault(trace.key, trace)
            except UsageError as error:
                unreadable.append(str(error))
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

    def only(self, keys: Container[Key]) -> "Collection":
        """The runs of the collection with one of the given keys."""
        kept = [trace for trace in self.traces if trace.key in keys]
        return Collection(_variants(kept), self.unreadable, kept, self.everything)

    def read(self, variants: Sequence[Variant], columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The rows of some variants in that order, with the columns of `traces.SCHEMA` that are named, or all.

        Where an objective's maximum is not known, regrets are to the best value that any run at hand has found, whether
        that was asked for or not.
        """
        asked = list(columns or traces.SCHEMA.names)
        needed = [*RUN, "t", "f", *REGRETS] if set(asked) & set(REGRETS) else []
        frame: pd.DataFrame = self.table(variants, list(dict.fromkeys([*asked, *needed]))).to_pandas()
        if not needed:
            return frame
        if unknown := set(frame.loc[frame["simple_regret"].isna(), "run_id"]):
            objectives = {trace.settings.id: trace.settings.objective for trace in self.everything}
            ours = {objectives[run_id] for run_id in unknown}
            paths = dict.fromkeys(trace.path for trace in self.everything if trace.settings.objective in ours)
            frame = with_regrets(frame, best_values(traces.read(paths, ["run_id", "f"]), objectives))
        return frame[asked]

    def table(self, variants: Sequence[Variant], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of some variants as they were written."""
        asked = list(columns or traces.SCHEMA.names)
        own = self.of(variants)
        if not own:
            return traces.SCHEMA.empty_table().select(asked)
        paths = dict.fromkeys(trace.path for trace in own)
        rows = traces.read_table(paths, list(dict.fromkeys([*RUN, "t", *asked])))
        places = rows.select([*RUN, "t"]).to_pandas().drop_duplicates()  # a run may lie in two files
        keys = pd.DataFrame([trace.key for trace in own], columns=RUN)
        order = keys.merge(places.reset_index(names="row"), on=RUN)["row"]
        return rows.take(pa.array(order)).select(asked)


def _is_wanted(trace: Trace, wanted: Mapping[str, Sequence[str]]) -> bool:
    own = {"problem": trace.settings.problem, "method": trace.settings.method, "seeds": trace.seed}
    values = trace.settings.flat | own
    return all(str(values[key]) in allowed for key, allowed in wanted.items() if key in values)


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
