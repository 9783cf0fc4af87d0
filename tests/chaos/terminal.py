"""The command line in this process: what it prints, its exit code, and the files that it touches."""

import contextlib
import io
import os
import shutil
import sys
from pathlib import Path
from unittest import mock

from lbbench import cli
from lbbench.plan.words import split
from lbbench.study import machine, worker
from lbbench.study.worker import Task

PLAYED = 2  # runs of a line, at most, of so many steps at most; the others are planned and left


def call(arguments):
    """Exit code, output and errors of `lbbench` with these arguments; anything but an exit is raised."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace")]
    patches = (
        mock.patch.object(sys, "argv", ["lbbench", *arguments]),
        mock.patch.object(sys, "stdout", streams[0]),
        mock.patch.object(sys, "stderr", streams[1]),
        mock.patch("lbbench.commands.session.execute", _execute),
    )
    code = 0
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        try:
            cli.main()
        except SystemExit as exit_:
            code = exit_.code or 0
    for stream in streams:
        stream.flush()
    return code, *(stream.buffer.getvalue().decode() for stream in streams)


def _execute(todo, study, report, player):
    """Plays small runs here and now; a worker would take seconds to start."""
    outcomes = []
    for run in [run for run in todo if run.settings["iterations"] <= PLAYED][:PLAYED]:
        outcomes.append(
            worker.attempt(Task(run, machine.provenance(), study["on_nan"], study["force"]), lambda: False, 1)
        )
        report(outcomes[-1])
    return outcomes


def is_inside(arguments, top):
    """Whether all that these arguments could take for a path is in `top`, the current directory in mind."""
    return all(_place(part).is_relative_to(top) for argument in arguments for part in _parts(argument))


def places(arguments):
    """Where these arguments say that files may go."""
    own = [
        part
        for argument in arguments
        if argument.partition("=")[0] in ("out", "study.out", "to")
        for part in _parts(argument)
    ]
    return [_place(part) for part in ("results", *own)]


def _parts(argument):
    return [part.strip("'\" ") for part in split(argument.partition("=")[2] or argument)]


def _place(part):
    return Path(os.path.normpath(Path.cwd() / os.path.expanduser(part)))


def snapshot(top):
    """Every file and directory below `top`, with what changes if it is written to."""
    entries = {path: path.lstat() for path in top.rglob("*")}
    return {
        path: (stat.st_ino, stat.st_size, stat.st_mtime_ns if path.is_file() else 0) for path, stat in entries.items()
    }


def restore(before, top):
    """Remove what is new below `top`."""
    for path in sorted(snapshot(top).keys() - before.keys()):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
