"""Many runs: which are missing, in parallel, one trace each."""

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError
from lbbench.problems.materials import require_data
from lbbench.study import machine
from lbbench.study.checks import printable
from lbbench.study.overrides import Plan, last
from lbbench.study.settings import Settings, compose
from lbbench.study.traces import trace_path


@dataclass(frozen=True)
class Run:
    """One run and where its trace belongs."""

    settings: Settings
    seed: int
    path: Path
    swept: tuple[str, ...] = ()  # the full keys that tell it from others of its study

    @property
    def name(self) -> str:
        """Problem, method, the settings that were swept, and the seed."""
        varied = {last(key): self.settings.get(key) for key in self.swept}
        parts = [f"{key}={value}" for key, value in varied.items() if value is not None]
        return " ".join([self.settings.problem, self.settings.method, *parts, f"seed={self.seed}"])


@dataclass(frozen=True)
class Outcome:
    """What became of a run: its final regrets, or the error that ended it."""

    run: Run
    seconds: float
    simple_regret: float | None = None
    error: str | None = None


def runs(plan: Plan) -> list[Run]:
    """Every run of a plan, each once, in the order of the command line.

    Raises `UsageError` if a problem's data are not installed.
    """
    out = Path(plan.study["out"]).expanduser()
    found: dict[Path, Run] = {}
    for combination in plan.combinations:
        require_data(combination.problem)
        settings = compose(combination)
        for seed in combination.seeds:
            path = trace_path(out, settings.problem, settings.method, seed, settings.id)
            found.setdefault(path, Run(settings, seed, path, plan.swept))
    return list(found.values())


def execute(todo: Iterable[Run], study: Mapping[str, Any], report: Callable[[Outcome], None]) -> list[Outcome]:
    """Run everything in `todo` in parallel; `report` is called in this process as each run ends."""
    from joblib import Parallel, delayed

    cores = machine.cores_per_run(study["cores_per_run"])
    provenance = machine.provenance()
    left = {run.path: run for run in todo}
    jobs = min(machine.jobs(study["jobs"], cores), max(1, len(left)))
    outcomes = []

    def ended(outcome: Outcome) -> None:
        del left[outcome.run.path]
        outcomes.append(outcome)
        report(outcome)

    try:
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        for outcome in parallel(delayed(_work)(run, cores, provenance) for run in list(left.values())):
            ended(outcome)
    except BrokenExecutor as error:  # a worker was killed, and the others' results went with it
        cause = str(error).partition("\n")[0]
        for run in list(left.values()):
            ended(Outcome(run, 0.0, error=f"not finished, since a worker died: {cause}"))
    return outcomes


def prepare(out: Path) -> None:
    """Make sure that traces can be written below `out`. Raises `UsageError` if not."""
    try:
        (out / "traces").mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out / "traces"):
            pass
    except OSError as error:
        raise UsageError(f"out={printable(str(out))} cannot be written to: {error.strerror}") from None


def _work(run: Run, cores: int, provenance: Mapping[str, Any]) -> Outcome:
    """Inside a worker: play one run and write its trace. Never raises: a failed run must not end the others."""
    started = time.perf_counter()
    try:
        from lbbench.study import loop, traces

        with machine.limited_threads(cores):
            rows = loop.run(run.settings, run.seed)
        seconds = time.perf_counter() - started
        circumstances = {"threads": cores, "wall_s": seconds, "peak_memory_mb": machine.peak_memory_mb()}
        settings = json.loads(run.settings.json)
        traces.write(run.path, rows, {"settings": settings, "seed": run.seed, **provenance, **circumstances})
        return Outcome(run, seconds, simple_regret=rows[-1]["simple_regret"])
    except Exception as error:
        message = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Outcome(run, time.perf_counter() - started, error=message)
