"""What `lbbench ablate` does: the runs of a sweep, their table, and Figure 4."""

from collections.abc import Sequence
from pathlib import Path

from lbbench.errors import UsageError
from lbbench.plan import overrides

DEFAULTS = {"method": "lb,agpucb", "problem": "michalewicz", "seeds": "10"}  # the paper's ablation (Figure 4)


def plan(arguments: Sequence[str]) -> overrides.Plan:
    """The runs of an ablation: `DEFAULTS`, unless the overrides say otherwise.

    Raises `UsageError` if no setting takes several values.
    """
    given = {overrides.last(key) for key in overrides.read(arguments)}
    if "+experiment" in given:
        raise UsageError("ablate takes no +experiment; name what to vary, such as g=t^0.25,t^0.5,t^0.75")
    usual = [f"{key}={value}" for key, value in DEFAULTS.items() if key not in given]
    planned = overrides.plan([*arguments, *usual])
    if not planned.swept:
        raise UsageError("ablate needs a setting with several values, such as g=t^0.25,t^0.5,t^0.75")
    return planned


def run(planned: overrides.Plan) -> int:
    """Run what is missing, print the table and draw the figure into `<out>/figures`. Returns the exit code of `run`."""
    from lbbench.commands.session import Session
    from lbbench.report import figures, summaries
    from lbbench.report.collection import Collection

    session = Session(planned, closing=summaries.ablation)
    code = session.run()
    collection = Collection.of_files(run.path for run in session.runs if run.path.exists())
    if collection:
        swept = [overrides.last(key) for key in planned.swept]
        (drawn,) = figures.draw(collection, ("4",), Path(planned.study["out"]).expanduser(), swept=swept)
        for file in drawn.files:
            session.console.print(f"wrote {file}", markup=False)
    return code
