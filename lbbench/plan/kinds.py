"""The kinds of study that there are. A problem and a method are of one kind, which `kind:` in their files tells."""

from dataclasses import dataclass

OPTIMISATION = "optimisation"  # what files are of that do not tell


@dataclass(frozen=True)
class Kind:
    """What is particular to a kind of study, as `module:name`, since it belongs to rooms above this one.

    `player` yields the rows of a run; `row` is the `records.rows.Row` that says what they hold, and `view` the
    `report.views.View` that says how they are shown.
    """

    player: str
    row: str
    view: str


KINDS = {
    OPTIMISATION: Kind(
        player="lbbench.study.optimising:play",
        row="lbbench.records.optimising:ROW",
        view="lbbench.report.optimising:VIEW",
    ),
}
