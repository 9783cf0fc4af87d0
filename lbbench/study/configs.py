"""The files in configs/: which there are, and what they say."""

from pathlib import Path
from typing import Any

from lbbench.errors import UsageError


def config_dir() -> Path:
    """The directory of configs: inside an installed package, at the top of a checkout."""
    package = Path(__file__).resolve().parents[1]
    for directory in (package / "configs", package.parent / "configs"):
        if (directory / "config.yaml").is_file():
            return directory
    raise UsageError(f"the configs are missing from {package}: install lbbench again")


def options(group: str) -> dict[str, str]:
    """The names of a config group's files that are not hidden, each with the comment in its first line."""
    files = sorted((config_dir() / group).glob("[!.]*.yaml"))
    return {file.stem: file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for file in files}


def load(name: str) -> Any:
    """The content of one file in configs/."""
    import yaml

    return yaml.safe_load((config_dir() / f"{name}.yaml").read_text(encoding="utf-8"))
