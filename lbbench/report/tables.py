"""A table, and the ways to write it: on the terminal, as Markdown, CSV and LaTeX."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lbbench.errors import UsageError


class Estimate(NamedTuple):
    """A mean and its standard error, which is NaN for a single value."""

    mean: float
    error: float


Cell = str | int | float | Estimate


@dataclass(frozen=True)
class Table:
    """Rows of cells below a header, with a title above and a note below."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    note: str = ""

    def numeric(self, column: int) -> bool:
        """Whether a column holds numbers, which are aligned to the right."""
        return any(not isinstance(row[column], str) for row in self.rows)


def filled(table: Table, why: Mapping[str, str] | None = None) -> Table:
    """The table without its empty columns; the note then tells `why` one, by its name, is not there."""
    if not table.rows:
        return table
    kept = [i for i in range(len(table.header)) if any(text(row[i]) for row in table.rows)]
    gone = [name for i, name in enumerate(table.header) if i not in kept]
    notes = dict.fromkeys([table.note, *((why or {}).get(name, "") for name in gone)])
    rows = [tuple(row[i] for i in kept) for row in table.rows]
    return replace(table, header=tuple(table.header[i] for i in kept), rows=rows, note="; ".join(filter(None, notes)))


def plus_minus(mean: float, error: float) -> str:
    """`mean ± error` with two significant digits of the error; the mean alone if there is no error."""
    if not math.isfinite(error):
        return f"{mean:.4g}"
    if error == 0:
        return f"{mean:.4g} ± 0"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 6:
        return f"{mean:.2g} ± {error:.2g}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def text(cell: Cell) -> str:
    """A cell as it is read: numbers with three significant digits, nothing for NaN."""
    if isinstance(cell, Estimate):
        return plus_minus(*cell)
    if not isinstance(cell, float):
        return str(cell)
    if math.isnan(cell):
        return ""
    return f"{cell:.0f}" if cell == 0 or 1e3 <= abs(cell) < 1e6 else f"{cell:#.3g}".rstrip(".")


def grid(table: Table) -> Any:
    """The table as rich prints it, without title and note."""
    from rich.table import Table as Grid

    found = Grid(box=None, header_style="bold", pad_edge=False)
    for i, name in enumerate(table.header):
        found.add_column(name, justify="right" if table.numeric(i) else "left", no_wrap=True)
    for row in table.rows:
        found.add_row(*map(text, row))
    return found


def markdown(table: Table) -> Iterator[str]:
    """The lines of the table in Markdown."""
    if table.title:
        yield from (f"## {table.title}", "")
    if table.rows:
        yield "| " + " | ".join(table.header) + " |"
        yield "|" + "".join("---:|" if table.numeric(i) else "---|" for i in range(len(table.header)))
        for row in table.rows:
            yield "| " + " | ".join(text(cell).replace("|", r"\|") for cell in row) + " |"
    if table.note:
        yield from ("", table.note)


def comma_separated(table: Table) -> Iterator[str]:
    """The lines of the table as CSV, numbers in full; an estimate fills two columns, the second named `…_se`.

    Raises `UsageError` for a table without rows, since a note has no place in CSV.
    """
    if not table.rows:
        raise UsageError(table.note or f"{table.title} has no rows")
    pairs = [any(isinstance(row[i], Estimate) for row in table.rows) for i in range(len(table.header))]
    header = []
    for name, pair in zip(table.header, pairs, strict=True):
        header += [name.replace(" ", "_"), f"{name.replace(' ', '_')}_se"][: 1 + pair]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for row in table.rows:
        cells: list[Cell] = []
        for cell, pair in zip(row, pairs, strict=True):
            cells += cell if isinstance(cell, Estimate) else [cell, ""][: 1 + pair]
        writer.writerow("" if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells)
    yield from file.getvalue().splitlines()


def latex(table: Table) -> Iterator[str]:
    """The lines of the table as a LaTeX `tabular` with the rules of booktabs."""
    yield f"% {table.title}; needs \\usepackage{{booktabs}}"
    yield "\\begin{tabular}{" + "".join("r" if table.numeric(i) else "l" for i in range(len(table.header))) + "}"
    yield from ("\\toprule", " & ".join(map(_escape, table.header)) + " \\\\", "\\midrule")
    for row in table.rows:
        yield " & ".join(_escape(cell) if isinstance(cell, str) else _maths(text(cell)) for cell in row) + " \\\\"
    yield from ("\\bottomrule", "\\end{tabular}")
    if table.note:
        yield f"% {table.note}"


LATEX = {
    **{special: "\\" + special for special in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "θ": r"$\theta$",
    "₀": "$_0$",
    "−": "$-$",
    "±": r"$\pm$",
    "d̂": r"$\hat{d}$",
}


def _escape(words: str) -> str:
    return re.sub("|".join(map(re.escape, LATEX)), lambda match: LATEX[match[0]], words)


def _maths(number: str) -> str:
    power = re.sub(r"e([+-])0*(\d+)", lambda match: rf" \times 10^{{{match[1].strip('+')}{match[2]}}}", number)
    return f"${power.replace('±', chr(92) + 'pm')}$" if number else ""


WRITERS: dict[str, Callable[[Table], Iterator[str]]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "latex": latex,
}
