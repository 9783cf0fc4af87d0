"""The files in configs/: which there are, and what they say."""

from pathlib import Path
from typing import Any

from lbbench.errors import UsageError, printable
from lbbench.plan import registry
from lbbench.plan.checks import typed_tree

PYTHON = "python"  # in the place of a method's or problem's name: what `target` says


def config_dir() -> Path:
    """The directory of configs: inside an installed package, at the top of a checkout."""
    package = Path(__file__).resolve().parents[1]
    for directory in (package / "configs", package.parent / "configs"):
        if (directory / "config.yaml").is_file():
            return directory
    raise UsageError(f"the configs are missing from {package}: install lbbench again")


def described(group: str) -> dict[str, str]:
    """What `options` gives, and `python`, which stands for what is the user's own."""
    files = sorted((config_dir() / group).glob("[!.]*.yaml"))
    texts = {file.stem: file.read_text(encoding="utf-8", errors="replace") for file in files}
    ours = {name: text.partition("\n")[0].lstrip("# ") for name, text in texts.items()}
    return ours | {name: target for name, target in registry.registered(group).items() if name not in ours}


def options(group: str) -> dict[str, str]:
    """The names of a group, each with what it is: files that are not hidden, with the comment in their first line, and
    what installed packages register.
    """
    return {name: text for name, text in described(group).items() if name != PYTHON}


def parsed(file: Path) -> Any:
    """The content of a YAML file. Raises `UsageError`, which names the file, if it is none, and `OSError`."""
    import yaml

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C, where it was built: ten times as fast
        return loader(file.read_text(encoding="utf-8")).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{file}: no YAML ({' '.join(str(error).split())})") from None


def load(name: str) -> Any:
    """The content of one file in configs/, or of what would be a plug-in's.

    Raises `UsageError`, which names the file, if it cannot be one.
    """
    group, _, own = name.rpartition("/")
    if registry.is_plugin(group, own):
        return _plugin(group, own)
    file = config_dir() / f"{name}.yaml"
    content = parsed(file)
    try:
        _check(name, content)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise UsageError(f"{file}: keys or sections do not belong there, or are missing") from None
    return content


def _plugin(group: str, name: str) -> dict[str, Any]:
    settings = registry.settings(group, name)
    if group == "problem":
        usual = {key: value for key, value in load(f"problem/{PYTHON}").items() if key != "target"}
        shared = {key: usual[key] for key in (*registry.SHARED, "version")}
        settings = usual if settings is None else shared | settings
    return {**(settings or {}), "name": name}


def _check(name: str, content: Any) -> None:
    """A preset is a list of command lines; all else has settings, and either defaults or the name of the file."""
    group, _, stem = name.rpartition("/")
    if group == "experiment":
        names = content if isinstance(content, list) else [content]
    elif group:
        names = [content["name"]]
        if content["name"] != stem:
            raise UsageError(f"name: {printable(str(content['name']))} must be {stem}, as the file's")
    else:
        names = [value for entry in content["defaults"] if isinstance(entry, dict) for value in entry.values()]
    if not names or not all(isinstance(text, str) and text.strip() for text in names):
        raise UsageError(f"must have text in the place of {names}")
    if group != "experiment":
        typed_tree({key: value for key, value in content.items() if key != "defaults"})
