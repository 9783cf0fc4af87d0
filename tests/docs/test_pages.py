"""The README is short and leads to everything, and no link leads nowhere."""

import itertools
import re
import tomllib

import pytest
from pages import DOCS, PAGES, README, ROOT, anchors, links, prose

LINKING = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def test_the_readme_is_a_front_door():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    for command in (
        "make run",
        "make test",
        "lbbench run method=lb problem=michalewicz seeds=10",
        "lbbench ablate g=t^0.25,t^0.5,t^0.75",
        "lbbench plot",
    ):
        assert [line for line in lines if line.partition("#")[0].strip() == command], command
    assert {f"docs/{page.name}" for page in DOCS} <= set(links(README))


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for link in links(page):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_a_page_can_be_read_alone(page):
    """It says what it is about, and leads to others that it takes for granted."""
    title, _, opening = page.read_text(encoding="utf-8").split("\n", 2)
    assert title.startswith("# ")
    assert opening[0].isalpha() or opening[0] in "`*"
    assert links(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_line_of_a_paragraph_begins_a_list_unmeant(page):
    for line, after in itertools.pairwise(prose(page).splitlines()):
        assert not line.strip() or not re.match(r"\s*\d+[.)] ", after), after


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_of_120_characters(page):
    for line in page.read_text(encoding="utf-8").splitlines():
        assert len(line) <= 120 or line.startswith(("|", "!["))


def test_the_extras_to_install_are_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = ",".join(re.findall(r"pip install .*\[([\w,]+)\]", text)).split(",")
    assert {"dask", "slurm", "optuna", "materials"} <= set(named) <= set(project["optional-dependencies"])


def test_the_source_distribution_has_what_the_pages_link_to():
    """But for the traces among the results, which are large."""
    builder = pytest.importorskip("hatchling.builders.sdist").SdistBuilder(str(ROOT))
    there = {ROOT / file.relative_path for file in builder.recurse_included_files()}
    assert set(LINKING) - {README} <= there  # which is in each of them
    for page in LINKING:
        for link in links(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            assert re.match(r"https?://", link) or any(file.is_relative_to(target) for file in there | {page.parent}), (
                link
            )
