"""Files that look like traces and are not whole are named, and the commands go on without them."""

import math

import made_up
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.errors import UsageError
from lbbench.plan.settings import Settings
from lbbench.records import traces
from lbbench.report.collection import Collection

STEPS = 4


def crafted(out, rows=None, settings=None, types=(), **metadata):
    """A trace of seed 7 with other rows, settings, types of columns, or metadata."""
    path = made_up.write(out, "lb", "toy", 7, [1.0] * STEPS)
    content = traces.read_metadata(path)
    table = pq.read_table(path).replace_schema_metadata()
    if settings:
        content["settings"] = settings(content["settings"])
        rows = rows or each(run_id=Settings(content["settings"]).id if isinstance(content["settings"], dict) else "")
    if rows:
        table = pa.Table.from_pylist(rows(table.to_pylist()), schema=loose(table.schema))
    for name, kind in dict(types).items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    content |= metadata
    traces.write_table(path, table, content)
    return path


def loose(schema):
    """The schema, but whatever may be missing."""
    return pa.schema([pa.field(field.name, field.type) for field in schema])


def each(**values):
    return lambda rows: [row | values for row in rows]


def last(**values):
    return lambda rows: [*rows[:-1], rows[-1] | values]


def without(key):
    return lambda settings: {name: value for name, value in settings.items() if name != key}


NO_TRACE = {
    "its metadata are not lbbench's": [
        {"peak_memory_mb": None},
        {"runs": 3},
        {"runs": [3]},
    ],
    "columns or settings are missing": [
        {"settings": lambda settings: None},
        {"settings": lambda settings: [1, 2]},
        {"settings": without("method")},
        {"settings": lambda settings: settings | {"method": "lb"}},
        {"settings": lambda settings: settings | {"problem": {"name": 3}}},
    ],
    "settings are missing, such as iterations": [{"settings": without("iterations")}],
    "settings are missing, such as gp.kernel": [
        {"settings": without("gp")},
        {"settings": lambda settings: settings | {"gp": "rbf"}},
        {"settings": lambda settings: settings | {"gp": {"regulariser": 1e-4}}},
    ],
    "kernel=linear: must be one of": [{"settings": lambda s: s | {"gp": s["gp"] | {"kernel": "linear"}}}],
    "iterations='4' is of another type": [{"settings": lambda settings: settings | {"iterations": "4"}}],
    "g=3 is of another type": [{"settings": lambda settings: settings | {"method": settings["method"] | {"g": 3}}}],
    "knob is no plain value": [{"settings": lambda settings: settings | {"knob": [1]}}],
    "its versions are no mapping": [{"versions": ["1.2"]}],
    "must be a whole number": [{"seed": seed} for seed in ("7", 7.0, None, True, -1, 2**63, [7])],
    "it has no rows": [{"rows": lambda rows: []}],
    "it has no steps of lb on toy with seed 7": [
        {"rows": lambda rows: rows[: made_up.DESIGN]},
        {"rows": each(seed=8)},
        {"rows": each(run_id="another")},
    ],
    "it has not just the rows of lb on toy with seed 7": [
        {"rows": lambda rows: rows[:-1]},
        {"rows": lambda rows: [*rows[:3], *rows[4:]]},
        {"rows": lambda rows: [*rows, rows[-1]]},
        {"rows": lambda rows: [rows[0], *rows[2:]]},  # a hole in the design
        {"settings": lambda settings: settings | {"iterations": 10**9}},
        {"thin": 1},  # of which it would have the steps 1 and 4
        {"thin": 1, "rows": lambda rows: [*rows[:3], *rows[4:]]},
        {"thin": 1, "rows": lambda rows: rows[:3]},
    ],
    "it has some rows only, and no regrets": [
        {"thin": 9, "rows": each(regret=math.nan, simple_regret=math.nan, cumulative_regret=math.nan)},
    ],
    "must be a whole number from 1 to 1000": [{"thin": thin} for thin in (0, 1001, True, 2.0, "2", [2])],
    "could not convert string to float": [{"total_s": "long"}],
    "is not finite everywhere": [
        {"rows": last(**{name: value})}
        for value in (float("nan"), float("inf"))
        for name in ("simple_regret", "cumulative_regret", "regret", "suggest_s", "lengthscale")
    ],
    "lengthscale is not positive": [{"rows": last(lengthscale=0.0)}],
    "null": [{"rows": last(**{name: None})} for name in ("simple_regret", "seed", "problem")],
    "column t is not of type int64": [{"types": {"t": pa.string()}}, {"types": {"t": pa.float64()}}],
    "column regret is not of type double": [{"types": {"regret": pa.string()}}],
    "column x is not of type list": [{"rows": each(), "types": {"x": pa.list_(pa.string())}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "change"), [(reason, change) for reason, changes in NO_TRACE.items() for change in changes]
)
def test_what_is_not_whole_is_left_out_with_the_reason(reason, change, tmp_path):
    path = crafted(tmp_path, **change)
    collection = Collection.at(tmp_path)
    (message,) = collection.unreadable
    assert message.startswith(f"{path} is no trace (")
    assert reason in message
    assert len(message.splitlines()) == 1
    assert not collection.traces


WHOLE = {
    "larger pieces": {"types": {"problem": pa.large_string(), "x": pa.large_list(pa.float64())}},
    "other diagnostics": {"rows": each(rhat=float("nan"), ess=float("inf"), candidates=[], eliminated=[float("nan")])},
    "no length scale": {"rows": each(lengthscale=None, candidates=None)},
    "infinite candidates": {"rows": each(candidates=[float("inf"), 0.0, -1.0], eliminated=[float("inf"), 0.0])},
    "no time": {"rows": each(suggest_s=0.0, evaluate_s=0.0)},
    "less than no regret": {"rows": each(simple_regret=-1.0, regret=-1.0, cumulative_regret=-4.0)},
    "huge regrets": {"rows": each(simple_regret=1e308, regret=1e308, cumulative_regret=1e308)},
    "tiny length scales": {"rows": last(lengthscale=1e-300)},
    "thinned": {"thin": 1, "rows": lambda rows: [*rows[:3], rows[-1]], "total_s": 1.5},
    "thinned, of unknown seconds": {"thin": 1, "rows": lambda rows: [*rows[:3], rows[-1]]},
    "without a design": {"rows": lambda rows: rows[2:]},
    "no x": {"rows": each(x=[])},
    "no more settings": {"settings": lambda s: s | {"method": {"name": "lb"}, "problem": {"name": "toy"}}},
}


def lbbench(*arguments):
    return CliRunner().invoke(cli.app, arguments)


@pytest.fixture
def out(tmp_path):
    made_up.study(tmp_path, methods=("lb", "agpucb"), problems=("toy",), seeds=2, steps=STEPS)
    return tmp_path


COMMANDS = ["table", "table variants=all format=csv table=summary", "plot format=png", "export to={out}/to", "report"]


@pytest.mark.parametrize("change", WHOLE)
def test_what_is_whole_but_strange_ends_no_command_in_a_traceback(change, out):
    crafted(out, **WHOLE[change])
    for command in COMMANDS:
        result = lbbench(*command.format(out=out).split(), f"out={out}")
        assert (result.exit_code, result.exception) == (0, None), (command, result.output)


def test_the_rest_is_used(out):
    commands = [lbbench(*command.format(out=out).split(), f"out={out}") for command in COMMANDS[:4]]
    crafted(out, rows=last(regret=float("nan")))
    again = [lbbench(*command.format(out=out).split(), f"out={out}") for command in COMMANDS[:4]]
    for before, after in zip(commands, again, strict=True):
        assert after.exit_code == 0
        assert after.stdout == before.stdout
        assert after.stderr.startswith(f"left out: {out}/traces/toy/lb/seed=7-")


def test_a_growth_function_that_is_none_is_one_line(out):
    crafted(out, settings=lambda s: s | {"method": s["method"] | {"g": "t^"}})
    for command in ("table variants=all", "plot format=png"):
        assert isinstance(lbbench(*command.split(), f"out={out}").exception, UsageError)
