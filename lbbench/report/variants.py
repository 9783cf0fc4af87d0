"""One setting of a method on a problem, which is what one curve shows, and what several have in common."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lbbench.plan.settings import Settings, defaults
from lbbench.report import style
from lbbench.report.naming import Name

VariantKey = tuple[str, str, str]


@dataclass(frozen=True)
class Variant:
    """One setting of one method on one problem, and the seeds at hand."""

    problem: str  # as it is called beside others at hand: another objective is another problem
    method: str
    run_id: str
    settings: Settings
    seeds: tuple[int, ...]
    changed: Mapping[str, Any]  # the last name of each setting that is not as in configs/, with its value
    told: frozenset[str] = frozenset()  # those of them that the problem is told by

    @property
    def key(self) -> VariantKey:
        """What tells it from every other variant, as in the columns of traces."""
        return self.settings.problem, self.method, self.run_id

    @property
    def changes(self) -> list[str]:
        """What is changed, as it is typed."""
        return [f"{key}={value}" for key, value in self.changed.items()]

    def beside(self, shared: Container[str] = ()) -> dict[str, Any]:
        """What is changed, but for the `shared` settings and those that the problem is told by."""
        return {key: value for key, value in self.changed.items() if key not in shared and key not in self.told}

    def label(self, shared: Container[str] = ()) -> str:
        """The method, and what is not as usual, but for the `shared` settings: `LB`, or `LB (g=t^0.25)`."""
        changes = typed(self.beside(shared))
        return style.label(self.method) + (f" ({changes})" if changes else "")


def variant_of(settings: Settings, seeds: Iterable[int], names: Mapping[str, Name] | None = None) -> Variant:
    """The variant of some settings, which knows what in them is not as in configs/; `names` are `naming.names`."""
    usual = defaults(settings.method, settings.problem)
    changed = {key: value for key, value in settings.flat.items() if value != usual.get(key)}
    name = (names or {}).get(settings.objective, Name(settings.problem))
    return Variant(name.text, settings.method, settings.id, settings, tuple(seeds), changed, name.told)


def typed(settings: Mapping[str, Any]) -> str:
    """Settings as they are typed: `kernel=rbf, g=t^0.25`."""
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def shared_changes(variants: Sequence[Variant]) -> dict[str, Any]:
    """The changes from the defaults that all variants have in common."""
    changes = list(variants[0].changed.items()) if variants else []
    return dict(change for change in changes if all(change in variant.changed.items() for variant in variants))


def by_problem(variants: Sequence[Variant]) -> dict[str, list[Variant]]:
    """The variants of each problem."""
    problems: dict[str, list[Variant]] = {}
    for variant in variants:
        problems.setdefault(variant.problem, []).append(variant)
    return problems
