"""The rows of the benchmark's one table, and the file that keeps them."""

import json
import operator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from lbbench.study import machine


@dataclass(frozen=True)
class Row:
    """What some work costs, in `unit`, beside a `peer`'s cost and what is asked for.

    `ratio` says how many times less than its peer the work costs. Of the three targets any may be None: the ratio is to
    be `ratio_at_least`, the value `at_most` or `at_least`.
    """

    work: str
    value: float
    unit: str = "s"
    peer: str | None = None
    peer_value: float | None = None
    ratio_at_least: float | None = None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.peer_value is None or self.value == 0.0 else self.peer_value / self.value

    @property
    def target(self) -> str:
        """The targets in words."""
        bounds = [(self.ratio_at_least, "≥ {:g} ×"), (self.at_most, "≤ {:g} {}"), (self.at_least, "≥ {:g} {}")]
        return ", ".join(text.format(bound, self.unit).strip() for bound, text in bounds if bound is not None)

    @property
    def holds(self) -> bool | None:
        """Whether every target is met; None without one."""
        checks = [
            (self.ratio, operator.ge, self.ratio_at_least),
            (self.value, operator.le, self.at_most),
            (self.value, operator.ge, self.at_least),
        ]
        met = [test(number, bound) for number, test, bound in checks if number is not None and bound is not None]
        return all(met) if met else None

    @property
    def verdict(self) -> str:
        return {None: "", True: "holds", False: "below target"}[self.holds]

    def __str__(self) -> str:
        peer = "" if self.peer_value is None else f"; {self.peer}: {_digits(self.peer_value)}"
        return f"{self.work}: {_digits(self.value)} {self.unit}{peer}"


def table(rows: list[Row]) -> Table:
    """All rows as one table."""
    drawn = Table(box=None, title=f"One thread each, on {machine.usable_cores()} cores of {machine.cpu()}")
    for column in ("work", "ours", "peer's", "unit", "ratio", "target", "", "peer"):
        drawn.add_column(column, justify="right" if column in ("ours", "peer's", "ratio") else "left", no_wrap=True)
    for row in rows:
        numbers = [_digits(number) for number in (row.value, row.peer_value, row.ratio)]
        drawn.add_row(row.work, *numbers[:2], row.unit, numbers[2], row.target, row.verdict, row.peer)
    return drawn


def _digits(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def write(rows: list[Row], file: Path) -> None:
    """All rows as JSON, with a description of the machine."""
    found = [asdict(row) | {"ratio": row.ratio, "target": row.target, "holds": row.holds} for row in rows]
    content = {**machine.provenance(), "cores": machine.usable_cores(), "rows": found}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
