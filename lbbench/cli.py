"""The command line. Each command parses, calls one function, and prints."""

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lbbench.errors import NumericalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lbbench.health.doctor import Check
    from lbbench.report.collection import Collection
    from lbbench.report.selection import Selection

INTERRUPTED = 130  # what Typer makes of Ctrl-C
MISPLACED = {  # what the system says of a path, given by out= or to=, that cannot be
    errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EPERM,
    errno.EROFS,
}  # fmt: skip

app = typer.Typer(
    name="lbbench",
    help="Benchmark Bayesian optimisation when the length scale is unknown.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE[,VALUE]", help="Settings; commas sweep. See `lbbench show`.", show_default=False),
]

Filters = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE[,VALUE]", help="See above; commas give several.", show_default=False),
]

Place = Annotated[
    list[str] | None,
    typer.Argument(metavar="out=…", help="Where traces go.", show_default=False),
]


@app.command()
def run(overrides: Overrides = None) -> None:
    """Run methods on problems; what is already there is skipped.

    lbbench run method=lb,mle problem=michalewicz,agnp seeds=10
    """
    from lbbench.plan.overrides import plan

    planned = plan(overrides or [])
    from lbbench.commands.session import Session

    raise typer.Exit(Session(planned).run())


@app.command()
def ablate(overrides: Overrides = None) -> None:
    """Vary a setting or two. Runs what is missing, prints the table, draws Figure 4 into <out>/figures.

    lbbench ablate g=t^0.25,t^0.5,t^0.75
    """
    from lbbench.report import ablation

    raise typer.Exit(ablation.run(ablation.plan(overrides or [])))


@app.command()
def status(overrides: Overrides = None) -> None:
    """Show how far the runs of a command line are. Without settings: those of all commands so far, and all at hand.

    lbbench status +experiment=figure3
    """
    from lbbench.plan.overrides import plan

    planned = plan(overrides or [])
    from lbbench.health.status import statuses

    found = statuses(planned)
    if not found:
        raise UsageError(f"no runs in {planned.study['out']}; begin some: lbbench run method=lb problem=michalewicz")
    from lbbench.commands.session import show
    from lbbench.health.progress import details, table

    show(table(found), titled=False)
    for line in details(found):
        typer.echo(line)


@app.command()
def worker_plan(overrides: Overrides = None) -> None:
    """Tell how long the runs that are missing will take. By the step times of runs that are there in out=.

    lbbench worker-plan +experiment=figure3 jobs=64 execution=slurm
    """
    from lbbench.plan.overrides import plan

    planned = plan(overrides or [])
    from lbbench.health.estimate import at_hand, estimate
    from lbbench.study.runner import runs

    asked = runs(planned)
    collection = at_hand(planned, asked)
    for message in collection.unreadable:
        typer.echo(f"left out: {message}", err=True)
    there = set() if planned.study["force"] else {trace.key for trace in collection.traces}
    todo = [run for run in asked if run.key not in there]
    if not todo:
        typer.echo(f"all {len(asked)} runs are there")
        return
    from lbbench.commands.session import show

    table, unknown = estimate(planned, todo, collection)
    if table.rows:
        show(table, titled=False)
    for line in unknown:
        typer.echo(line)


@app.command()
def plot(arguments: Filters = None) -> None:
    """Draw all figures that the traces allow. They go to <out>/figures.

    Own keys: figure=1,2,3,4,time,candidates,cumulative format=png,pdf band=se|sd; all others choose traces.

    lbbench plot figure=3 problem=agnp
    """
    from lbbench.report.plot import KEYS
    from lbbench.report.plot import plot as lines
    from lbbench.report.selection import select

    selection = select(arguments or [], KEYS)
    selection.one("band")  # which is refused before anything heavy loads
    for line in lines(_collect(selection), selection):  # without traces there is figure 1
        typer.echo(line)


@app.command()
def table(arguments: Filters = None) -> None:
    """Print final regrets, ranks, tests and times. Also Table 1's factors.

    Own keys: table=summary,ranks,tests,factors,times format=text|markdown|csv|latex variants=usual|all; all others
    choose traces.

    lbbench table problem=agnp format=latex table=summary
    """
    from lbbench.plan.checks import choice
    from lbbench.report.selection import select
    from lbbench.report.tables import KINDS, WRITERS

    own = {"table": choice(*KINDS), "format": choice("text", *WRITERS), "variants": choice("usual", "all")}
    selection = select(arguments or [], own)
    form = selection.one("format", "text")
    kinds = selection.many("table", ("summary",) if form in ("csv", "latex") else KINDS)
    if form == "csv" and len(kinds) > 1:
        raise UsageError(f"table takes one value with format=csv, not {len(kinds)}")
    collection = _gather(selection)
    from lbbench.commands.session import show
    from lbbench.report.summaries import choose, tables

    variants = choose(collection, selection)
    for i, found in enumerate(tables(collection, variants, kinds)):
        if form == "text":
            show(found)
        else:
            typer.echo("\n" * min(i, 1) + "\n".join(WRITERS[form](found)))
    if others := len(collection.variants) - len(variants):
        typer.echo(f"{others} more at hand, with other settings: variants=all shows them", err=True)


@app.command()
def export(arguments: Filters = None) -> None:
    """Collect traces in a few compact files. One per problem, below to= (default: <out>/paper).

    Own keys: to= force=true|false thin=none|10 (so many steps per decade of each run), and +experiment= for the runs
    of a preset; all others choose traces.

    lbbench export +experiment=figure3 to=results/paper
    """
    from lbbench.plan.checks import CHECKS, choice, either, integer
    from lbbench.plan.configs import options
    from lbbench.report.selection import select

    thin = either("none", integer(at_most=1_000))
    presets = choice(*options("experiment"))
    own = {"to": CHECKS["out"], "force": CHECKS["force"], "thin": thin, "+experiment": presets}
    selection = select(arguments or [], own)
    per_decade = selection.one("thin", "none")
    to = _destination(selection, "paper")
    collection = _gather(selection)
    from lbbench.report.export import export as write
    from lbbench.report.export import runs_of_preset

    if "+experiment" in selection.own:
        collection = runs_of_preset(collection, selection.overrides)
    kept = None if per_decade == "none" else per_decade
    for file in write(collection, to, selection.one("force", False), kept):
        typer.echo(f"wrote {file} ({file.stat().st_size / 1e3:.0f} kB)")


@app.command()
def report(arguments: Filters = None) -> None:
    """Write all results into one HTML file. It is read offline: <out>/report.html, or to=.

    Own keys: to= variants=usual|all; all others choose traces.

    lbbench report problem=agnp method=lb,mle
    """
    from lbbench.plan.checks import CHECKS, choice
    from lbbench.report.selection import select

    selection = select(arguments or [], {"to": CHECKS["out"], "variants": choice("usual", "all")})
    file = _destination(selection, "report.html")
    collection = _gather(selection)
    from lbbench.report.html import write
    from lbbench.report.summaries import choose

    write(selection.out, collection, choose(collection, selection), file)
    typer.echo(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)")


Directory = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Has experiment.yaml.", show_default=False)]


@app.command()
def ask(directory: Directory, arguments: Filters = None) -> None:
    """Print the next point of your own experiment. Or several at a time: n=3 has three pending.

    lbbench ask experiment/
    """
    from lbbench.plan.checks import integer_of
    from lbbench.plan.overrides import pairs

    given = pairs(arguments or [], ["n"])
    count = integer_of("n", given.get("n", "1"), at_most=1_000)
    from lbbench.asktell.experiment import opened

    with opened(directory) as experiment:
        for i, x in enumerate(experiment.ask(count), start=1):
            typer.echo(f"point {i}: {experiment.text(x)}")


@app.command()
def tell(directory: Directory, arguments: Filters = None) -> None:
    """Note the value of a point. The pending one, or point= of several, or of the inputs that are given.

    lbbench tell experiment/ y=3.2
    """
    from lbbench.plan.overrides import pairs

    given = pairs(arguments or [])
    from lbbench.asktell.experiment import opened

    with opened(directory) as experiment:
        x, y = experiment.tell(given)
        typer.echo(f"told: {experiment.text(x)} y={'failed' if y is None else f'{y:g}'}")
        if len(experiment.optimizer.y):
            best, value = experiment.optimizer.best
            typer.echo(f"best: {experiment.text(best)} y={value:g}")


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(metavar="[methods|problems|experiments]", show_default=False)] = "",
) -> None:
    """List methods, problems and preset experiments."""
    from lbbench.plan.configs import described

    groups = {"methods": "method", "problems": "problem", "experiments": "experiment"}
    if kind and kind not in groups:
        from lbbench.plan.checks import printable

        raise UsageError(f"list {printable(kind)}: allowed are {', '.join(groups)}")
    for plural, group in groups.items():
        if kind in ("", plural):
            typer.echo(plural)
            for name, comment in described(group).items():
                typer.echo(f"  {name:<16} {comment}")


@app.command()
def show(overrides: Overrides = None) -> None:
    """Show settings with what they may be, and a problem's facts.

    lbbench show method=lb
    """
    from lbbench.plan.overrides import plan

    planned = plan(overrides or [])
    from lbbench.plan.show import show as lines

    for line in lines(planned, {override.partition("=")[0] for override in overrides or []}):
        typer.echo(line)


@app.command()
def findings(overrides: Overrides = None) -> None:
    """Check a paper's findings on traces. Those of +experiment=findings, or =bandits; writes <out>/findings.md.

    lbbench findings
    """
    from lbbench.plan.overrides import pick, plan, read

    line = overrides or []
    if (preset := read(line).get("+experiment")) is None:
        preset, line = ["findings"], ["+experiment=findings", *line]
    planned = plan(line)
    file = Path(planned.study["out"]).expanduser() / "findings.md"
    if pick("+experiment", preset, {"findings": "", "bandits": ""}) == ["bandits"]:
        from lbbench.report import bandits
        from lbbench.report.collection import Collection

        bandits.write(Collection.at(file.parent), line, file)
    else:
        from lbbench.report.findings import write
        from lbbench.report.selection import command_line
        from lbbench.study.runner import runs

        write(runs(planned), file, command_line(*line))
    typer.echo(f"wrote {file}")


@app.command()
def check(
    name: Annotated[str, typer.Argument(metavar="NAME|MODULE:NAME", help="A method or problem.", show_default=False)],
    settings: Overrides = None,
) -> None:
    """Check a method or problem of your own. Determinism, bounds, resume, and what else studies rely on.

    lbbench check mypkg:MyMethod
    """
    from lbbench.health.conformance import checks

    raise typer.Exit(0 if _told(checks(name, settings or [])) else 1)


@app.command()
def doctor(arguments: Place = None) -> None:
    """Check what lbbench needs. Versions, cores, threads, memory, disk, configs, data.

    lbbench doctor out=results
    """
    from lbbench.health.doctor import checks, where

    raise typer.Exit(0 if _told(checks(where(arguments or []))) else 1)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Benchmark Bayesian optimisation when the length scale is unknown."""
    if version:
        from lbbench import __version__

        typer.echo(f"lbbench {__version__}")
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The console script: errors of use are one line on stderr and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        code = _complain(str(error))
    except typer.TyperException as error:
        code = _complain(error.format_message())
    except NumericalError as error:
        _complain(str(error))
        code = 1
    except BrokenPipeError:  # what reads the output, such as head, has seen enough
        code = 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still writes when it ends
    except OSError as error:
        code = _complain(f"{error.filename} cannot be used: {error.strerror}" if error.filename else str(error))
        code = code if error.errno in MISPLACED else 1
    if code == INTERRUPTED:
        print(
            "lbbench: interrupted; all that was evaluated is kept, the same command goes on from there", file=sys.stderr
        )
    sys.exit(code)


def _told(checks: "Iterable[Check]") -> bool:
    """Print what was checked; whether all is well."""
    healthy = True
    for check in checks:
        healthy &= not check.advice
        typer.echo(f"{'ok ' if not check.advice else '!! '} {check.name:<14} {check.found}")
        if check.advice:
            typer.echo(f"    {'':<14} → {check.advice}")
    return healthy


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


def _destination(selection: "Selection", usual: str) -> Path:
    """Where `to=` says that the result goes, or else its usual place below the output directory."""
    from lbbench.plan.checks import inside

    to = selection.one("to")
    return selection.out / usual if to is None else inside(selection.out, "to", to)


def _complain(message: str) -> int:
    prefix = "lbbench: "
    message = "".join(character if character.isprintable() or character == "\n" else "?" for character in message)
    typer.echo(prefix + message.replace("\n", "\n" + " " * len(prefix)), err=True)
    return 2
