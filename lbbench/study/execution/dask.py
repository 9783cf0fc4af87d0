"""Runs on a Dask cluster."""

import uuid
from collections.abc import Sequence
from typing import Any

from lbbench.errors import UsageError
from lbbench.study.execution import remote
from lbbench.study.execution.remote import Answer, Order, Remote

TIMEOUT_S = 10  # for the scheduler to answer


class Dask(Remote):
    """Plays each run as a task of its own; Dask sends that of a worker that is lost to another one."""

    def __init__(self, threads: int, timeout: float, jobs: int | str, scheduler: str, collect: bool) -> None:
        super().__init__(threads, timeout, jobs if isinstance(jobs, int) else remote.AT_ONCE, collect)
        if scheduler == "none":
            raise UsageError("execution=dask needs execution.scheduler=, an address such as tcp://host:8786")
        try:
            from distributed import Client, Event
        except ImportError:
            raise UsageError("execution=dask needs a package: pip install 'lbbench[dask]'") from None
        try:
            self._client = Client(scheduler, timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(f"execution.scheduler={scheduler}: no Dask scheduler answers ({reason})") from None
        self._stop = Event(f"lbbench-stop-{uuid.uuid4().hex}", client=self._client)

    def __exit__(self, *exception: object) -> None:
        """Leave the cluster."""
        super().__exit__(*exception)
        self._client.close()

    def _submit(self, orders: Sequence[Order]) -> Sequence[Any]:
        if self._client.status == "closed":
            raise UsageError("the Dask scheduler is gone; what its workers have evaluated is kept, begin again")
        return [self._client.submit(play, order, self._stop.name, pure=False) for order in orders]

    def _halt(self, futures: Sequence[Any]) -> Sequence[Any]:
        if self._client.status == "running":
            self._stop.set()
        return ()  # those that have not begun end as they begin

    def _cancel(self, futures: Sequence[Any]) -> None:
        if futures and self._client.status == "running":
            self._stop.set()  # for those that are within a step, which Dask cannot end
            self._client.cancel(futures)


def play(order: Order, stop: str) -> Answer:
    """What a worker of Dask does; `stop` is the name of the event that ends it."""
    from distributed import Event

    return remote.play(order, Event(stop).is_set)
