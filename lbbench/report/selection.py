"""What a reporting command was asked for: its own keys, and which runs to keep."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lbbench.errors import UsageError, printable
from lbbench.plan import ablation, sweeps
from lbbench.plan.checks import CHECKS, check
from lbbench.plan.configs import load, options
from lbbench.plan.keys import GROUPS, canonical, keys_of, last, leaves, once, pick, resolve
from lbbench.plan.rules import Check, Value, check_by, inside
from lbbench.plan.words import command_line, read
from lbbench.progress import watched
from lbbench.records import files

PLANS = {"run": sweeps.plan, "ablate": ablation.plan}  # what plans the runs of a command
SEEDS = "study.seeds"


@dataclass(frozen=True)
class Selection:
    """The checked values of a command's own keys, and the filters as `Collection.at` takes them."""

    own: Mapping[str, tuple[Value, ...]]
    wanted: Mapping[str, tuple[str, ...]]
    arguments: tuple[str, ...] = ()  # as they were typed

    @property
    def out(self) -> Path:
        """The output directory; as in configs/ where no `out=` was given."""
        return Path(str(self.one("out", load("config")["study"]["out"]))).expanduser()

    @property
    def overrides(self) -> list[str]:
        """The arguments that `lbbench run` understands as well."""
        ours = self.own.keys() - {"out", "+experiment"}
        return [argument for argument in self.arguments if argument.partition("=")[0] not in ours]

    @property
    def settings(self) -> tuple[str, ...]:
        """The last names of the settings that runs are kept by."""
        return tuple(key for key in self.wanted if key not in (*GROUPS, "seeds"))

    @property
    def nothing_found(self) -> str:
        """What to say where there are no such traces, with the command that makes some."""
        if self.out.is_file():
            return f"out={printable(str(self.out))} is a file"
        which = "no traces that match" if self.wanted else "no traces"
        usual = [] if self.wanted or "+experiment" in self.own else ["method=lb", "problem=michalewicz"]
        return f"{which} in {self.out / 'traces'}; make some: {self.source('lbbench', 'run', *usual)}"

    def source(self, *words: str) -> str:
        """A command that makes traces, with what was asked for beside what it says itself; alone if it takes no such.

        The words are those of `lbbench run` or `lbbench ablate`.
        """
        said = {word.partition("=")[0] for word in words}
        own = [argument for argument in self.overrides if argument.partition("=")[0] not in said]
        try:
            PLANS[words[1]]([*words[2:], *own])
        except UsageError:
            own = [argument for argument in own if argument.startswith("out=")]
        return command_line(*words, *own)

    def destination(self, usual: str) -> Path:
        """Where `to=` says that the result goes, or else its usual place below the output directory."""
        to = self.one("to")
        return self.out / usual if to is None else inside(self.out, "to", to)

    def many(self, key: str, default: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The values of one of the command's own keys, each once."""
        return tuple(dict.fromkeys(self.own.get(key, tuple(default))))

    def one(self, key: str, default: Any = None) -> Any:
        """The value of one of the command's own keys. Raises `UsageError` if several were given."""
        values = self.many(key, [default])
        if len(values) > 1:
            raise UsageError(f"{key} takes one value, not {len(values)}")
        return values[0]


def select(arguments: Sequence[str], own: Mapping[str, Check]) -> Selection:
    """Read and check `key=value,value` arguments: `out`, the command's own keys, and filters.

    Filters are `problem`, `method`, `seeds` and every setting, of what is installed or of the traces in `out`. Raises
    `UsageError`, which names the key and what is allowed.
    """
    own = {**own, "out": CHECKS["out"]}
    given = read(arguments)
    try:
        return _select(arguments, given, own, {group: options(group) for group in GROUPS}, _settings())
    except UsageError:  # it may be a plug-in's that is not installed, or has no name but module:name
        there = _at_hand(_select(arguments, {key: given[key] for key in ("out",) if key in given}, own, {}, ()).out)
        if not there:
            raise
        names = {group: {**options(group), **{str(tree[group]["name"]): "" for tree in there}} for group in GROUPS}
        theirs = [key for tree in there for key in leaves(tree)]
        return _select(arguments, given, own, names, list(dict.fromkeys([*_settings(), *theirs])))


def _select(
    arguments: Sequence[str],
    given: Mapping[str, list[str]],
    own: Mapping[str, Check],
    names: Mapping[str, Mapping[str, str]],
    keys: Sequence[str],
) -> Selection:
    chosen: dict[str, tuple[Value, ...]] = {}
    wanted: dict[str, tuple[str, ...]] = {}
    typed: dict[str, str] = {}
    for key, texts in given.items():
        if key in own:
            chosen[key] = tuple(check_by(own[key], key, text) for text in texts)
        elif key in GROUPS:
            wanted[key] = tuple(pick(key, texts, names[key]))
        else:
            full = resolve(key, [SEEDS, *keys], others=(*own, *GROUPS))
            once(key, name := last(full), typed)
            if full == SEEDS:
                wanted[name] = tuple(str(seed) for text in texts for seed in _seeds(key, text))
                continue
            wanted[name] = tuple(canonical(full, key, text) if name in CHECKS else text for text in texts)
    return Selection(chosen, wanted, tuple(arguments))


def _seeds(key: str, text: str) -> tuple[int, ...]:
    seeds = check("seeds", key, text)
    assert isinstance(seeds, tuple)
    return seeds


def _settings() -> list[str]:
    """The full keys of every setting that decides the numbers of a run, of all methods and problems."""
    everything = {group: list(options(group)) for group in GROUPS}
    return [key for key in keys_of(everything).all if not key.startswith(("study.", "execution."))]


def _at_hand(out: Path) -> list[dict[str, Any]]:
    """The settings of the traces below a directory, each once."""
    paths = files.below(out / "traces", ".parquet")
    if not paths:
        return []
    from lbbench.records import traces

    found: dict[str, dict[str, Any]] = {}
    for path in watched(paths, f"reading {len(paths):,} traces"):
        with contextlib.suppress(UsageError):
            found |= {json.dumps(run["settings"], sort_keys=True): run["settings"] for run in traces.read_runs(path)}
    return list(found.values())
