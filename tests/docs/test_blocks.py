"""Every block of code in the README and the docs does what it says: each page is played from top to bottom.

What Bash makes of a block is real, and so are the commands in it, but for `STAND_INS`. The command line of each
`lbbench` is checked as it stands, and then carried out here, with few steps and seeds.
"""

import contextlib
import os
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from pages import PAGES, ROOT, blocks

from lbbench import cli
from lbbench.plan import sweeps
from lbbench.plan.checks import CHECKS
from lbbench.plan.keys import ALIASES
from lbbench.study import execution, worker

STAND_INS = {
    # notes its arguments, for what is played once the block is over
    "lbbench": 'printf \'%s\\037\' "$@" >> "$CALLS"\nprintf \'\\036\' >> "$CALLS"',
    # is there such a target? To make it takes from minutes to hours
    "make": f'exec "{shutil.which("make")}" --dry-run --directory="{ROOT}" "$@" > /dev/null',
    # would change the environment of the tests; that there are such extras is tested in test_pages.py
    "pip": "",
    "dask": f'exec "{sys.executable}" -m dask "$@"',
}
SHORT = {"seeds": "2", "iterations": "2"}
BRIEF = {"run": SHORT, "ablate": SHORT, "findings": SHORT, "plot": {"format": "png"}}  # instead of what commands say
FILES = {
    "data.csv": ["temperature,pressure,yield", *(f"{20 + 3 * i},{1 + i % 4},{i * (11 - i)}" for i in range(12))],
    "batches.csv": [
        "batch,date,solvent,temperature,loss",
        *(f"{i},2024-01-{i + 1:02},{'water' if i % 2 else 'ethanol'},{20 + i},{(i - 5) ** 2}" for i in range(12)),
    ],
    "readings.csv": [
        "date,hour,hall,kitchen,office",
        *(f"2024-01-01,{i}:00,{20 + i % 5},{18 + i % 7},{19 + i * i % 11}" for i in range(24)),
    ],
}
MINE = next(block for block in blocks(ROOT / "docs" / "own-method.md") if block.file == "mine.py")


class Here:
    """A crew without processes of its own, which would load everything anew."""

    stopping = False

    def __init__(self, jobs, threads, timeout):
        self.threads = threads

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def play(self, tasks):
        return map(self.alone, tasks)

    def alone(self, task):
        return worker.attempt(task, lambda: False, self.threads)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The directory in which a page is played."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name, script in STAND_INS.items():
        (bin_ / name).write_text(f"#!/bin/sh\n{script}\n")
        (bin_ / name).chmod(0o755)
    here = tmp_path / "here"
    here.mkdir()
    for name, lines in FILES.items():
        (here / name).write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("PATH", str(bin_), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setattr(execution, "Crew", Here)
    monkeypatch.chdir(here)
    before = dict(CHECKS)  # to which settings of one's own are added
    yield here
    sys.modules.pop("mine", None)
    CHECKS.clear()
    CHECKS.update(before)


@contextlib.contextmanager
def in_bash(code, directory):
    """Carry out the lines of a block, each of which must succeed; what runs in the background ends with the context."""
    with (directory / "printed").open("w+") as printed:
        script = f"set -euo pipefail\n{code}"
        bash = subprocess.Popen(["bash", "-c", script], stdout=printed, stderr=printed, start_new_session=True)
        try:
            ended = bash.wait(timeout=60)
            printed.seek(0)
            assert ended == 0, printed.read()
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(bash.pid, signal.SIGKILL)


def noted(calls):
    """The command lines that were noted meanwhile."""
    if not calls.exists():
        return []
    found = [call.split("\037")[:-1] for call in calls.read_text().split("\036")[:-1]]
    calls.unlink()
    return found


def brief(command, *words):
    """The words of a command, with what makes it brief; it must be right as it stands."""
    own = BRIEF.get(command, {})
    if own is SHORT:
        sweeps.plan(words)
    given = {word.partition("=")[0]: word for word in words}
    kept = [word for key, word in given.items() if ALIASES.get(key, key) not in own]
    return [command, *kept, *(f"{key}={value}" for key, value in own.items())]


def carried_out(words, monkeypatch):
    """Carry out a command, which must succeed."""
    monkeypatch.setattr(sys, "argv", ["lbbench", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code, words


def free_port():
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_a_page_can_be_played_from_top_to_bottom(page, place, tmp_path, monkeypatch, capsys):
    if page.name == "README.md":
        (place / MINE.file).write_text(MINE.code)  # as its page has it
    port = str(free_port())
    comments = ""
    for block in blocks(page):
        assert block.language in ("sh", "python")
        if block.language == "sh":
            comments += "\n".join(re.findall("#.*", block.code))
            if "dask" in block.code:
                pytest.importorskip("distributed")
            with in_bash(block.code.replace("8786", port), tmp_path):
                for words in noted(tmp_path / "calls"):
                    carried_out(brief(*(word.replace("8786", port) for word in words)), monkeypatch)
        else:
            (place / (block.file or "block.py")).write_text(block.code)
            runpy.run_path(block.file or "block.py", run_name="__main__")
    printed = capsys.readouterr().out
    for file in re.findall(r"results/[\w./-]*\w", comments):
        assert (place / file).exists(), file
    for line in re.findall(r"point 1: .*", comments):
        assert line in printed
