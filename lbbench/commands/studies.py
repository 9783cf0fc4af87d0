"""Commands that run studies, and tell how far they are."""

import typer

from lbbench.commands.arguments import Overrides
from lbbench.errors import UsageError


def run(overrides: Overrides = None) -> None:
    """Run methods on problems; what is already there is skipped.

    lbbench run method=lb,mle problem=michalewicz,agnp seeds=10
    """
    from lbbench.plan.sweeps import plan

    planned = plan(overrides or [])
    from lbbench.commands.session import Session

    raise typer.Exit(Session(planned).run())


def ablate(overrides: Overrides = None) -> None:
    """Vary a setting or two. Runs what is missing, prints the table, draws Figure 4 into <out>/figures.

    lbbench ablate g=t^0.25,t^0.5,t^0.75
    """
    from lbbench.plan.ablation import plan

    planned = plan(overrides or [])
    from lbbench.commands.session import ablate as session

    raise typer.Exit(session(planned))


def status(overrides: Overrides = None) -> None:
    """Show how far the runs of a command line are. Without settings: those of all commands so far, and all at hand.

    lbbench status +experiment=figure3
    """
    from lbbench.plan.sweeps import plan

    planned = plan(overrides or [])
    from lbbench.commands.printing import show
    from lbbench.health.status import details, statuses, table
    from lbbench.plan.words import command_line

    found = statuses(planned)
    if not found:
        begin = command_line("lbbench", "run", "method=lb", "problem=michalewicz", *planned.arguments)
        raise UsageError(f"no runs in {planned.study['out']}; begin some: {begin}")
    show(table(found), titled=False)
    for line in details(found):
        typer.echo(line)


def worker_plan(overrides: Overrides = None) -> None:
    """Tell how long the runs that are missing will take. By the step times of runs that are there in out=.

    lbbench worker-plan +experiment=figure3 jobs=64 execution=slurm
    """
    from lbbench.plan.sweeps import plan

    planned = plan(overrides or [])
    from lbbench.commands.printing import show
    from lbbench.health.estimate import at_hand, estimate
    from lbbench.records.run import runs

    asked = runs(planned)
    collection = at_hand(planned, asked)
    for message in collection.unreadable:
        typer.echo(f"left out: {message}", err=True)
    there = set() if planned.study["force"] else {trace.key for trace in collection.traces}
    todo = [run for run in asked if run.key not in there]
    if not todo:
        typer.echo(f"all {len(asked)} runs are there")
        return
    table, unknown = estimate(planned, todo, collection)
    if table.rows:
        show(table, titled=False)
    for line in unknown:
        typer.echo(line)
