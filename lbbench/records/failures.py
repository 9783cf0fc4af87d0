"""What is kept of a run that failed: a file with the reason, the step, the traceback and the settings."""

import json
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lbbench.errors import StepError, UsageError
from lbbench.records import files


@dataclass(frozen=True)
class Failure:
    """Why a run ended.

    `status` is "failed" (an error), "timeout" or "crashed" (its process died, twice); `t` the step, and `x` its point
    in user units, as far as they are known.
    """

    status: str
    error: str
    t: int | None = None
    x: list[float] | None = None
    traceback: str = ""

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """The failure that an exception stands for."""
        step = error if isinstance(error, StepError) else StepError(None, None)
        cause = step.__cause__ or error
        message = str(cause).strip().partition("\n")[0]
        name = "" if isinstance(cause, UsageError) else type(cause).__name__
        text = "".join(traceback.format_exception(error))
        return cls("failed", ": ".join(filter(None, [name, message])), step.t, step.x, text)

    @property
    def reason(self) -> str:
        """The error in one line, with its place."""
        place = [] if self.t is None else [f"step {self.t}"]
        place += [] if self.x is None else [f"x = [{', '.join(f'{value:.6g}' for value in self.x)}]"]
        return self.error + (f" ({', '.join(place)})" if place else "")


def write(path: Path, failure: Failure, about: Mapping[str, Any]) -> None:
    """Write a failure, with what else there is to say `about` its run, as a JSON file."""
    content = {**about, "when": datetime.now(UTC).isoformat(timespec="seconds"), **asdict(failure)}
    with files.replacing(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")


def read(path: Path) -> Failure:
    """The failure in a file. Raises `UsageError` if there is none in it."""
    content = about(path)
    return Failure(**{field.name: content[field.name] for field in fields(Failure)})


def about(path: Path) -> dict[str, Any]:
    """All that is in the file of a failure: with it the run's settings and seed, versions, and when it was.

    Raises `UsageError` for a file that tells no such thing.
    """
    from lbbench.records.inspection import key_of

    try:
        content: dict[str, Any] = {"t": None, "x": None, "traceback": "", **json.loads(path.read_bytes())}
        key_of(content)
        texts = all(isinstance(content[key], str) for key in ("status", "error", "traceback"))
        numbers = all(isinstance(value, int | float) for value in content["x"] or [])
        if texts and numbers and isinstance(content["t"], int | None):
            return content
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        pass
    raise UsageError(f"{path} tells of no failure")
