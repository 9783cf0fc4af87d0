"""Whatever happens to a study, one more run gives all of it, bit for bit: a little of `make chaos` (see `chaos`)."""

import errno
import random
import subprocess
import sys
import time

import faults
import pytest
from chaos import disks, kills, studies
from chaos.amounts import SEED, amount

from lbbench.plan.sweeps import plan
from lbbench.records.run import runs

FAULTY = [studies.ALL, "problem=berkenkamp", "iterations=4", "seeds=2", "jobs=2"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The traces of the study, and the seconds that its command takes."""
    out = tmp_path_factory.mktemp("undisturbed")
    started = time.monotonic()
    studies.end(studies.start(out), 0)
    return studies.traces(out), time.monotonic() - started


@pytest.mark.parametrize("part", range(amount(10, 1)))
def test_kills_at_random_moments(part, undisturbed, tmp_path, record_property):
    rng = random.Random(f"kills {SEED} {part}")
    kills.rounds(tmp_path / "out", *undisturbed, rng, amount(5, 2), record_property)


@pytest.mark.parametrize("more", [[], ["force=true"]], ids=["alike", "force"])
@pytest.mark.parametrize("part", range(amount(4, 1)))
def test_two_commands_at_once_of_which_one_or_both_are_killed(part, more, undisturbed, tmp_path, record_property):
    if amount(False, bool(more)):
        pytest.skip("only in make chaos")
    rng = random.Random(f"competition {SEED} {part} {more}")
    victims = [(0,), (1,), (0, 1)][part % 3]
    kills.competition(tmp_path / "out", *undisturbed, rng, victims, record_property, *more)


@pytest.mark.parametrize("line", amount(["method=random", "method=lb", "method=mcmc"], ["method=lb"]))
@pytest.mark.parametrize(("place", "step"), [("lines", amount(1, 10)), ("writes", amount(1, 5))])
def test_kills_between_any_two_lines_and_within_any_write(line, place, step, tmp_path, record_property):
    asked = [line, "problem=berkenkamp", "iterations=2", "seeds=1"]
    command = [sys.executable, "-m", "chaos.moments", tmp_path, place, str(step), *asked]
    found = subprocess.run(command, env=studies.ENVIRONMENT, capture_output=True, text=True, timeout=200)
    assert found.returncode == 0, found.stderr
    *lost, killed = found.stdout.splitlines()
    record_property("kills between lines", int(killed))
    record_property("losses", len(lost))
    assert not lost, found.stdout
    assert int(killed) > 3


@pytest.mark.parametrize("size", amount([300, 1_000, 2_500, 4_000, 8_000, 9_500], [2_500, 9_500]))
def test_files_that_may_not_grow(size, undisturbed, tmp_path, record_property):
    disks.full_and_then_not(tmp_path / "out", undisturbed[0], size, record_property)


@pytest.mark.parametrize("kib", amount([16, 40, 64], []))
def test_a_file_system_that_is_full(kib, undisturbed, tmp_path, record_property):
    out = tmp_path / "small"
    try:
        with disks.small(out, kib):
            disks.full(out, undisturbed[0], errno.ENOSPC, record_property)
            disks.grow(out, 10_000)
            studies.complete(out)
            studies.assert_whole(out, undisturbed[0], record_property)
    except OSError as error:
        pytest.skip(f"mounting: {error}")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The traces of the study whose objective goes wrong in the other tests."""
    out = tmp_path_factory.mktemp("sound")
    studies.complete(out, line=FAULTY)
    return studies.traces(out)


@pytest.mark.parametrize(
    "player", amount(["raises", "exits", "hangs", "dies", "leaves", "is_nan", "is_infinite"], ["exits"])
)
def test_an_objective_that_goes_wrong(player, sound, tmp_path, record_property):
    record_property("faults", 1)
    limit = ["timeout=8"] if player == "hangs" else []  # other runs end by themselves, however busy the machine is
    printed = studies.end(studies.start(tmp_path, *limit, line=FAULTY, player=player), 1)
    bad = [run for run in runs(plan([*FAULTY, f"out={tmp_path}"])) if run.seed == faults.BAD_SEED]
    assert all(f": {run.name}: " in printed and run.failure.exists() for run in bad)
    good = {path: rows for path, rows in sound.items() if not path.name.startswith(f"seed={faults.BAD_SEED}-")}
    assert studies.traces(tmp_path) == good
    studies.complete(tmp_path, line=FAULTY)
    studies.assert_whole(tmp_path, sound, record_property)
