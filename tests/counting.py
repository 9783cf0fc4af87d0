"""A kind of study that counts, for tests: what is not optimisation, and is kept and shown all the same."""

import pyarrow as pa
import pyarrow.compute as pc

from lbbench.plan.kinds import Kind
from lbbench.records.rows import FIRST, Row
from lbbench.report.tables import Table
from lbbench.report.views import Figure, View


def play(settings, seed, past, on_nan):
    """Counts from the seed on."""
    for t in range(len(past) + 1, settings["iterations"] + 1):
        yield {
            "problem": settings.problem,
            "method": settings.method,
            "seed": seed,
            "run_id": settings.id,
            "t": t,
            "count": seed + t,
            "count_s": 0.5,
        }


def check(rows, thinned):
    """Counts are not negative."""
    if pc.any(pc.less(rows["count"], 0)).as_py():
        raise ValueError("its count is negative")


def tabulate(collection, variants, names):
    """One table, of the last counts."""
    return [closing(collection, variants, {})]


def closing(collection, variants, varied):
    """The last count of each run."""
    last = [rows["count"].to_pylist()[-1] for _, rows in collection.each(variants, ["count"])]
    return Table(("count",), [(count,) for count in last], "Counts", "the last count of each run")


def draw(collection, options):
    """No sheets, but the runs that it was given must be of this kind."""
    assert collection.kinds in ([], ["counting"])
    return []


SCHEMA = pa.schema([*FIRST, pa.field("count", pa.int64(), nullable=False), pa.field("count_s", pa.float64())])
ROW = Row(
    schema=SCHEMA,
    settings=("iterations",),
    checked=("count",),
    check=check,
    seconds=("count_s",),
    result=lambda row: f"count {row['count']}",
    thinnable={},
)
VIEW = View(
    figures={"counts": Figure("counting:draw", source="lbbench run method=counter")},
    tables=("counts",),
    tabulate="counting:tabulate",
    closing="counting:closing",
)
KIND = Kind(player="counting:play", row="counting:ROW", view="counting:VIEW")
