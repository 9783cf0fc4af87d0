"""The length scales that methods chose, and the one they should have chosen."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow.compute as pc

from lbbench.domain import Array
from lbbench.errors import UsageError
from lbbench.gp.kernels import KERNELS
from lbbench.plan import build, registry
from lbbench.report.collection import Collection
from lbbench.report.variants import Variant, VariantKey

BINS = 40
COLUMNS = ["t", "lengthscale"]


def chosen(collection: Collection, variants: Sequence[Variant]) -> dict[VariantKey, Array]:
    """The length scales that each variant chose, step by step and run by run.

    Without any are methods that choose none, kernels that have none, and runs that are thinned: what few steps chose is
    not what all did.
    """
    found: dict[VariantKey, list[Array]] = {variant.key: [] for variant in variants}
    scaled = [variant for variant in variants if variant.settings["gp"]["kernel"] in KERNELS]
    for trace, rows in collection.each(collection.whole(scaled), COLUMNS):
        later = rows.filter(pc.greater(rows["t"], 0))["lengthscale"].to_numpy()
        found[trace.key[:3]].append(later[~np.isnan(later)])
    return {key: np.concatenate(values) if values else np.empty(0) for key, values in found.items()}


def bins(chosen: Iterable[Array]) -> Array:
    """Edges of bins that are equally wide on a log axis, over the range of all; none without length scales."""
    chosen = [values for values in chosen if len(values)]
    if not chosen:
        return np.empty(0)
    low, high = np.log(min(values.min() for values in chosen)), np.log(max(values.max() for values in chosen))
    margin = 0.02 * (high - low) + 0.01
    return np.exp(np.linspace(low - margin, high + margin, BINS + 1))


def optimal_lengthscale(variant: Variant) -> float | None:
    """θ̂* for the problem, kernel and regulariser of a variant; None where the problem is not installed here.

    Neither has a kernel any that has no length scale.
    """
    if variant.settings.problem not in registry.OURS["problem"] or variant.settings["gp"]["kernel"] not in KERNELS:
        return None
    try:
        return build.optimal_lengthscale(variant.settings, build.problem(variant.settings))
    except UsageError:
        return None
