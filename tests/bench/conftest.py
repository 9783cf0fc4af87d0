"""What lbbench costs beside the plain way to do it: `make bench` runs all of it, prints one table and keeps it.

`.venv/bin/pytest tests/bench -k pool` runs and prints a part. A row says whether its target is met, and fails only if
something is broken. Peers run in this process as well, on one thread each, once, right before the work beside them.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peers
import pytest
import torch
from rich.console import Console
from rows import Row, table, write
from work import problem, settings

from lbbench.study import machine, optimising

ROWS = pytest.StashKey[list[Row]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--results", type=Path, metavar="FILE", help="where to write the rows, as JSON")
    parser.addoption("--arm-steps", type=int, default=30_000, metavar="T", help="steps in the pool of 100 arms")


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    rows = config.stash.get(ROWS, [])
    file = config.getoption("results")
    if rows:
        Console(width=170).print(table(rows))
    if rows and file and exitstatus == pytest.ExitCode.OK:
        write(rows, file)
        terminalreporter.write_line(f"wrote {file}")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    with machine.limited_threads(1):
        torch.manual_seed(0)
        yield


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[..., Row]:
    """Adds the `Row` of these arguments to the table, and prints it at once."""

    def add(*arguments: Any, **named: Any) -> Row:
        row = Row(*arguments, **named)
        request.config.stash.setdefault(ROWS, []).append(row)
        print(f"\n{row}")
        return row

    return add


@pytest.fixture
def run_seconds(benchmark: Any) -> Callable[..., float]:
    """Median seconds of so many rounds of the run, with seed 0, that a command line asks for."""

    def measure(*line: str, rounds: int = 3) -> float:
        benchmark.pedantic(lambda: list(optimising.play(settings(*line), 0)), rounds=rounds)
        return float(benchmark.stats.stats.median)

    return measure


@pytest.fixture(scope="session")
def fixed() -> tuple[str, float]:
    """A loop on michalewicz with a fixed θ: its name and its seconds."""
    return "BoTorch, fixed θ", peers.botorch_loop(problem("michalewicz"), 250, fit=False)


@pytest.fixture(scope="session")
def fitted() -> tuple[str, float]:
    """The same with θ fitted at each step."""
    return "BoTorch, θ fitted at each step", peers.botorch_loop(problem("michalewicz"), 250, fit=True)


@pytest.fixture(scope="session")
def sampled() -> tuple[str, float]:
    """The same, for 50 steps, with θ sampled at each."""
    return "GPyTorch with Pyro's NUTS, 5 × every 5th step", peers.nuts_loop(problem("michalewicz"), 50)
