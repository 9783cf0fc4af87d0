"""Whether runs of a problem were played on the same objective: what their metadata say of it.

That is its values at three fixed points or, of a user's own, its version, source or package (`plan.build.signature`).
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

Signature = tuple[tuple[float, ...], ...] | str  # the points, and the values there as the last; or the text that tells
VALUES = "values"
TEXTS = ("source", "package")  # the others; a version is one of the settings


@dataclass(frozen=True)
class Difference:
    """A problem, with its settings, that runs have met as different objectives."""

    problem: str
    settings: str  # as they are typed
    runs: Mapping[Signature, int]  # how many runs have each signature, the most frequent first
    kind: str = VALUES

    @property
    def largest(self) -> float:
        """The largest difference between any two signatures, in a coordinate or a value; infinite if shapes differ."""
        values = [signature for signature in self.runs if not isinstance(signature, str)]
        if len(values) < len(self.runs) or len({tuple(map(len, signature)) for signature in values}) > 1:
            return math.inf
        numbers = [list(chain.from_iterable(signature)) for signature in values]
        spreads: list[float] = [max(same) - min(same) for same in zip(*numbers, strict=True)]
        return max(spreads)

    def __str__(self) -> str:
        which = "; ".join(
            f"{count} run{'s' * (count > 1)} with {_text(self.kind, signature)}"
            for signature, count in self.runs.items()
        )
        settings = f" ({self.settings})" if self.settings else ""
        what = (
            f"data or libraries, which differ at fixed points by up to {self.largest:.3g}"
            if self.kind == VALUES
            else f"objectives, by their {self.kind}"
        )
        return f"{self.problem}{settings}: its runs were played on different {what}: {which}"


def conflict(one: Any, other: Any) -> bool:
    """Whether two signatures, as metadata hold them, are of different objectives.

    They are if they tell the same in different ways (NaN equals NaN); values and a source cannot be compared.
    """
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return json.dumps(one) != json.dumps(other)
    return any(json.dumps(one[key]) != json.dumps(other[key]) for key in one.keys() & other.keys())


def differing(runs: Iterable[Mapping[str, Any]]) -> list[Difference]:
    """The problems, by their settings, on which runs have different signatures.

    `runs` are metadata of traces. Those without a signature, which older versions wrote, do not count.
    """
    found: dict[tuple[str, str], Counter[Signature]] = defaultdict(Counter)
    for run in runs:
        for kind, signature in _signatures(run.get("signature")).items():
            found[json.dumps(run["settings"]["problem"], sort_keys=True), kind][signature] += 1
    return [
        _difference(json.loads(problem), kind, signatures)
        for (problem, kind), signatures in found.items()
        if len(signatures) > 1
    ]


def _difference(problem: dict[str, Any], kind: str, signatures: Counter[Signature]) -> Difference:
    name = str(problem.pop("name"))
    settings = ", ".join(f"{key}={value}" for key, value in problem.items())
    return Difference(name, settings, dict(signatures.most_common()), kind)


def _signatures(content: Any) -> dict[str, Signature]:
    """What metadata hold under `signature`, by what it tells; nothing if that is none."""
    if not isinstance(content, Mapping):
        return {}
    found: dict[str, Signature] = {kind: content[kind] for kind in TEXTS if isinstance(content.get(kind), str)}
    values = _values(content)
    return found | ({} if values is None else {VALUES: values})


def _values(content: Mapping[str, Any]) -> tuple[tuple[float, ...], ...] | None:
    try:
        values = tuple(tuple(float(number) for number in part) for part in (*content["x"], content["f"]))
    except (LookupError, TypeError, ValueError):
        return None
    return values if all(math.isfinite(number) for part in values for number in part) else None


def _text(kind: str, signature: Signature) -> str:
    if isinstance(signature, str):
        return signature if kind == "package" else f"{kind} {signature}"
    return f"f = {', '.join(f'{value:.17g}' for value in signature[-1])}"
