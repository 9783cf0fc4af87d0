"""What problems are called: by their name, and by what tells their objective from others of that name at hand."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from lbbench.plan.settings import Settings, defaults

PATH = "path"  # of a user's own file, which is as good as its name: it is always said, and first
DIGEST = "digest"  # of what is in that file, which is said where nothing else tells


class Name(NamedTuple):
    """What a problem is called, and the last names of the settings that need not be told beside it."""

    text: str
    told: frozenset[str] = frozenset()


def names(found: Iterable[Settings]) -> dict[str, Name]:
    """What to call each `Settings.objective`: `michalewicz`; beside another dimension that, and `michalewicz dim=2`.

    Said are as few settings as tell it from others of its name, and none that is as in configs/.
    """
    problems: dict[str, dict[str, dict[str, Any]]] = {}
    for settings in found:
        own = {key: value for key, value in json.loads(settings.objective).items() if key != "name"}
        problems.setdefault(settings.problem, {})[settings.objective] = own
    return {
        objective: Name(" ".join([problem, *said]), frozenset(objectives[objective] if said else ()))
        for problem, objectives in problems.items()
        for objective, said in _apart(problem, objectives).items()
    }


def _apart(problem: str, objectives: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """What is said of each objective of a problem: setting by setting, wherever those that are alike so far differ."""
    usual = defaults("", problem)
    short = _shortest({str(own[PATH]) for own in objectives.values() if PATH in own})
    texts = {
        objective: {
            key: short[str(value)] if key == PATH else f"{key}={value}"
            for key, value in own.items()
            if value != usual.get(key)
        }
        for objective, own in objectives.items()
    }
    said: dict[str, list[str]] = {objective: [] for objective in objectives}
    groups: list[list[str]] = [list(objectives)]
    keys = {key for own in texts.values() for key in own}
    for key in sorted(keys, key=lambda key: (key != PATH, key == DIGEST, key)):
        parts = [_by_text(group, texts, key) for group in groups]
        for part in parts:
            for text, alike in part.items():
                for objective in alike if text and (len(part) > 1 or key == PATH) else ():
                    said[objective].append(text)
        groups = [alike for part in parts for alike in part.values()]
    return said


def _by_text(group: Sequence[str], texts: Mapping[str, Mapping[str, str]], key: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for objective in group:
        found.setdefault(texts[objective].get(key, ""), []).append(objective)
    return found


def _shortest(paths: Iterable[str]) -> dict[str, str]:
    """The end of each path that no other has; two spellings of one path have the same."""
    parts = {path: PurePath(path).parts for path in paths}
    ends = Counter(own[-n:] for own in set(parts.values()) for n in range(1, len(own) + 1))
    return {
        path: str(PurePath(*next((own[-n:] for n in range(1, len(own)) if ends[own[-n:]] == 1), own)))
        for path, own in parts.items()
    }
