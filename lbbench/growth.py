"""Growth functions g(t) and b(t), written as expressions in t.

Grammar (whitespace is free, `^` binds tighter than a sign and groups to the right)::

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*
    factor  = "-" factor | power
    power   = atom ("^" factor)?
    atom    = number | "t" | name "(" sum ("," sum)* ")" | "(" sum ")"

An expression is parsed into closures over `math`; nothing is ever evaluated as Python.
"""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from lbbench.errors import UsageError

Function = Callable[[float], float]

FUNCTIONS: dict[str, tuple[Callable[..., float], range]] = {
    "sqrt": (math.sqrt, range(1, 2)),
    "log": (math.log, range(1, 2)),
    "exp": (math.exp, range(1, 2)),
    "max": (max, range(2, 9)),
    "min": (min, range(2, 9)),
}
OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": math.pow,
}
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(.))", re.ASCII)
EXPECTED = "expected a number, t, '(' or one of " + ", ".join(FUNCTIONS)
DIGITS = tuple("0123456789")
MAX_LENGTH = 100  # also bounds the depth of the recursion


@dataclass(frozen=True)
class Growth:
    """A growth function. `text` is its expression without whitespace, `Growth(...)(t)` its value at step t."""

    text: str
    function: Function

    def __call__(self, t: float) -> float:
        """The value at step t (t >= 1).

        Raises `UsageError` where the expression has no finite value.
        """
        try:
            value = self.function(t)
        except (ArithmeticError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise UsageError(f"{self.text} has no finite value at t={t:g}")
        return value


def parse(text: str) -> Growth:
    """The growth function that `text` describes, such as `sqrt(t)`, `t^0.25` or `max(2, log(t))`.

    Raises `UsageError`, whose second line points at the first character that does not fit.
    """
    if len(text) > MAX_LENGTH:
        raise UsageError(f"a growth function has at most {MAX_LENGTH} characters, this one {len(text)}")
    return _Parser(text).growth()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            (match.group(match.lastindex), match.start(match.lastindex))
            for match in TOKEN.finditer(text.rstrip())
            if match.lastindex
        ]
        self.next = 0

    def growth(self) -> Growth:
        function = self.sum()
        if self.peek():
            self.fail("expected an operator or the end")
        return Growth("".join(token for token, _ in self.tokens), function)

    def peek(self) -> str:
        return self.tokens[self.next][0] if self.next < len(self.tokens) else ""

    def expect(self, token: str) -> None:
        if self.peek() != token:
            self.fail(f"expected '{token}'")
        self.next += 1

    def fail(self, message: str) -> NoReturn:
        at = self.tokens[self.next][1] if self.next < len(self.tokens) else len(self.text)
        printable = "".join(c if c.isprintable() else "?" for c in self.text)
        raise UsageError(f"{printable}\n{' ' * at}^ {message}")

    def sum(self) -> Function:
        return self.chain("+-", self.product)

    def product(self) -> Function:
        return self.chain("*/", self.factor)

    def chain(self, symbols: str, operand: Callable[[], Function]) -> Function:
        left = operand()
        while (symbol := self.peek()) and symbol in symbols:
            self.next += 1
            left = _apply(OPERATORS[symbol], left, operand())
        return left

    def factor(self) -> Function:
        if self.peek() == "-":
            self.next += 1
            return _apply(operator.neg, self.factor())
        base = self.atom()
        if self.peek() != "^":
            return base
        self.next += 1
        return _apply(OPERATORS["^"], base, self.factor())

    def atom(self) -> Function:
        token = self.peek()
        if token == "t":
            self.next += 1
            return float
        if token[:1] in DIGITS or (token[:1] == "." and len(token) > 1):
            self.next += 1
            value = float(token)
            return lambda t: value
        if token == "(":
            self.next += 1
            inner = self.sum()
            self.expect(")")
            return inner
        if token in FUNCTIONS:
            return self.call(token)
        self.fail(EXPECTED)

    def call(self, name: str) -> Function:
        function, arity = FUNCTIONS[name]
        self.next += 1
        self.expect("(")
        arguments = [self.sum()]
        while self.peek() == "," and len(arguments) < arity[-1]:
            self.next += 1
            arguments.append(self.sum())
        if len(arguments) not in arity:
            self.fail(f"{name} takes at least {arity[0]} arguments")
        self.expect(")")
        return _apply(function, *arguments)


def _apply(function: Callable[..., float], *arguments: Function) -> Function:
    return lambda t: function(*(argument(t) for argument in arguments))
