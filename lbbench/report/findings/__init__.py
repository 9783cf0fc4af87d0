"""What became of a paper's claims: a document for each preset whose runs decide some. Light to import."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from lbbench.errors import UsageError
from lbbench.plan.keys import pick
from lbbench.plan.rules import directory
from lbbench.plan.sweeps import plan
from lbbench.plan.words import read

DOCUMENTS = {
    preset: f"lbbench.report.findings.{name}" for preset, name in {"findings": "paper", "bandits": "bandits"}.items()
}


def write(arguments: Sequence[str]) -> Path:
    """Write the document of the preset that the arguments name, of its runs in `out=`; returns the file.

    What is written by hand in the file is kept. Raises `UsageError` if a run is missing.
    """
    line = list(arguments)
    if (presets := read(line).get("+experiment")) is None:
        presets, line = ["findings"], ["+experiment=findings", *line]
    names = pick("+experiment", presets, dict.fromkeys(DOCUMENTS, ""))
    file = directory("out", plan(line).study["out"]) / "findings.md"
    if len(names) > 1:
        raise UsageError(f"+experiment takes one preset, not {len(names)}")
    import_module(DOCUMENTS[names[0]]).write(line, file)
    return file
