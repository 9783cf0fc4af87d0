"""Runs as Slurm jobs."""

import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError
from lbbench.records import files
from lbbench.study import machine
from lbbench.study.execution import remote
from lbbench.study.execution.remote import Answer, Order, Remote


class Slurm(Remote):
    """Submits an array of jobs, a run each, with files in a directory of their own below `<out>/slurm`.

    The directory goes in the end, unless a job has died: then its logs tell why.
    """

    def __init__(
        self,
        threads: int,
        timeout: float,
        jobs: int | str,
        out: Path,
        cluster: str,
        partition: str,
        timeout_min: int,
        mem_gb: int,
        collect: bool,
    ) -> None:
        at_once = remote.AT_ONCE if cluster == "slurm" else machine.jobs(jobs, threads)
        super().__init__(threads, timeout, at_once, collect)
        try:
            from submitit import AutoExecutor
        except ImportError:
            raise UsageError("execution=slurm needs a package: pip install 'lbbench[slurm]'") from None
        if cluster == "slurm" and not (shutil.which("sbatch") and shutil.which("srun")):
            raise UsageError("execution=slurm: sbatch and srun are not found; execution.cluster=local does without")
        top = out.absolute() / "slurm"
        self._folder = Path(files.within(top, lambda: tempfile.mkdtemp(dir=top, prefix="study-")))
        self._executor = AutoExecutor(self._folder, cluster=cluster)
        self._executor.update_parameters(
            name="lbbench",
            cpus_per_task=threads,
            timeout_min=timeout_min,
            mem_gb=mem_gb,
            slurm_partition=None if partition == "default" else partition,
            slurm_array_parallelism=jobs if isinstance(jobs, int) else remote.AT_ONCE,
        )
        self._stop = self._folder / "stop"
        self._jobs: list[Any] = []

    def __exit__(self, *exception: object) -> None:
        """Remove what submitit has written, unless it tells why a job has died."""
        super().__exit__(*exception)
        if self.stopping or all(job.paths.result_pickle.exists() for job in self._jobs):
            shutil.rmtree(self._folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # another study has its own there
                self._folder.parent.rmdir()

    def _submit(self, orders: Sequence[Order]) -> Sequence[Any]:
        try:
            with files.naming(self._folder):
                jobs = self._executor.map_array(play, orders, [self._stop] * len(orders))
        except RuntimeError as error:
            raise UsageError(f"execution=slurm: {' '.join(str(error).split())}") from None
        self._jobs += jobs
        return jobs

    def _halt(self, futures: Sequence[Any]) -> Sequence[Any]:
        self._stop.touch()
        waiting = [job for job in futures if not job.paths.stdout.exists()]
        self._cancel(waiting)
        return waiting

    def _cancel(self, futures: Sequence[Any]) -> None:
        for job in futures:
            job.cancel(check=False)


def play(order: Order, stop: Path) -> Answer:
    """What a job does; once the file `stop` is there it ends."""
    return remote.play(order, stop.exists)
