"""Validated, frozen settings of a run, composed by Hydra from configs/."""

import contextlib
import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from lbbench.errors import UsageError
from lbbench.plan import registry
from lbbench.plan.checks import FIXED, typed_tree
from lbbench.plan.configs import config_dir, load, options
from lbbench.plan.keys import canonical, leaves, once, pick, resolve
from lbbench.plan.kinds import OPTIMISATION
from lbbench.plan.sweeps import Combination

BESIDE = ("initial", "noise_std", "standardise")  # the settings of a problem that leave its objective as it is


@dataclass(frozen=True)
class Settings:
    """All that decides the numbers of a run, but for its seed: the sections of configs/ as plain typed values."""

    tree: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash(self.id)

    def __getitem__(self, section: str) -> Any:
        return self.tree[section]

    def get(self, key: str) -> Any:
        """The value of a full key such as `method.g`; None where these settings have no such key."""
        value: Any = self.tree
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    @property
    def flat(self) -> dict[str, Any]:
        """Each setting by its last name."""
        sections = {key: value if isinstance(value, Mapping) else {key: value} for key, value in self.tree.items()}
        return {key: value for section in sections.values() for key, value in section.items() if key not in FIXED}

    @property
    def method(self) -> str:
        return str(self.tree["method"]["name"])

    @property
    def problem(self) -> str:
        return str(self.tree["problem"]["name"])

    @property
    def kind(self) -> str:
        """The kind of study that they are for, one of `KINDS`."""
        return str(self.get("problem.kind") or OPTIMISATION)

    @cached_property
    def objective(self) -> str:
        """What tells an objective from others of the same problem, as JSON: not how it is begun, or looked at."""
        own = {key: value for key, value in self.tree["problem"].items() if key not in BESIDE}
        return json.dumps(own, sort_keys=True)

    @cached_property
    def id(self) -> str:
        """A hash of the settings; the order of keys does not matter."""
        return hashlib.sha256(self.json.encode()).hexdigest()[:10]

    @property
    def json(self) -> str:
        """The settings as canonical JSON."""
        return self.json_of(*self.tree)

    def json_of(self, *sections: str) -> str:
        """Some sections of the settings as canonical JSON."""
        return json.dumps({section: self.tree[section] for section in sections}, sort_keys=True)


@cache
def defaults(method: str, problem: str) -> Mapping[str, Any]:
    """Each setting of a method on a problem by its last name, as in configs/; those of an unknown one are left out."""
    tree = load("config")
    for ours in ("defaults", "study"):
        del tree[ours]
    for group, name in (("method", method), ("problem", problem)):
        if name in options(group) or registry.is_plugin(group, name):
            with contextlib.suppress(UsageError):  # of a plug-in that is not there any more
                tree[group] = load(f"{group}/{name}")
    return Settings(typed_tree(tree)).flat


def own(method: str, problem: Mapping[str, Any], values: Mapping[str, Any]) -> Settings:
    """The settings of a method on a problem that has no file in configs/, with `values` by their last or full names.

    Raises `UsageError`, which names the key and what is allowed.
    """
    tree = load("config")
    for ours in ("defaults", "study", "iterations"):
        del tree[ours]
    tree |= {"method": load(f"method/{pick('method', [method], options('method'))[0]}"), "problem": dict(problem)}
    typed: dict[str, str] = {}
    for key, value in values.items():
        full = resolve(key, leaves(tree), others=())
        once(key, full, typed)
        section, _, name = full.partition(".")
        tree[section][name] = canonical(full, key, str(value))
    return Settings(typed_tree(tree))


def compose(combination: Combination) -> Settings:
    """The settings of one combination, composed by Hydra from configs/."""
    return Composer()(combination)


class Composer:
    """`compose` for many: Hydra, which takes a twentieth of a second, reads each method on each problem once."""

    def __init__(self) -> None:
        self._trees: dict[tuple[str, str], dict[str, Any]] = {}

    def __call__(self, combination: Combination) -> Settings:
        chosen = combination.method, combination.problem
        if chosen not in self._trees:
            self._trees[chosen] = _composed(*chosen)
        tree = copy.deepcopy(self._trees[chosen])
        for key, value in combination.values.items():
            section, _, name = key.rpartition(".")
            (tree[section] if section else tree)[name] = value
        typed = typed_tree(tree)
        problem = typed["problem"]
        if problem.get("version") == "none":  # an own problem's, of which older traces say nothing
            del problem["version"]
        if problem.get("digest") == "auto" and problem.get("path", "none") != "none":
            from lbbench.problems.tables import digest_of

            problem["digest"] = digest_of(problem["path"])
        return Settings(typed)


def _composed(method: str, problem: str) -> dict[str, Any]:
    """What configs/ say of a method on a problem, but for the settings of the study."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    groups = [_group("method", method), _group("problem", problem)]
    with initialize_config_dir(str(config_dir()), version_base="1.3", job_name="lbbench"):
        tree: Any = OmegaConf.to_container(hydra_compose("config", groups), resolve=True)
    return {section: value for section, value in tree.items() if section not in ("study", "execution")}


def _group(group: str, name: str) -> str:
    """Hydra's choice of a method or problem; a plug-in, which has no file, is stored for it."""
    if not registry.is_plugin(group, name):
        return f"{group}={name}"
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name="own", group=group, node=load(f"{group}/{name}"))
    return f"{group}=own"
