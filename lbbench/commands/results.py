"""Commands that show what runs came to: they read traces, and run nothing."""

from typing import TYPE_CHECKING

import typer

from lbbench.commands.arguments import Filters, Overrides
from lbbench.errors import UsageError

if TYPE_CHECKING:
    from lbbench.report.collection import Collection
    from lbbench.report.selection import Selection


def plot(arguments: Filters = None) -> None:
    """Draw all figures that the traces allow. They go to <out>/figures.

    Own keys: figure=1,2,3,4,time,candidates,cumulative format=png,pdf band=se|sd; all others choose traces.

    lbbench plot figure=3 problem=agnp
    """
    from lbbench.commands.own import own_keys
    from lbbench.report.plot import check_own
    from lbbench.report.plot import plot as lines
    from lbbench.report.selection import select

    selection = select(arguments or [], own_keys("plot"))
    check_own(selection)  # before anything heavy loads
    from lbbench.commands.printing import say

    for line in lines(_collect(selection), selection):
        say(line)


def table(arguments: Filters = None) -> None:
    """Print final regrets, ranks, tests and times. Also Table 1's factors.

    Own keys: table=summary,ranks,tests,factors,times format=text|markdown|csv|latex variants=usual|all; all others
    choose traces.

    lbbench table problem=agnp format=latex table=summary
    """
    from lbbench.commands.own import own_keys
    from lbbench.report.selection import select
    from lbbench.report.tables import WRITERS
    from lbbench.report.views import tables, view_of

    selection = select(arguments or [], own_keys("table"))
    form = selection.one("format", "text")
    names = selection.many("table", ("summary",) if form in ("csv", "latex") else tables())
    if form == "csv" and len(names) > 1:
        raise UsageError(f"table takes one value with format=csv, not {len(names)}")
    collection = _gather(selection)
    from lbbench.commands.printing import show
    from lbbench.plan.registry import find
    from lbbench.report.summaries import choose

    variants = choose(collection, selection)
    shown = []
    for kind in collection.kinds:
        view = view_of(kind)
        own = [variant for variant in variants if variant.settings.kind == kind]
        shown += find(view.tabulate)(collection.of_kind(kind), own, [name for name in names if name in view.tables])
    for i, found in enumerate(shown):
        if form == "text":
            show(found)
        else:
            typer.echo("\n" * min(i, 1) + "\n".join(WRITERS[form](found)))
    if others := len(collection.variants) - len(variants):
        typer.echo(f"{others} more at hand, with other settings: variants=all shows them", err=True)


def export(arguments: Filters = None) -> None:
    """Collect traces in a few compact files. One per problem, below to= (default: <out>/paper).

    Own keys: to= force=true|false thin=none|10 (so many steps per decade of each run), and +experiment= for the runs
    of a preset; all others choose traces.

    lbbench export +experiment=figure3 to=results/paper
    """
    from lbbench.commands.own import own_keys
    from lbbench.report.selection import select

    selection = select(arguments or [], own_keys("export"))
    per_decade = selection.one("thin", "none")
    to = selection.destination("paper")
    collection = _gather(selection)
    from lbbench.report.export import export as write
    from lbbench.report.export import runs_of_preset

    if "+experiment" in selection.own:
        collection = runs_of_preset(collection, selection.overrides)
    kept = None if per_decade == "none" else per_decade
    for file in write(collection, to, selection.one("force", False), kept):
        typer.echo(f"wrote {file} ({file.stat().st_size / 1e3:.0f} kB)")


def report(arguments: Filters = None) -> None:
    """Write all results into one HTML file. It is read offline: <out>/report.html, or to=.

    Own keys: to= variants=usual|all; all others choose traces.

    lbbench report problem=agnp method=lb,mle
    """
    from lbbench.commands.own import own_keys
    from lbbench.report.selection import select

    selection = select(arguments or [], own_keys("report"))
    file = selection.destination("report.html")
    collection = _gather(selection)
    from lbbench.report.html import write
    from lbbench.report.summaries import choose

    write(selection.out, collection, choose(collection, selection), file)
    typer.echo(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)")


def findings(overrides: Overrides = None) -> None:
    """Check a paper's findings on traces. Those of +experiment=findings, or =bandits; writes <out>/findings.md.

    lbbench findings
    """
    from lbbench.report.findings import write

    typer.echo(f"wrote {write(overrides or [])}")


def _collect(selection: "Selection") -> "Collection":
    """The traces that were asked for; files that are no traces are named on stderr."""
    from lbbench.report.collection import Collection

    collection = Collection.at(selection.out, selection.wanted)
    for message in collection.unreadable:
        typer.echo(f"left out: {message}", err=True)
    return collection


def _gather(selection: "Selection") -> "Collection":
    """The same, at least one."""
    if collection := _collect(selection):
        return collection
    raise UsageError(selection.nothing_found)
