"""The errors that lbbench raises on purpose."""


class UsageError(Exception):
    """A mistake in what the user asked for; the command line prints it in one line and exits with 2."""


class NumericalError(ArithmeticError):
    """A computation lost positive definiteness or produced a value that is not finite."""


class ObjectiveError(ArithmeticError):
    """An objective has a value that is not finite, or is not the one that it was."""


class StepError(Exception):
    """What ended a run, as the cause: the step `t`, and its point `x` in user units, as far as they are known."""

    def __init__(self, t: int | None, x: list[float] | None) -> None:
        super().__init__(f"step {t}" + ("" if x is None else f" at x = {x}"))
        self.t, self.x = t, x


def printable(text: str) -> str:
    """A user's text as it may stand in a one-line message."""
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown if len(shown) <= 80 else shown[:77] + "…"
