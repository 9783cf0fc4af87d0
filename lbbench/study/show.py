"""What `lbbench show` prints."""

from collections.abc import Iterator, Mapping
from typing import Any

from lbbench.errors import UsageError
from lbbench.study.checks import CHECKS
from lbbench.study.overrides import GROUPS, Plan
from lbbench.study.settings import Settings, compose


def show(plan: Plan, asked: set[str]) -> Iterator[str]:
    """The settings of each combination of a plan; only the sections of the groups in `asked`, if it names any."""
    groups = [group for group in GROUPS if group in asked]
    for i, combination in enumerate(plan.combinations):
        if i:
            yield ""
        settings = compose(combination)
        sections = groups or list(settings.tree)
        for section in sections:
            value = settings[section]
            if isinstance(value, Mapping):
                yield f"{section}: {value['name']}" if "name" in value else f"{section}:"
                yield from (f"  {line}" for line in _lines(value))
            else:
                yield from _lines({section: value})
        if "problem" in groups:
            yield "facts:"
            yield from (f"  {line}" for line in _facts(settings))


def _lines(section: Mapping[str, Any]) -> Iterator[str]:
    for key, value in section.items():
        if key != "name":
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield f"{key + ' = ' + text:<28} {allowed(key)}".rstrip()


def allowed(key: str) -> str:
    """What a setting may be, in words."""
    try:
        CHECKS[key]("\0")
    except ValueError as error:
        return str(error)
    except UsageError:
        return "an expression in t, such as sqrt(t), t^0.25, max(2, log(t))"
    return ""


def _facts(settings: Settings) -> Iterator[str]:
    from lbbench.domain import Pool
    from lbbench.gp.kernels import KERNELS
    from lbbench.methods.oracle import estimate_lengthscale
    from lbbench.study import build

    problem, gp = build.problem(settings), settings["gp"]
    domain = problem.domain
    kind = f"pool of {domain.size} candidates" if isinstance(domain, Pool) else "box"
    yield f"domain           {kind}, {domain.dim} inputs"
    yield f"bounds           {', '.join(f'[{a:.6g}, {b:.6g}]' for a, b in zip(*domain.bounds, strict=True))}"
    yield f"maximum          {problem.optimum:.8g}"
    theta = estimate_lengthscale(problem, KERNELS[gp["kernel"]], gp["regulariser"])
    yield f"length scale     {theta:.4g} (fits the best 1 % of the domain: {gp['kernel']}, λ = {gp['regulariser']:g})"
