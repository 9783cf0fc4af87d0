"""The tables of traces: final regrets, ranks, tests, Table 1's factors, run times, and an ablation."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from lbbench import growth, theory
from lbbench.gp.kernels import KERNELS
from lbbench.methods.lengthscales import Shrinking
from lbbench.plan.settings import defaults
from lbbench.report import stats
from lbbench.report.collection import TOTAL, Collection
from lbbench.report.selection import Selection
from lbbench.report.style import label
from lbbench.report.tables import Cell, Estimate, Table, filled
from lbbench.report.variants import Variant, shared_changes, typed

COLUMNS = ["problem", "method", "growth", "run_id", "seed", "t", *stats.REGRETS, TOTAL]

Varied = Mapping[str, Mapping[str, object]]  # the last name of a setting → its value by run_id

# Seconds per run of 250 steps that the paper's later revision reports, on four cores of a Threadripper 3990X each.
PUBLISHED_ITERATIONS = 250
PUBLISHED_SECONDS = {
    "berkenkamp": {"mle": 438, "agpucb": 443, "lb": 442, "mcmc": 1653},
    "michalewicz": {"mle": 237, "agpucb": 167, "lb": 181, "mcmc": 3388},
    "crossedbarrel": {"mle": 55, "agpucb": 48, "lb": 48, "mcmc": 471},
    "agnp": {"mle": 53, "agpucb": 49, "lb": 49, "mcmc": 246},
}


def choose(collection: Collection, selection: Selection) -> list[Variant]:
    """The variants to show: for each value that was asked for the usual ones, or with `variants=all` all."""
    if selection.one("variants", "usual") == "all":
        return collection.variants
    return collection.usual(selection.settings)


def tables(collection: Collection, variants: Sequence[Variant], kinds: Sequence[str]) -> list[Table]:
    """The tables of these names of some variants; what these share is in the notes."""
    frame = collection.read(variants, COLUMNS, thinned=True)
    found = [TABLES[kind](collection, variants, frame) for kind in kinds]
    settings = typed(shared_changes(variants))
    return [replace(table, note=f"{table.note}; {settings}") if settings else table for table in found]


def closing(collection: Collection, variants: Sequence[Variant], varied: Varied) -> Table:
    """The table that a study ends with."""
    return summary(collection.read(variants, COLUMNS, thinned=True), varied)


def closing_ablation(collection: Collection, variants: Sequence[Variant], varied: Varied) -> Table:
    """The table that an ablation ends with."""
    return ablation(collection.read(variants, COLUMNS, thinned=True), varied)


def varied(variants: Sequence[Variant]) -> Varied:
    """The settings that some of the variants have changed, each with its value in all that have it, by run_id."""
    shared = shared_changes(variants)
    changed = dict.fromkeys(key for variant in variants for key in variant.beside(shared))
    flat = {variant.run_id: variant.settings.flat for variant in variants}
    return {key: {run_id: settings.get(key) for run_id, settings in flat.items()} for key in changed}


def summary(frame: pd.DataFrame, varied: Varied) -> Table:
    """Mean ± standard error of the final regrets per problem and method, with a column per setting that varies."""
    rows = [
        (
            row["problem"],
            label(row["method"]),
            *_values(varied, row["run_id"]),
            row["runs"],
            *(Estimate(row[regret], row[f"{regret}_se"]) for regret in stats.REGRETS),
            row["seconds"],
        )
        for _, row in stats.summary(frame).iterrows()
    ]
    header = ("problem", "method", *varied, "runs", "simple regret", "cumulative regret", "s/run")
    table = Table(header, rows, "Final regrets", "final regret, mean ± standard error over seeds")
    return filled(table, {"s/run": "no seconds, which these traces do not tell"})


def ablation(frame: pd.DataFrame, varied: Varied) -> Table:
    """Final simple regret per value of the settings and method, and the spread of its means over the values."""
    cells: dict[str, dict[tuple[str, ...], dict[str, Estimate]]] = {}  # by problem, values and method
    for _, row in stats.summary(frame).iterrows():
        estimates = cells.setdefault(row["problem"], {}).setdefault(_values(varied, row["run_id"]), {})
        estimates[row["method"]] = Estimate(row["simple_regret"], row["simple_regret_se"])
    methods = list(frame["method"].unique())
    rows: list[tuple[Cell, ...]] = []
    explained = ""
    for problem, own in cells.items():
        rows += [(problem, *values, *(of.get(method, "") for method in methods)) for values, of in own.items()]
        spread = [_spread([of[method].mean for of in own.values() if method in of]) for method in methods]
        if any(isinstance(one, float) for one in spread):
            rows.append((problem, "spread", *[""] * (len(varied) - 1), *spread))
            explained = "; spread: largest mean − smallest"
    header = ("problem", *varied, *map(label, methods))
    note = f"final simple regret, mean ± standard error over seeds{explained}"
    return Table(header, rows, "Ablation", note)


def _values(varied: Varied, run_id: str) -> tuple[str, ...]:
    return tuple("" if (value := values.get(run_id)) is None else str(value) for values in varied.values())


def _spread(means: Sequence[float]) -> float | str:
    return max(means) - min(means) if len(means) > 1 else ""


def _summary(collection: Collection, variants: Sequence[Variant], frame: pd.DataFrame) -> Table:
    return summary(frame, varied(variants))


def _competitors(variants: Sequence[Variant], frame: pd.DataFrame) -> tuple[pd.DataFrame, str | None]:
    """The frame with a column `competitor`, and the one that is LB's.

    It is the method, or the variant's label where a method has several variants on a problem.
    """
    several = len({(variant.problem, variant.method) for variant in variants}) < len(variants)
    shared = shared_changes(variants)
    names = {variant.run_id: variant.label(shared) if several else label(variant.method) for variant in variants}
    ours = [names[variant.run_id] for variant in variants if variant.method == "lb"]
    return frame.assign(competitor=frame["run_id"].map(names)), min(ours, key=len, default=None)


def _ranks(collection: Collection, variants: Sequence[Variant], frame: pd.DataFrame) -> Table:
    frame, _ = _competitors(variants, frame)
    found = stats.ranks(frame, by="competitor").dropna()
    rows = [(row["competitor"], *(row[regret] for regret in stats.REGRETS)) for _, row in found.iterrows()]
    note = (
        f"mean rank by final regret (1 is the lowest) over the {found['blocks'].iloc[0]} pairs of problem and seed "
        "that all have run"
        if rows
        else "no ranks: there is no pair of problem and seed that all have run"
    )
    return Table(("method", "simple regret", "cumulative regret"), rows, "Ranks", note)


def _tests(collection: Collection, variants: Sequence[Variant], frame: pd.DataFrame) -> Table:
    frame, ours = _competitors(variants, frame)
    found = stats.wilcoxon(frame, against=ours or "", by="competitor")
    rows = [
        (row["problem"], row["competitor"], row["regret"].replace("_", " "), row["n"], row["median"], row["p"])
        for _, row in found.iterrows()
    ]
    name = ours or label("lb")
    note = (
        f"Wilcoxon's signed-rank tests of {name} against the others, paired by seed, p corrected by Holm's method; the "
        f"median difference is negative where {name} has the lower regret"
        if rows
        else f"no tests: {name} shares no problem and seed with another method"
    )
    return Table(("problem", "against", "regret", "seeds", "median difference", "p"), rows, f"Tests of {name}", note)


def _factors(collection: Collection, variants: Sequence[Variant], frame: pd.DataFrame) -> Table:
    growing = [
        variant
        for variant in variants
        if "g" in variant.settings["method"] and variant.settings["gp"]["kernel"] in KERNELS
    ]
    points = collection.read(growing, ["run_id", "x"], thinned=True).drop_duplicates("run_id")
    dims = {run_id: len(x) for run_id, x in points.itertuples(index=False)}
    rows = dict.fromkeys(_factor(variant, dims[variant.run_id]) for variant in growing)
    ends = [f"{label(method)}, {unknown}" for unknown, own in UNKNOWN.items() for method in own]
    header = ("problem", "g", "b", "d", "d̂", "T", "g(T)", "b(T)", *ends)
    note = (
        "how much larger than the oracle's the regret bound is at T, up to a constant: g^d̂ and d̂ ln g where θ is "
        "unknown, b g^d̂ and d̂ ln g ln b where B is as well (Table 1)"
        if rows
        else "no factors: no method here has a growth function"
    )
    return Table(header, list(rows), "Optimality factors", note)


UNKNOWN = {"θ": ("agpucb", "lb"), "θ and B": ("agpucb", "lnb")}  # the columns of Table 1


def _factor(variant: Variant, dim: int) -> tuple[Cell, ...]:
    """A row of Table 1, evaluated for the growth functions, the dimension and the steps of a variant."""
    usual = defaults("lnb", variant.settings.problem)  # LB has no b; Table 1 gives it LNB's
    own = {**usual, **variant.settings["method"]}
    T = variant.settings["iterations"]
    d_hat = theory.effective_dim(dim, KERNELS[variant.settings["gp"]["kernel"]], own["spacing"])
    g = Shrinking(growth.parse(own["g"]), t0=own["t0"], spacing=own["spacing"]).growth(d_hat)(T)
    b = max(1.0, growth.parse(own["b"])(T))
    factors = (
        theory.shrinking_optimality(d_hat, g),
        theory.balancing_optimality(d_hat, g),
        theory.shrinking_optimality(d_hat, g, b),
        theory.balancing_optimality(d_hat, g, b),
    )
    return variant.problem, own["g"], own["b"], dim, int(d_hat), T, g, b, *factors


def _times(collection: Collection, variants: Sequence[Variant], frame: pd.DataFrame) -> Table:
    seconds = stats.summary(frame).set_index("run_id")["seconds"]
    shared = shared_changes(variants)
    rows, others = [], 0
    for variant in variants:
        if published := PUBLISHED_SECONDS.get(variant.settings.problem, {}).get(variant.method):
            here, steps = float(seconds[variant.run_id]), variant.settings["iterations"]
            if not math.isfinite(here) or not _as_published(variant):
                others += 1
                continue
            rows.append((variant.problem, variant.label(shared), steps, published, here, published / here))
    runs = [trace.metadata for trace in collection.of(variants)]
    machines = sorted({f"{run.get('threads')} × {run.get('cpu')}" for run in runs})
    theirs = f"the paper's are of {PUBLISHED_ITERATIONS} steps on problems as in configs/"
    note = (
        f"mean seconds per run; paper: its later revision's, {PUBLISHED_ITERATIONS} steps, on 4 × AMD "
        f"Threadripper 3990X; here, threads × processor: {'; '.join(machines)}"
        + (f"; {others} more cannot be compared: {theirs}" if others else "")
        if rows
        else f"no run times to compare: {theirs}"
        if others
        else "no run times to compare: the paper gives none for these methods and problems"
    )
    return Table(("problem", "method", "steps", "paper", "here", "paper / here"), rows, "Run times", note)


def _as_published(variant: Variant) -> bool:
    """Whether a variant has as many steps, and the same problem, as the paper tells the seconds of."""
    if variant.settings["iterations"] != PUBLISHED_ITERATIONS:
        return False
    return set(json.loads(variant.settings.objective)).isdisjoint(variant.changed)


TABLES: dict[str, Callable[[Collection, Sequence[Variant], pd.DataFrame], Table]] = {
    "summary": _summary,
    "ranks": _ranks,
    "tests": _tests,
    "factors": _factors,
    "times": _times,
}
