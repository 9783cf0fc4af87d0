"""How far a study is: a table of its runs by their status, and a line for each that is not simply done or missing."""

from collections import Counter
from collections.abc import Iterator, Sequence

from lbbench.health.status import WORDS, Status
from lbbench.report.collection import variant_of
from lbbench.report.tables import Cell, Table
from lbbench.report.variants import shared_changes, typed


def table(statuses: Sequence[Status]) -> Table:
    """A row per problem and setting of a method, with the number of runs of each status."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    variants = {run.settings.id: variant_of(run.settings, ()) for run in (status.run for status in statuses)}
    shared = shared_changes(list(variants.values()))
    for status in statuses:
        own = variants[status.run.settings.id]
        counts.setdefault((own.problem, own.label(shared)), Counter())[status.word] += 1
    rows: list[tuple[Cell, ...]] = [(*key, *(found[word] for word in WORDS)) for key, found in counts.items()]
    total = Counter(status.word for status in statuses)
    note = ", ".join(f"{total[word]} {word}" for word in WORDS if total[word])
    return Table(("problem", "method", *WORDS), rows, note=f"{note}; {typed(shared)}" if shared else note)


def details(statuses: Sequence[Status]) -> Iterator[str]:
    """What is known of the runs that are neither done nor untouched."""
    for status in statuses:
        if status.detail:
            yield f"{status.word}: {status.run.name}: {status.detail}"
