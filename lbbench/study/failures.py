"""What is kept of a run that failed: a file with the reason, the step, the traceback and the settings."""

import json
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lbbench.errors import StepError, UsageError
from lbbench.study import files


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
    return Failure(**{name: content[name] for name in Failure.__dataclass_fields__})


def about(path: Path) -> dict[str, Any]:
    """All that is in the file of a failure: with it the run's settings and seed, versions, and when it was."""
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        if {*Failure.__dataclass_fields__, "settings", "seed"} <= content.keys():
            return content
    except (ValueError, AttributeError):
        pass
    raise UsageError(f"{path} is no record of a failure; move it away")
