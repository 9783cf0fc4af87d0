"""The tables and keys in the pages, against the code and configs/."""

import json
import re
import shlex
from collections import defaultdict

import pytest
import typer
import yaml
from pages import DOCS, PAGES, ROOT, names, prose, spans, table, tables

from lbbench.cli import app
from lbbench.commands.own import own_keys
from lbbench.commands.session import INTERRUPTED
from lbbench.plan import ablation
from lbbench.plan.checks import CHECKS, check
from lbbench.plan.configs import config_dir, options
from lbbench.plan.keys import last
from lbbench.plan.registry import OURS
from lbbench.plan.rules import choice, either, integer
from lbbench.plan.sweeps import plan
from lbbench.plan.words import split
from lbbench.records.optimising import SCHEMA
from lbbench.report import views
from lbbench.report.figures import FORMATS
from lbbench.report.tables import WRITERS
from lbbench.report.tables import text as printed


def in_configs(group):
    return {file.stem: yaml.safe_load(file.read_text()) for file in (config_dir() / group).glob("*.yaml")}


NAMED = {
    "methods": (names("methods.md", "method"), {*OURS["method"], "python"}),
    "methods in configs": (names("methods.md", "method"), in_configs("method")),
    "problems": (names("problems.md", "problem"), {*OURS["problem"], "python"}),
    "problems in configs": (names("problems.md", "problem"), in_configs("problem")),
    "presets": (names("running.md", "preset"), in_configs("experiment")),
    "columns": (names("traces.md", "column"), SCHEMA.names),
    "figures": (names("figures-and-tables.md", "`figure=`"), views.figures()),
    "tables": (names("figures-and-tables.md", "`table=`"), views.tables()),
    "commands": (names("running.md", "command"), typer.main.get_command(app).commands),
    "exit codes": ([row[0] for row in table("running.md", "exit code")], ("0", "1", "2", str(INTERRUPTED))),
}


@pytest.mark.parametrize("kind", NAMED)
def test_each_is_named_once_and_no_other(kind):
    written, there = NAMED[kind]
    assert sorted(written) == sorted(there)


def written(value):
    """A default as it may be written: numbers to four digits."""
    text = str(value).lower()
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text


def test_every_setting_has_a_row_with_its_default():
    """Rows of keys are (key, of which methods, problems or clusters, default, …), or without the second."""
    config = yaml.safe_load((config_dir() / "config.yaml").read_text())
    asked = {
        (key, ""): {written(value)} for key, value in {"iterations": config["iterations"], **config["study"]}.items()
    }
    for section in ("gp", "acquisition"):
        asked |= {(key, ""): {written(value)} for key, value in config[section].items()}
    shared = defaultdict(set)
    for group in ("method", "problem", "execution"):
        for name, settings in in_configs(group).items():
            for key, value in settings.items():
                if key == "initial":
                    shared[key, "all"].add(written(value))
                elif key != "name":
                    shared[key, name].add(written(value))
    told = defaultdict(set)
    for page in DOCS:
        for header, *rows in tables(page):
            if header[0] == "key":
                for row in rows:
                    (key,) = spans(row[0])
                    of = (spans(row[1]) or [row[1]]) if header[1] == "of" else [""]
                    for owner in of:
                        told[key, owner] |= {written(value) for value in spans(row[header.index("default")])}
    assert told == asked | shared


def test_initial_designs_are_as_large_as_told():
    sizes = {name: settings["initial"] for name, settings in in_configs("problem").items()}
    assert sizes.pop("berkenkamp") == 3
    for name, size in sizes.items():
        another = "noise_share" in in_configs("problem")[name]  # the problems that are others for each seed
        assert size == (1 if another else 10)


OWN = {  # keys that are not settings
    **own_keys("plot"),
    "table": choice(*views.tables()),
    "format": choice(*FORMATS, "text", *WRITERS),
    "variants": choice("usual", "all"),
    "thin": either("none", integer()),
    "to": CHECKS["out"],
    "n": integer(),
    "point": integer(),
    "+experiment": choice(*options("experiment")),
    "execution": choice(*options("execution")),
    "trials": CHECKS["seeds"],
}
PYTHON = {"candidates", "independent_sampler", "seed"}  # arguments in Python
SHOWN = {"key", "temperature", "pressure", "y", "share", "size"}  # of the examples
MINE = {"half", "hills"}  # names there


def words(span):
    """What a shell would make of it, if it is for one."""
    try:
        return shlex.split(span)
    except ValueError:
        return span.split()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_keys_and_values_in_the_text_are_allowed(page):
    """Those in blocks of code are played."""
    for word in [word for span in spans(prose(page)) for word in words(span)]:
        if not (found := re.fullmatch(r"(\+?[a-z_][\w.]*)=(.*)", word)):
            continue
        key, text = found.groups()
        name, values = last(key), split(text)
        if name in PYTHON | SHOWN or "…" in text or not all(values):
            assert name in {*CHECKS, *OWN, *PYTHON, *SHOWN, *OURS}, word
        elif name in OURS:
            assert all(":" in value or value in {*options(name), "python", *MINE} for value in values), word
        elif name in OWN:
            assert all(OWN[name](value) for value in values), word
        else:
            for value in values:
                check(name, key, value)


def test_the_usual_ablation_is_as_told():
    (told,) = re.findall(r"varies them on `(.*?)` unless", prose(ROOT / "docs" / "ablations.md"))
    assert dict(word.split("=") for word in told.split()) == ablation.DEFAULTS


def test_the_presets_are_as_large_as_told():
    texts = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    for preset, told in (("figure3", "{} runs of 250"), ("bandits", "{} runs of T = 30,000")):
        combinations = plan([f"+experiment={preset}"]).combinations
        assert told.format(sum(len(one.seeds) for one in combinations)) in texts
    (runs,) = re.findall(r"from (\d+) runs", (ROOT / "results" / "findings.md").read_text(encoding="utf-8"))
    assert f"`+experiment=findings` ({runs}, T = 250)" in texts


def test_the_final_regrets_are_those_of_the_results():
    (told,) = tables(ROOT / "docs" / "paper.md")
    assert told == tables(ROOT / "results" / "paper" / "tables.md")[0]


def test_the_speeds_are_those_of_the_results():
    measured = json.loads((ROOT / "results" / "bench.json").read_text())["rows"]
    columns = ("peer_value", "value", "ratio")
    there = [[printed(row[key]) for key in columns] for row in measured if row["ratio"] is not None]
    told = [row[1:] for row in table("speed.md", "")]
    assert len(told) > 3
    assert [row for row in told if row not in there] == []
