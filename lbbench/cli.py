"""The command line. Each command parses, calls one function, and prints."""

import sys
from typing import Annotated

import typer

from lbbench.errors import UsageError

INTERRUPTED = 130  # what Typer makes of Ctrl-C

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


@app.command()
def run(overrides: Overrides = None) -> None:
    """Run methods on problems; what is already there is skipped.

    lbbench run method=lb,mle problem=michalewicz,agnp seeds=10
    """
    from lbbench.study.overrides import plan

    planned = plan(overrides or [])
    from lbbench.report.terminal import Session

    raise typer.Exit(Session(planned).run())


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(metavar="[methods|problems|experiments]", show_default=False)] = "",
) -> None:
    """List methods, problems and preset experiments."""
    from lbbench.study.configs import options

    groups = {"methods": "method", "problems": "problem", "experiments": "experiment"}
    if kind and kind not in groups:
        raise UsageError(f"list {kind}: allowed are {', '.join(groups)}")
    for plural, group in groups.items():
        if kind in ("", plural):
            typer.echo(plural)
            for name, comment in options(group).items():
                typer.echo(f"  {name:<14} {comment}")


@app.command()
def show(overrides: Overrides = None) -> None:
    """Show settings with what they may be, and a problem's facts.

    lbbench show method=lb
    """
    from lbbench.study.overrides import plan

    planned = plan(overrides or [])
    from lbbench.study.show import show as lines

    for line in lines(planned, {override.partition("=")[0] for override in overrides or []}):
        typer.echo(line)


@app.command()
def findings(overrides: Overrides = None) -> None:
    """Check the paper's findings on the traces of +experiment=findings; writes <out>/findings.md.

    lbbench findings
    """
    from lbbench.study.overrides import plan

    line = ["+experiment=findings", *(overrides or [])]
    planned = plan(line)
    from pathlib import Path

    from lbbench.report.findings import write
    from lbbench.study.runner import runs

    file = Path(planned.study["out"]).expanduser() / "findings.md"
    write(runs(planned), file, " ".join(line))
    typer.echo(f"wrote {file}")


@app.command()
def doctor() -> None:
    """Check what lbbench needs: versions, cores, memory, disk, data, configs."""
    from lbbench.study.doctor import checks

    healthy = True
    for check in checks():
        healthy &= not check.advice
        typer.echo(f"{'ok ' if not check.advice else '!! '} {check.name:<10} {check.found}")
        if check.advice:
            typer.echo(f"    {'':<10} → {check.advice}")
    raise typer.Exit(0 if healthy else 1)


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
    except OSError as error:
        code = 1
        print(f"lbbench: {error}", file=sys.stderr)
    if code == INTERRUPTED:
        print("lbbench: interrupted; finished runs are kept, the same command does the rest", file=sys.stderr)
    sys.exit(code)


def _complain(message: str) -> int:
    prefix = "lbbench: "
    typer.echo(prefix + message.replace("\n", "\n" + " " * len(prefix)), err=True)
    return 2
