"""Kills of a process that plays a run between any two lines of what writes files, and within any write to a journal.

As a script, `OUT PLACE STEP KEY=VALUE…`, it tries every STEP'th moment at `lines` or in `writes` on the run that the
rest asks for, each in a fork of its own, and prints what was lost, a line each, and the number of kills.
"""

import os
import signal
import sys
from pathlib import Path

from chaos.studies import losses, traces
from lbbench.plan.sweeps import plan
from lbbench.records import files, journal
from lbbench.records import traces as parquet
from lbbench.records.run import runs
from lbbench.study import optimising, worker

WATCHED = {module.__file__ for module in (files, journal, parquet, worker)}
CUTS = (0, 1, 20, 10_000)  # bytes of a write that do not get to the disk when a machine dies: 1 is the end of the line


def play(task):
    """Play a run in this process; returns what became of it."""
    return worker.attempt(task, lambda: False, 1).status


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def forked(function, *arguments):
    """Call a function in a fork of this process, and print the lines that it returns; returns whether it was killed.

    All else that happens is in forks too: Arrow has threads once it has been used, and such a process cannot fork.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            print(*function(*arguments), sep="\n", end="", flush=True)
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or status == 0
    return os.WIFSIGNALED(status)


def disturbed(task, prepare):
    """Play a run after what will kill it has been prepared."""
    prepare()
    play(task)
    return ()


def at_line(number):
    """Die before the line that is executed as the so many'th."""

    def prepare():
        left = number

        def trace(frame, event, argument):
            nonlocal left
            if frame.f_code.co_filename not in WATCHED:
                return None
            left -= event == "line"
            if left < 0:
                die()
            return trace

        sys.settrace(trace)

    return prepare


def in_write(number):
    """Die within a write to the journal, of which a part gets to the disk."""

    def prepare():
        left, write = number // len(CUTS), os.write

        def torn(descriptor, data):
            nonlocal left
            left -= 1
            if left >= 0:
                return write(descriptor, data)
            write(descriptor, data[: max(0, len(data) - CUTS[number % len(CUTS)])])
            return die()

        os.write = torn

    return prepare


def taken_up(task, expected):
    """Play a run to its end, remove it, and return what was lost, a line each."""
    status = play(task)
    lost = [] if status in ("done", "there") else [f"{task.run.name} is {status}"]
    lost += losses(task.run.out, {task.run.path.relative_to(task.run.out): expected.read_text()})
    task.run.path.unlink(missing_ok=True)
    return [f"{line}\n" for line in lost]


def keep(task, expected):
    """Play a run undisturbed, keep what its trace says, and remove it."""
    play(task)
    (rows,) = traces(task.run.out).values()
    expected.write_text(rows)
    task.run.path.unlink()
    return ()


def sweep(task, expected, moment, step):
    """Kill a run at each moment that it lives to see, and take it up; returns the number of kills."""
    forked(keep, task, expected)
    kills = 0
    while forked(disturbed, task, moment(kills * step)):
        kills += 1
        forked(taken_up, task, expected)
    return kills


if __name__ == "__main__":
    out, place, step, *line = sys.argv[1:]
    (run,) = runs(plan([*line, f"out={out}/out"]))
    list(optimising.play(run.settings, run.seed))  # so that no fork pays for what is imported on the way
    moment = {"lines": at_line, "writes": in_write}[place]
    print(sweep(worker.Task(run, {}), Path(out, "expected"), moment, int(step)))
