"""The errors that lbbench raises on purpose."""


class UsageError(Exception):
    """A mistake in what the user asked for; the command line prints it in one line and exits with 2."""


class NumericalError(ArithmeticError):
    """A computation lost positive definiteness or produced a value that is not finite."""
