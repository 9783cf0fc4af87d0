"""The rows of optimisation: one for each evaluation."""

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lbbench.plan.registry import OURS
from lbbench.records.rows import FIRST, Row

SCHEMA = pa.schema(
    [
        *FIRST,
        pa.field("phase", pa.string(), nullable=False),  # "initial" or "search"
        pa.field("x", pa.list_(pa.float64()), nullable=False),  # user units
        pa.field("y", pa.float64(), nullable=False),  # observed, for maximisation
        pa.field("f", pa.float64(), nullable=False),  # without noise
        pa.field("regret", pa.float64(), nullable=False),
        pa.field("simple_regret", pa.float64(), nullable=False),
        pa.field("cumulative_regret", pa.float64(), nullable=False),
        pa.field("lengthscale", pa.float64()),
        pa.field("norm", pa.float64()),
        pa.field("beta", pa.float64()),
        pa.field("sigma", pa.float64()),  # posterior standard deviation at x, in units of y
        pa.field("information_gain", pa.float64()),
        pa.field("candidates", pa.list_(pa.float64())),  # length scales that stood to choose from
        pa.field("eliminated", pa.list_(pa.float64())),  # length scales dropped after this step
        pa.field("jitter", pa.float64()),
        pa.field("divergences", pa.int64()),  # of NUTS
        pa.field("rhat", pa.float64()),
        pa.field("ess", pa.float64()),
        pa.field("suggest_s", pa.float64(), nullable=False),
        pa.field("evaluate_s", pa.float64(), nullable=False),
    ]
)
REGRETS = ["regret", "simple_regret", "cumulative_regret"]
FINITE = [field.name for field in SCHEMA if field.type == pa.float64() and not field.nullable]


def check(rows: pa.Table, thinned: bool) -> None:
    """The rows have finite numbers and positive length scales.

    Where the objective was not finite, and was skipped, only the regrets of the steps after the design must be. Without
    regrets are the runs of a user's own problem whose maximum is not known.
    """
    seen = pc.is_finite(rows["y"])
    later = pc.greater(rows["t"], 0)
    simple, cumulative, regret = (pc.is_nan(rows[name]) for name in REGRETS)
    ours = pc.is_in(rows["problem"], pa.array(OURS["problem"]))
    has_maximum = pc.or_(ours, pc.invert(pc.and_(regret, pc.and_(simple, cumulative))))
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_floating(column.type):
            needed = pc.or_(seen, later) if name in ("simple_regret", "cumulative_regret") else seen
            if name in REGRETS:
                needed = pc.and_(needed, has_maximum)
            if not pc.all(pc.or_(pc.is_finite(column), pc.invert(needed)), min_count=0).as_py():
                raise ValueError(f"its {name} is not finite everywhere")
    if pc.any(pc.less_equal(rows["lengthscale"], 0.0)).as_py():
        raise ValueError("its lengthscale is not positive everywhere")
    if thinned and not pc.all(has_maximum).as_py():
        raise ValueError("it has some rows only, and no regrets")


def result(row: Mapping[str, Any]) -> str:
    """The simple regret, if the maximum is known."""
    regret = row["simple_regret"]
    return "" if math.isnan(regret) else f"simple regret {regret:.4g}"


ROW = Row(
    schema=SCHEMA,
    settings=("iterations", "gp.kernel", "gp.regulariser"),
    checked=("lengthscale", *FINITE),
    check=check,
    seconds=("suggest_s", "evaluate_s"),
    result=result,
    thinnable={"simple_regret": "its maximum is not known"},
)
