"""Commands for an experiment of one's own, in a directory."""

import typer

from lbbench.commands.arguments import Directory, Filters


def ask(directory: Directory, arguments: Filters = None) -> None:
    """Print the next point of your own experiment. Or several at a time: n=3 has three pending.

    lbbench ask experiment/
    """
    from lbbench.plan.rules import integer_of
    from lbbench.plan.words import pairs

    given = pairs(arguments or [], ["n"])
    count = integer_of("n", given.get("n", "1"), at_most=1_000)
    from lbbench.asktell.experiment import opened

    with opened(directory) as experiment:
        for i, x in enumerate(experiment.ask(count), start=1):
            typer.echo(f"point {i}: {experiment.text(x)}")


def tell(directory: Directory, arguments: Filters = None) -> None:
    """Note the value of a point. The pending one, or point= of several, or of the inputs that are given.

    lbbench tell experiment/ y=3.2
    """
    from lbbench.plan.words import pairs

    given = pairs(arguments or [])
    from lbbench.asktell.experiment import opened

    with opened(directory) as experiment:
        x, y = experiment.tell(given)
        typer.echo(f"told: {experiment.text(x)} y={'failed' if y is None else f'{y:g}'}")
        if len(experiment.optimizer.y):
            best, value = experiment.optimizer.best
            typer.echo(f"best: {experiment.text(best)} y={value:g}")
