"""The runs of a plan, and where the files that each leaves belong."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lbbench.plan import build
from lbbench.plan.keys import last
from lbbench.plan.settings import Composer, Settings
from lbbench.plan.sweeps import Plan
from lbbench.progress import watched


@dataclass(frozen=True)
class Run:
    """Settings and a seed, below an output directory."""

    settings: Settings
    seed: int
    out: Path
    swept: tuple[str, ...] = ()  # the full keys that tell it from others of its study

    @property
    def name(self) -> str:
        """Problem, method, the settings that were swept, and the seed."""
        varied = {last(key): self.settings.get(key) for key in self.swept}
        parts = [f"{key}={value}" for key, value in varied.items() if value is not None]
        return " ".join([self.settings.problem, self.settings.method, *parts, f"seed={self.seed}"])

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What tells it from every other run, as traces have it."""
        return self.settings.problem, self.settings.method, self.settings.id, self.seed

    @property
    def about(self) -> dict[str, Any]:
        """What tells it from every other run, for a file to say."""
        return {"settings": dict(self.settings.tree), "seed": self.seed}

    @property
    def path(self) -> Path:
        """The trace, once it is done."""
        return self._place("traces", "parquet")

    @property
    def journal(self) -> Path:
        """The journal, until then."""
        return self._place("journal", "jsonl")

    @property
    def failure(self) -> Path:
        """What it failed of, if it did."""
        return self._place("failures", "json")

    def _place(self, kind: str, suffix: str) -> Path:
        settings = self.settings
        return place(self.out, kind, settings.problem, settings.method, self.seed, settings.id, suffix)


def is_of_one_run(path: Path) -> bool:
    """Whether a file has the name that `place` gives it, which no other run's has."""
    return re.fullmatch(r"seed=\d+-[0-9a-f]{10}\.\w+", path.name) is not None


def place(out: Path, kind: str, problem: str, method: str, seed: int, settings_id: str, suffix: str) -> Path:
    """Where a file of a run lives below the output directory."""
    return out / kind / problem / method / f"seed={seed}-{settings_id}.{suffix}"


def runs(plan: Plan) -> list[Run]:
    """Every run of a plan, each once, in the order of the command line.

    Raises `UsageError` if a problem's data are not installed.
    """
    out = Path(plan.study["out"]).expanduser()
    found: dict[Path, Run] = {}
    compose = Composer()
    for combination in watched(plan.combinations, f"planning {len(plan.combinations):,} settings"):
        settings = compose(combination)
        build.require(settings, combination.seeds)
        for seed in combination.seeds:
            run = Run(settings, seed, out, plan.swept)
            found.setdefault(run.path, run)
    return list(found.values())
