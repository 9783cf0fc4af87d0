"""The report: one HTML file that holds all it needs, to be read offline.

The page is laid out by the template in page/, and its charts are drawn in the browser from `interactive.charts`. Its
content security policy names by their hashes the two scripts that may run, so no text of a trace can ever be one, and
nothing can be loaded or sent.
"""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from lbbench import __version__
from lbbench.records.files import naming
from lbbench.records.signatures import differing
from lbbench.report import interactive, sections, style, summaries, tables
from lbbench.report.collection import Collection
from lbbench.report.variants import Variant, shared_changes

PAGE = Path(__file__).with_name("page")


def write(out: Path, collection: Collection, compared: Sequence[Variant], file: Path) -> None:
    """Write the report on a collection of runs below `out`, at least one, to a file, with the failures noted there.

    The `compared` variants of the collection are ranked and tested, and shown at first.
    """
    failed, unreadable = sections.failures(out, collection)
    page = render(collection, compared, failed, [*collection.unreadable, *unreadable])
    file.parent.mkdir(parents=True, exist_ok=True)
    with naming(file):
        file.write_text(page, encoding="utf-8")


def render(collection: Collection, compared: Sequence[Variant], failed: tables.Table, unreadable: Sequence[str]) -> str:
    """The report as the text of an HTML file."""
    shared = shared_changes(collection.variants)
    labels = {variant.run_id: variant.label(shared) for variant in collection.variants}
    frame = collection.read(collection.variants, interactive.COLUMNS, thinned=True)
    (summary,) = summaries.tables(collection, collection.variants, ("summary",))
    ranks, tests, published = summaries.tables(collection, compared, ("ranks", "tests", "times"))
    loader = FileSystemLoader(PAGE)
    page = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    page.filters["text"] = tables.text
    page.filters["hash"] = _hash
    return page.get_template("report.html").render(
        version=__version__,
        sections=sections,
        collection=collection,
        methods=[style.label(method) for method in sorted({v.method for v in collection.variants}, key=style.order)],
        shared=shared,
        labels=labels,
        frame=frame,
        failed=failed,
        unreadable=unreadable,
        failures=len(failed.rows) + len(unreadable),
        differing=differing(collection.metadata),
        charts=interactive.charts(collection, compared, frame, labels),
        regrets=interactive.REGRETS,
        summary=summary,
        ranks=ranks,
        tests=tests,
        published=published,
        stylesheet=Markup((PAGE / "report.css").read_text(encoding="utf-8")),
        scripts=[Markup(get_plotlyjs()), Markup((PAGE / "report.js").read_text(encoding="utf-8"))],
    )


def _hash(script: str) -> str:
    """A script as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
