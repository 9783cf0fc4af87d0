"""The sweeps that overrides ask for: their own, or those of a preset with the overrides applied."""

from collections.abc import Mapping, Sequence

from lbbench.errors import UsageError
from lbbench.plan.configs import load, options
from lbbench.plan.keys import EXECUTION, GROUPS, keys_of, last, pick, resolve
from lbbench.plan.words import read


def sweeps(overrides: dict[str, list[str]], within: tuple[str, ...] = ()) -> list[dict[str, list[str]]]:
    """The sweeps that overrides ask for: their own, or those of the lines of a preset with the overrides applied.

    `within` are the presets that led to these overrides.
    """
    presets = overrides.pop("+experiment", None)
    if presets is None:
        return [overrides]
    names = pick("+experiment", presets, options("experiment"))
    if len(names) > 1:
        raise UsageError(f"+experiment takes one preset, not {len(names)}")
    if names[0] in within:
        raise UsageError(f"+experiment={names[0]} names itself, by way of {' and '.join(within)}")
    within += (names[0],)
    lines = [sweep for line in load(f"experiment/{names[0]}") for sweep in sweeps(read(line.split()), within)]
    for group in GROUPS:
        if group in overrides:
            chosen = pick(group, overrides[group], options(group))
            lines = _choose(group, chosen, lines)
            overrides = {key: texts for key, texts in overrides.items() if key != group}
    return _override(lines, overrides)


def _choose(group: str, chosen: Sequence[str], lines: Sequence[dict[str, list[str]]]) -> list[dict[str, list[str]]]:
    """The sweeps of a preset for the methods or problems that were chosen.

    Those that it has are where it has them; any other takes part in all sweeps, but for settings that it does not have.
    """
    had = {name for line in lines for name in line.get(group, [])}
    found = []
    for line in lines:
        if here := [name for name in chosen if name in line.get(group, []) or name not in had]:
            new = {**line, group: here}
            found.append({key: texts for key, texts in new.items() if _applies(key, new) or not _applies(key, line)})
    return found


def _override(lines: Sequence[dict[str, list[str]]], overrides: dict[str, list[str]]) -> list[dict[str, list[str]]]:
    """The sweeps of a preset, with the overrides in place of what a sweep says.

    An override that is no setting of what a sweep chooses leaves that sweep alone, but it must apply to one of them.
    """
    own = [{key: texts for key, texts in line.items() if last(key) not in map(last, overrides)} for line in lines]
    applicable = [{key for key in overrides if _applies(key, {**line, **overrides})} for line in own]
    for key in overrides:
        if not any(key in here for here in applicable):
            resolve(key, keys_of({**own[0], **overrides}).all)
    return [
        line | {key: texts for key, texts in overrides.items() if key in here}
        for line, here in zip(own, applicable, strict=True)
    ]


def _applies(key: str, sweep: Mapping[str, list[str]]) -> bool:
    try:
        return key in (*GROUPS, EXECUTION) or bool(resolve(key, keys_of(sweep).all))
    except UsageError:
        return False
