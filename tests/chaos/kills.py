"""Kills at random moments: of a whole command, of its first process alone, of a worker, of one of two commands."""

import os
import re
import shutil
import signal
import subprocess
import time

from chaos.studies import assert_whole, await_end, complete, end, start, workers
from lbbench.records.files import below
from lbbench.records.journal import peek

VICTIMS = ("session", "command", "worker")


def rounds(out, undisturbed, seconds, rng, kills, count):
    """Kill commands until there have been so many kills; after some in a row, one more run, and look.

    A moment is drawn from the `seconds` that the undisturbed command takes. A command that has ended by then counts as
    none.
    """
    done = 0
    while done < kills:
        for _ in range(min(rng.randint(1, 4), kills - done)):
            study = start(out)
            if _is_alive(study, rng.uniform(0, seconds)):
                killed = kill(study, rng)
                done += killed
                count("kills", killed)
            else:
                end(study, 0)
        complete(out)
        assert_whole(out, undisturbed, count)
        shutil.rmtree(out)


def kill(study, rng):
    """Kill a command or a part of it, and wait until it has ended, as it must; returns 0 if it had ended before."""
    victim = rng.choice(VICTIMS)
    if victim == "worker" and (found := workers(study)):
        killed = True
        try:
            os.kill(rng.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            killed = False
        end(study, 0)  # the run is played again
        return int(killed)
    if victim == "session":
        os.killpg(study.pid, signal.SIGKILL)
    else:
        study.kill()
    printed = study.communicate()[0]
    assert study.returncode in (0, -signal.SIGKILL), printed
    await_end(study)
    return int(study.returncode != 0)


def competition(out, undisturbed, seconds, rng, victims, count, *more):
    """Two commands at once on slow runs, the second with `more`; the `victims` are killed, and who is left does all.

    The moment is drawn from an eighth to a third of the `seconds` that the undisturbed command takes, once the first
    run has begun.
    """
    studies = [start(out, player="slow"), start(out, *more, player="slow")]
    while not below(out, ".jsonl"):
        assert studies[0].poll() is None
        time.sleep(0.02)
    moment = time.monotonic() + rng.uniform(seconds / 8, seconds / 3)
    while time.monotonic() < moment:
        assert more or all(len(peek(path)[0]) <= 1 for path in below(out, ".jsonl")), "two processes play one run"
        time.sleep(0.02)
    for study in (studies[number] for number in victims):
        if study.poll() is None:
            os.killpg(study.pid, signal.SIGKILL)
            count("kills", 1)
    printed = [study.communicate(timeout=300)[0] for study in studies]
    for study in studies:
        assert study.returncode in (0, -signal.SIGKILL), printed
        await_end(study)
    played = re.findall(r"^\[\d+/\d+\] (.*): simple regret", "".join(printed), re.MULTILINE)
    assert more or len(played) == len(set(played)), printed  # one of them plays a run, unless it is forced
    if all(study.returncode for study in studies) or more:  # one without force=true leaves alone what was there before
        complete(out)
    assert_whole(out, undisturbed, count)


def _is_alive(study, seconds):
    try:
        study.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False
