"""Whether runs of a problem were played on the same objective: what their metadata say of it at three fixed points."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

Signature = tuple[tuple[float, ...], ...]  # the points, and the values there as the last


@dataclass(frozen=True)
class Difference:
    """A problem, with its settings, that runs have met as different objectives."""

    problem: str
    settings: str  # as they are typed
    runs: Mapping[Signature, int]  # how many runs have each signature, the most frequent first

    @property
    def largest(self) -> float:
        """The largest difference between any two signatures, in a coordinate or a value; infinite if shapes differ."""
        if len({tuple(map(len, signature)) for signature in self.runs}) > 1:
            return math.inf
        numbers = [list(chain.from_iterable(signature)) for signature in self.runs]
        spreads: list[float] = [max(same) - min(same) for same in zip(*numbers, strict=True)]
        return max(spreads)

    def __str__(self) -> str:
        which = "; ".join(
            f"{count} run{'s' * (count > 1)} with f = {', '.join(f'{value:.17g}' for value in signature[-1])}"
            for signature, count in self.runs.items()
        )
        settings = f" ({self.settings})" if self.settings else ""
        return (
            f"{self.problem}{settings}: its runs were played on different data or libraries, which differ at fixed "
            f"points by up to {self.largest:.3g}: {which}"
        )


def differing(runs: Iterable[Mapping[str, Any]]) -> list[Difference]:
    """The problems, by their settings, on which runs have different signatures.

    `runs` are metadata of traces. Those without a signature, which older versions wrote, do not count.
    """
    found: dict[str, Counter[Signature]] = defaultdict(Counter)
    for run in runs:
        if signature := _signature(run.get("signature")):
            found[json.dumps(run["settings"]["problem"], sort_keys=True)][signature] += 1
    return [
        _difference(json.loads(problem), signatures) for problem, signatures in found.items() if len(signatures) > 1
    ]


def _difference(problem: dict[str, Any], signatures: Counter[Signature]) -> Difference:
    name = str(problem.pop("name"))
    settings = ", ".join(f"{key}={value}" for key, value in problem.items())
    return Difference(name, settings, dict(signatures.most_common()))


def _signature(content: Any) -> Signature | None:
    """What metadata hold under `signature`; None if that is none."""
    try:
        signature = tuple(tuple(float(number) for number in part) for part in (*content["x"], content["f"]))
    except (LookupError, TypeError, ValueError):
        return None
    return signature if all(math.isfinite(number) for part in signature for number in part) else None
