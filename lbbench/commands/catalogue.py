"""Commands that tell what there is, and whether it is sound."""

import typer

from lbbench.commands.arguments import Kind, Name, Overrides, Place, Shell
from lbbench.errors import UsageError, printable

GROUPS = {"methods": "method", "problems": "problem", "experiments": "experiment"}


def list_(kind: Kind = "") -> None:
    """List methods, problems and preset experiments."""
    from lbbench.plan.configs import described
    from lbbench.plan.registry import clashes, introduction, is_plugin

    if kind and kind not in GROUPS:
        raise UsageError(f"list {printable(kind)}: allowed are {', '.join(GROUPS)}")
    for plural, group in GROUPS.items():
        if kind in ("", plural):
            typer.echo(plural)
            for name, comment in described(group).items():
                text = introduction(comment) if is_plugin(group, name) else comment
                typer.echo(f"  {name:<16} {text}")
            for clash in clashes(group).values():
                typer.echo(f"  {clash}")


def show(overrides: Overrides = None) -> None:
    """Show settings with what they may be, and a problem's facts.

    lbbench show method=lb
    """
    from lbbench.plan.sweeps import plan

    planned = plan(overrides or [])
    from lbbench.plan.show import show as lines

    for line in lines(planned, {override.partition("=")[0] for override in overrides or []}):
        typer.echo(line)


def check(name: Name, settings: Overrides = None) -> None:
    """Check a method or problem of your own. Determinism, bounds, resume, and what else studies rely on.

    lbbench check mypkg:MyMethod
    """
    from lbbench.commands.printing import tell
    from lbbench.health.conformance import checks

    raise typer.Exit(tell(checks(name, settings or [])))


def doctor(arguments: Place = None) -> None:
    """Check what lbbench needs. Versions, cores, threads, memory, disk, configs, data.

    lbbench doctor out=results
    """
    from lbbench.commands.printing import tell
    from lbbench.health.doctor import checks, where

    raise typer.Exit(tell(checks(where(arguments or []))))


def completion(shell: Shell) -> None:
    """Print what a shell needs for completion by Tab. To have it in this session: eval "$(lbbench completion bash)".

    In zsh: eval "$(lbbench completion zsh)"; in fish: lbbench completion fish | source
    """
    from lbbench.commands.completion import SCRIPTS

    if shell not in SCRIPTS:
        raise UsageError(f"completion {printable(shell)}: allowed are {', '.join(SCRIPTS)}")
    typer.echo(SCRIPTS[shell])
