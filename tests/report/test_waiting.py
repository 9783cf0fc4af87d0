"""Whatever takes long is shown: not at once, not on stdout, and nothing of it stays."""

import os
import pty
import subprocess
import sys
import threading
import time

import pytest

from lbbench.commands import waiting
from lbbench.progress import shown, watched


def test_what_nobody_watches_is_as_it_is():
    assert list(watched([3, 1, 2], "anything")) == [3, 1, 2]
    assert list(watched({"a": 1, "b": 2}, "anything")) == ["a", "b"]


def test_a_display_is_told_of_what_is_done_and_of_each_part():
    told = []

    class Told:
        def __init__(self, what, total):
            told.append((what, total))

        def __enter__(self):
            return lambda: told.append("part")

        def __exit__(self, *error):
            told.append("end")

    with shown(Told):
        for item in watched("ab", "letters"):
            told.append(item)
    assert told == [("letters", 2), "a", "part", "b", "part", "end"]
    list(watched("ab", "letters"))
    assert len(told) == 6


@pytest.fixture(autouse=True)
def on(monkeypatch):
    monkeypatch.setenv(waiting.VARIABLE, "on")


def test_elsewhere_long_work_is_one_line_and_short_work_none(capsys):
    with waiting.waiting(patience=0.05):
        list(watched(range(10), "short work"))
        for _ in watched(range(3), "long work"):
            list(watched(range(2), "work within"))
            time.sleep(0.05)
        list(watched(range(10), "short again"))
    time.sleep(0.1)
    assert tuple(capsys.readouterr()) == ("", "long work …\n")


def test_many_short_works_are_not_silent_together(capsys):
    with waiting.waiting(patience=1.0):
        for number in range(5):
            for _ in watched(range(4), f"work {number}"):
                time.sleep(0.1)
    said = capsys.readouterr().err.splitlines()
    assert 1 <= len(said) <= 3
    assert said[0] != "work 0 …"


def test_an_error_ends_the_display(capsys):
    def fail():
        with waiting.waiting(patience=0.05):
            for _ in watched(range(3), "work that fails"):
                raise KeyError

    with pytest.raises(KeyError):
        fail()
    time.sleep(0.1)
    assert tuple(capsys.readouterr()) == ("", "")
    assert not any(isinstance(thread, threading.Timer) for thread in threading.enumerate())


def test_it_can_be_turned_off(capsys, monkeypatch):
    monkeypatch.setenv(waiting.VARIABLE, "off")
    with waiting.waiting(patience=0.0):
        for _ in watched(range(3), "long work"):
            time.sleep(0.02)
    assert tuple(capsys.readouterr()) == ("", "")


SCRIPT = """
import time
from lbbench.commands.waiting import waiting
from lbbench.progress import watched
with waiting(patience={patience}):
    for i in watched(range(4), "counting 4 sheep"):
        time.sleep(0.3)
        print(f"sheep {{i}}", flush=True)
"""


def on_terminal(patience, stdout):
    """What a terminal gets of stderr, and what stdout holds, which goes to the terminal as well or to a pipe."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", waiting.VARIABLE: "on"}
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(patience=patience)],
        stdout=theirs if stdout == "terminal" else subprocess.PIPE, stderr=theirs, env=environment,
    )  # fmt: skip
    os.close(theirs)
    written = child.stdout.read().decode() if child.stdout else ""
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # the terminal is closed
        pass
    os.close(ours)
    assert child.wait(timeout=60) == 0
    return shown.decode(), written


def test_on_a_terminal_there_is_a_bar_that_goes_again():
    shown, written = on_terminal(0.1, "pipe")
    assert written.splitlines() == [f"sheep {i}" for i in range(4)]
    assert "counting 4 sheep" in shown
    assert "2/4" in shown
    assert "sheep 0" not in shown
    assert shown.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))  # the line is wiped


def test_what_is_printed_meanwhile_stays_whole():
    shown, _ = on_terminal(0.1, "terminal")
    for i in range(4):
        assert f"sheep {i}" in shown
    assert "counting 4 sheep" in shown


def test_nothing_is_shown_of_what_is_soon_done():
    assert on_terminal(30, "pipe") == ("", "sheep 0\nsheep 1\nsheep 2\nsheep 3\n")
