"""The length scales that methods chose, and the one they should have chosen."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lbbench.domain import Array
from lbbench.errors import UsageError
from lbbench.report.collection import Collection
from lbbench.report.variants import Variant
from lbbench.study import build, registry

BINS = 40
COLUMNS = ["problem", "method", "run_id", "seed", "t", "lengthscale"]


def chosen(collection: Collection, variants: Sequence[Variant]) -> pd.DataFrame:
    """The rows of the search steps that chose a length scale."""
    frame = collection.read(variants, COLUMNS)
    return frame[(frame["t"] > 0) & frame["lengthscale"].notna()]


def bins(values: pd.Series) -> Array:
    """Edges of bins that are equally wide on a log axis, over the range of the values."""
    low, high = np.log(values.min()), np.log(values.max())
    margin = 0.02 * (high - low) + 0.01
    return np.exp(np.linspace(low - margin, high + margin, BINS + 1))


def optimal_lengthscale(variant: Variant) -> float | None:
    """θ̂* for the problem, kernel and regulariser of a variant; None where the problem is not installed here."""
    if variant.problem not in registry.OURS["problem"]:
        return None
    try:
        return build.optimal_lengthscale(variant.settings, build.problem(variant.settings))
    except UsageError:
        return None
