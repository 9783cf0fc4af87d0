"""Work that may take long, for whoever waits to watch: what does it says so, and a display shows it, if any."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Advance = Callable[[], None]
Display = Callable[[str, int], AbstractContextManager[Advance]]  # of what is done, and of how many parts

_display: ContextVar[Display | None] = ContextVar("display", default=None)


def watched(items: Collection[T], what: str) -> Iterator[T]:
    """The items one by one; whoever watches sees `what`, such as "reading 10,000 traces", and how many are done."""
    display = _display.get()
    if display is None:
        yield from items
        return
    with display(what, len(items)) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def shown(display: Display) -> Iterator[None]:
    """All that is watched within is shown by a display."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
