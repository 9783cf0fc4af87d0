"""What `lbbench show` prints."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lbbench.errors import UsageError
from lbbench.plan import registry
from lbbench.plan.checks import FIXED
from lbbench.plan.configs import PYTHON, config_dir
from lbbench.plan.keys import GROUPS
from lbbench.plan.rules import seeds_text
from lbbench.plan.settings import Settings, compose
from lbbench.plan.sweeps import Plan


def show(plan: Plan, asked: set[str]) -> Iterator[str]:
    """The settings of each combination of a plan: those of the groups in `asked` first, or of both if it names none.

    A problem that was asked for comes with its facts. What several combinations share is said once, after them.
    """
    groups = [group for group in GROUPS if group in asked] or list(GROUPS)
    found = [(_own(compose(combination), groups, "problem" in asked), combination) for combination in plan.combinations]
    for i, ((own, shared), combination) in enumerate(found):
        yield from ([""] if i else [])
        yield from own
        if i + 1 == len(found) or found[i + 1][0][1] != shared:
            yield from ([""] if asked & set(GROUPS) else [])
            yield from shared
            study = {**plan.study, "seeds": combination.seeds}
            execution = study.pop("execution")
            yield from _section("study", study)
            yield from _section("execution", execution)


def _own(settings: Settings, groups: Sequence[str], facts: bool) -> tuple[list[str], list[str]]:
    """What there is to say of some groups of the settings, and of all sections that are of no group."""
    own = [line for group in groups for line in _section(group, settings[group])]
    if facts:
        own.append("facts")
        try:
            own += [f"  {line}" for line in _facts(settings)]
        except UsageError as error:  # as of a problem of the user's own that is not all there yet
            own.append(f"  {error}")
    common = [section for section in settings.tree if section not in GROUPS]
    return own, [line for section in common for line in _section(section, settings[section])]


def comments(file: str) -> dict[str, str]:
    """The comment behind each key of a file in configs/."""
    return dict(re.findall(r"^\s*(\w+):.*?# (.*)$", _file(file), re.MULTILINE))


def notes(file: str) -> list[str]:
    """What the head of a file in configs/ says below its first line, which describes it."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), _file(file).splitlines())
    return [line.lstrip("# ") for line in lines][1:]


def _file(name: str) -> str:
    group, _, own = name.rpartition("/")
    if registry.is_plugin(group, own):
        name = f"{group}/{PYTHON}"
    return (config_dir() / f"{name}.yaml").read_text(encoding="utf-8")


def _section(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield from _lines({name: value}, comments("config"), indent="")
    elif "name" in value:
        yield f"{name}: {value['name']}"
        yield from (f"  {note}" for note in notes(f"{name}/{value['name']}"))
        yield from _lines(value, comments(f"{name}/{value['name']}"))
    else:
        yield name
        yield from _lines(value, comments("config"))


def _lines(section: Mapping[str, Any], notes: Mapping[str, str], indent: str = "  ") -> Iterator[str]:
    for key, value in section.items():
        if key not in FIXED:
            yield f"{f'{indent}{key} = {_text(value)}':<30} {notes.get(key, '')}".rstrip()


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return seeds_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _facts(settings: Settings) -> Iterator[str]:
    from lbbench.domain import Pool
    from lbbench.plan import build

    problem, gp = build.problem(settings), settings["gp"]
    domain = problem.domain
    kind = f"pool of {domain.size} candidates" if isinstance(domain, Pool) else "box"
    bounds = ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in zip(*domain.bounds, strict=True))
    yield f"domain        {kind}, {domain.dim} inputs"
    yield f"bounds        {bounds}"
    yield f"maximum       {'unknown' if math.isnan(problem.optimum) else format(problem.optimum, '.8g')}"
    if registry.is_plugin("problem", problem.name):  # whose evaluation may take long
        return
    theta = build.optimal_lengthscale(settings, problem)
    if gp["kernel"] == "empirical":
        what = "none: the kernel is the pool's covariance"
    elif math.isnan(problem.lengthscale):
        what = f"θ̂* = {theta:.4g}, fits the best 1 % of the domain ({gp['kernel']}, λ = {gp['regulariser']})"
    else:
        what = f"θ = {theta:.4g}, its own"
    yield f"length scale  {what}"
    if not settings["problem"].get("standardise", True):
        yield f"noise         standard deviation {problem.noise_std:.4g}"
