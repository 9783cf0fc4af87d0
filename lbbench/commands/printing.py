"""What commands print, and how."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from lbbench.health.check import Check
    from lbbench.report.tables import Table

UNCUT = 1_000  # columns; a table takes what it needs of them


def show(table: "Table", console: "Console | None" = None, titled: bool = True) -> None:
    """Print a table, whole however narrow the terminal."""
    from rich.console import Console

    from lbbench.report.tables import grid

    console = console or Console(highlight=False, soft_wrap=True)
    if titled:
        console.print(f"\n{table.title}\n", style="bold", markup=False)
    if table.rows:
        uncut = Console(file=console.file, highlight=False, markup=False, width=UNCUT)  # a wrapped line loses nothing
        uncut.print(grid(table))
        console.print()
    console.print(table.note, style="dim", markup=False)


def say(line: str) -> None:
    """Print a line while work goes on; it stands above the bars, which Typer's `echo` would write past."""
    print(line)


def tell(checks: "Iterable[Check]") -> int:
    """Print what was checked, as it is; the exit code, which is 1 unless all is well."""
    code = 0
    for check in checks:
        say(f"{'!! ' if check.advice else 'ok '} {check.name:<14} {check.found}")
        if check.advice:
            say(f"    {'':<14} → {check.advice}")
            code = 1
    return code
