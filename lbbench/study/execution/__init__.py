"""Where runs are played: in processes on this machine, or by the workers of a cluster."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from lbbench.study import machine
from lbbench.study.execution.local import Crew
from lbbench.study.worker import Outcome, Task


class Executor(Protocol):
    """What plays runs, while it is open; `Crew` is one."""

    stopping: bool

    def __enter__(self) -> "Executor": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let the workers go; after an error at once."""

    def play(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Play all tasks; yields what became of each as it ends. One whose worker has died has the status "crashed"."""

    def alone(self, task: Task) -> Outcome:
        """Play one task, with no other beside it."""

    def stop(self) -> None:
        """Have every run end after the step at hand, and begin no other. May be called by a signal handler."""

    def kill(self) -> None:
        """Have every run end now, as far as it can be. May be called by a signal handler."""


def executor(study: Mapping[str, Any], runs: int) -> Executor:
    """What plays so many runs as the settings in `study` say.

    Raises `UsageError` if the cluster is not there, or the package that speaks to it.
    """
    cores = machine.cores_per_run(study["cores_per_run"])
    timeout = math.inf if study["timeout"] == "none" else study["timeout"]
    own = {key: value for key, value in study["execution"].items() if key != "name"}
    match study["execution"]["name"]:
        case "dask":
            from lbbench.study.execution.dask import Dask

            return Dask(cores, timeout, study["jobs"], **own)
        case "slurm":
            from lbbench.study.execution.slurm import Slurm

            return Slurm(cores, timeout, study["jobs"], Path(study["out"]).expanduser(), **own)
    return Crew(min(machine.jobs(study["jobs"], cores), max(1, runs)), cores, timeout)
