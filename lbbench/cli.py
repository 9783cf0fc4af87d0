"""The command line: its commands, and what becomes of errors."""

import errno
import os
import sys
from typing import Annotated

import typer

from lbbench import __version__
from lbbench.commands import COMMANDS
from lbbench.commands.waiting import waiting
from lbbench.errors import NumericalError, UsageError
from lbbench.plan.registry import find

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
for name, where in COMMANDS.items():
    app.command(name)(find(where))


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Benchmark Bayesian optimisation when the length scale is unknown."""
    if version:
        typer.echo(f"lbbench {__version__}")
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The console script: errors of use are one line on stderr and exit code 2."""
    try:
        with waiting():
            code = app(standalone_mode=False)
    except UsageError as error:
        code = _complain(str(error))
    except typer.TyperException as error:
        message = error.format_message()
        dashed = "; settings are typed without dashes, such as method=lb" if "No such option" in message else ""
        code = _complain(message + dashed)
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


def _complain(message: str) -> int:
    prefix = "lbbench: "
    message = "".join(character if character.isprintable() or character == "\n" else "?" for character in message)
    typer.echo(prefix + message.replace("\n", "\n" + " " * len(prefix)), err=True)
    return 2
