"""What is written: the pages, and in each its blocks of code, tables, code in lines, links and headings."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, *DOCS]


class Block(NamedTuple):
    """A fenced block of code, and the file that the text before it says it is; "" if it says none."""

    language: str
    code: str
    file: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(one[1], one[2], _file(text[: one.start()])) for one in found]


def _file(before: str) -> str:
    named = re.search(r"`([\w.-]+\.\w+)`:\s*\Z", before)
    return named[1] if named else ""


def prose(page: Path) -> str:
    """The text without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """The code that stands in lines."""
    return re.findall(r"`([^`]+)`", text)


def tables(page: Path) -> list[list[list[str]]]:
    """Each table as rows of cells, the header first."""
    found = re.findall(r"(?:^\|.*\|\n)+", prose(page) + "\n", re.MULTILINE)
    rows = [[[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()] for text in found]
    return [[header, *body] for header, _, *body in rows]


def table(page: str, header: str) -> list[list[str]]:
    """The rows of the only table of a page in docs/ whose first column has that header."""
    ((_, *rows),) = [one for one in tables(ROOT / "docs" / page) if one[0][0] == header]
    return rows


def names(page: str, header: str) -> list[str]:
    """What stands as code in the first column of that table."""
    return [name for row in table(page, header) for name in spans(row[0])]


def links(page: Path) -> list[str]:
    """The targets of links and images."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


def anchors(page: Path) -> set[str]:
    """What a link can lead to within a page: GitHub's names of the headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
