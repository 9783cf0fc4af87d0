"""Which of the runs at hand are meant."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lbbench.plan.keys import today
from lbbench.plan.settings import Settings
from lbbench.report.variants import Variant


def is_wanted(settings: Settings, seed: int, wanted: Mapping[str, Sequence[str]]) -> bool:
    """Whether a run has what was asked for, as `Collection.at` takes it."""
    values = settings.flat | {"problem": settings.problem, "method": settings.method, "seeds": seed}
    return all(
        {str(values[key]), today(key, str(values[key]))} & set(allowed)
        for key, allowed in wanted.items()
        if key in values
    )


def nearest(variants: Sequence[Variant], settings: Sequence[str] = ()) -> list[Variant]:
    """For each problem and method the variant nearest to the defaults: that with the fewest changes.

    Among equals that whose changes most methods and problems share, so that they are shown alike if they can be; then
    the most seeds, then the alphabet. With the last names of some settings: for each of their values as well.
    """
    found: dict[tuple[Any, ...], Variant] = {}
    for variant in sorted(variants, key=_distance(variants)):
        values = (variant.settings.flat.get(name) for name in settings)
        found.setdefault((variant.problem, variant.method, *values), variant)
    kept = {id(variant) for variant in found.values()}
    return [variant for variant in variants if id(variant) in kept]


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
