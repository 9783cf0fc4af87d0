"""Kills of a process that plays a run, forked for it, between any two lines of what writes files; and torn writes."""

import os
import signal
import sys

from chaos.studies import assert_whole

from lbbench.study import files, journal, traces, worker

WATCHED = {module.__file__ for module in (files, journal, traces, worker)}


def play(task):
    """Play a run in this process; returns what became of it."""
    return worker.attempt(task, lambda: False, 1).status


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def dies(task, prepare):
    """Play a run in a fork of this process, after `prepare`; returns whether it died of it."""
    child = os.fork()
    if child == 0:
        try:
            prepare()
            play(task)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


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


def in_write(number, part):
    """Die within a write to the journal, of which a part gets to the disk, as when a machine dies."""

    def prepare():
        left, write = number, os.write

        def torn(descriptor, data):
            nonlocal left
            left -= 1
            if left >= 0:
                return write(descriptor, data)
            write(descriptor, data[: int(part * len(data))])
            die()

        os.write = torn

    return prepare


def sweep(task, undisturbed, moments, count):
    """Kill a run at each of the moments that it lives to see, and take it up; nothing is lost."""
    for moment in moments:
        if not dies(task, moment):
            return
        count("kills between lines", 1)
        assert play(task) in ("done", "there")
        wanted = {path: rows for path, rows in undisturbed.items() if task.run.out / path == task.run.path}
        assert_whole(task.run.out, wanted, count)
        task.run.path.unlink()
    raise AssertionError("the run has more moments than were tried")
