"""Tab completion of commands, keys, methods, problems and values, in bash, zsh and fish.

Each shell hands over the line up to the cursor, and gets the words that could stand in the place of the last.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from lbbench.commands import COMMANDS
from lbbench.errors import UsageError
from lbbench.plan.checks import CHECKS
from lbbench.plan.configs import options
from lbbench.plan.keys import EXECUTION, GROUPS, keys_of, last
from lbbench.plan.rules import Check, choices
from lbbench.plan.words import split

SETTINGS = ("run", "ablate", "status", "worker-plan", "show", "findings", "check")  # commands that take settings
RESULTS = ("plot", "table", "export", "report")  # those that choose traces
PATHS = {"out", "to", "path"}  # keys whose values are looked for on disk
PRESET = "+experiment"
SCRIPTS = {  # for bash, `=`, `:` and `,` may part what is one word for us: it wants what follows the last of them
    "bash": """_lbbench() {
    local line="${COMP_LINE:0:COMP_POINT}" IFS=$'\\n'
    local word="${line##*[[:space:]]}" last="${COMP_WORDS[COMP_CWORD]}"
    [[ $last == [=:] ]] && last=""
    local words=($(lbbench completion words "$line" 2> /dev/null))
    COMPREPLY=("${words[@]#"${word%"$last"}"}")
}
complete -o nospace -F _lbbench lbbench""",
    "zsh": """_lbbench() {
    local -a found
    found=("${(@f)$(lbbench completion words "$LBUFFER" 2> /dev/null)}")
    compadd -Q -S '' -- $found
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _lbbench lbbench""",
    "fish": """complete -c lbbench -f -a '(lbbench completion words (commandline -cp) 2> /dev/null)'""",
}


def words(line: str) -> list[str]:
    """What the last word of a line up to the cursor may become; one that is whole ends with a space."""
    typed = line.split()[1:] if line[-1:].isspace() else line.split()[1:-1]
    word = "" if line[-1:].isspace() else line.split()[-1]
    if not typed:
        return [f"{command} " for command in COMMANDS if command.startswith(word)]
    command, *before = typed
    with contextlib.suppress(UsageError):
        return sorted(one for one in _candidates(command, before, word) if one.startswith(word))
    return []


def _candidates(command: str, before: list[str], word: str) -> Iterable[str]:
    match command:
        case "list":
            return [f"{kind} " for kind in ("methods", "problems", "experiments")]
        case "completion":
            return [f"{shell} " for shell in SCRIPTS]
        case "ask" | "tell" if not before:
            return _paths("", word, folders=True)
        case "ask" | "tell":
            return ["n="] if command == "ask" else ["y=", "point="]
        case "check" if not before:
            return [f"{name} " for group in GROUPS for name in options(group)]
    rules = _rules(command, before)
    key, equals, text = word.partition("=")
    if not equals:
        given = {last(one.partition("=")[0]) for one in before}
        return [f"{name}=" for name in rules if last(name) not in given]
    done = split(text)[:-1]
    head = "".join([f"{key}=", *(f"{value}," for value in done)])
    if key in PATHS:
        return _paths(head, word)
    return [head + value for value in _values(key, rules) if value not in done]


def _rules(command: str, before: list[str]) -> dict[str, Check | None]:
    """The keys that can be typed, by their last names, each with its rule if it is a setting."""
    if command == "doctor":
        return {"out": CHECKS["out"]}
    typed = {key: split(text) for key, _, text in (word.partition("=") for word in before)}
    if command in RESULTS:
        from lbbench.commands.own import own_keys

        chosen = {group: list(options(group)) for group in GROUPS}
        return {
            **own_keys(command),
            **_named(keys_of(chosen).all, ("study.", "execution.")),
            "seeds": None,
            "out": None,
        }
    if command in SETTINGS:
        chosen = {group: typed[group] for group in (*GROUPS, EXECUTION) if group in typed}
        return {PRESET: None, **_named(keys_of(chosen).all), EXECUTION: None}
    return {}


def _named(keys: Iterable[str], without: tuple[str, ...] = ()) -> dict[str, Check | None]:
    own = {last(key): CHECKS.get(last(key)) for key in keys if not (without and key.startswith(without))}
    return dict.fromkeys(GROUPS) | own


def _values(key: str, rules: Mapping[str, Check | None]) -> Iterable[str]:
    if key in (*GROUPS, EXECUTION):
        return options(key)
    if rule := rules.get(key) or CHECKS.get(last(key)):
        return choices(rule)
    return options("experiment") if key == PRESET else ()


def _paths(head: str, word: str, folders: bool = False) -> list[str]:
    """The files and directories that a path, which follows `head`, may become; only directories if `folders`."""
    folder, _, _ = word.removeprefix(head).rpartition("/")
    start = f"{folder}/" if "/" in word.removeprefix(head) else ""
    with contextlib.suppress(OSError):
        found = sorted(os.scandir(Path(start or ".").expanduser()), key=lambda entry: entry.name)
        return [head + start + one.name + "/" * one.is_dir() for one in found if one.is_dir() or not folders]
    return []
