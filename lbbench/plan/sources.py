"""What tells one objective of the user's own from another without evaluating it, which may be costly: its source."""

import functools
import hashlib
import inspect
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from lbbench.plan.registry import find


@functools.cache  # as it was when it was imported
def source(target: str) -> dict[str, str]:
    """A hash, `source`, of the files that define what `module:name` names; what those import does not count.

    Of what has no source, such as a function in C, it is the `package` that it comes with, and its version, if there is
    one. Raises `UsageError` if there is no such thing.
    """
    found, module = find(target), sys.modules[target.partition(":")[0]]
    own, here = _content(_file(found)), _content(getattr(module, "__file__", None))
    if own is None and (package := _package(module.__name__)):
        return {"package": package}
    contents = dict.fromkeys(content for content in (own, here) if content is not None)
    return {"source": hashlib.sha256(b"\0".join(contents)).hexdigest()[:10]} if contents else {}


def _file(found: Any) -> str | None:
    """Where a function or class, or what is called like a function, is written; None if it is not in Python."""
    found = inspect.unwrap(found)
    found = found.func if isinstance(found, functools.partial) else found
    if inspect.isclass(found):
        return getattr(sys.modules.get(found.__module__), "__file__", None)
    code = getattr(found, "__code__", None) or getattr(type(found).__call__, "__code__", None)
    return code and str(code.co_filename)


def _content(file: str | None) -> bytes | None:
    """What a file of Python holds; None if there is none that can be read."""
    try:
        return Path(file).read_bytes() if file and file.endswith(".py") else None
    except OSError:
        return None


def _package(module: str) -> str | None:
    """The installed package that a module belongs to, with its version."""
    names = metadata.packages_distributions().get(module.partition(".")[0], [])
    return f"{names[0]} {metadata.version(names[0])}" if names else None
