"""Growth functions g(t) and b(t), written as expressions in t.

Grammar (whitespace is free, `^` binds tighter than a sign and groups to the right)::

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*
    factor  = "-" factor | power
    power   = atom ("^" factor)?
    atom    = number | "t" | name "(" sum ("," sum)* ")" | "(" sum ")"

An expression is parsed into `terms`, which are closures over `math`; nothing is ever evaluated as Python. One function
has one text, however it was written: `0.50*t + 1` is `0.5*t+1`, and `t^.5` is `sqrt(t)`.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from lbbench.errors import UsageError
from lbbench.growth import terms
from lbbench.growth.terms import Function, Term

MAX_LENGTH = 100  # also bounds the depth of the recursion
FUNCTIONS: dict[str, tuple[Callable[..., float], range]] = {
    "sqrt": (math.sqrt, range(1, 2)),
    "log": (math.log, range(1, 2)),
    "exp": (math.exp, range(1, 2)),
    "max": (max, range(2, MAX_LENGTH)),
    "min": (min, range(2, MAX_LENGTH)),
}
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(.))", re.ASCII)
EXPECTED = "expected a number, t, '(' or one of " + ", ".join(FUNCTIONS)
DIGITS = tuple("0123456789")


@dataclass(frozen=True)
class Growth:
    """A growth function. `text` is its canonical expression, `Growth(...)(t)` its value at step t."""

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
    term = _Parser(text).expression()
    if len(term.text) > MAX_LENGTH:
        raise UsageError(
            f"a growth function has at most {MAX_LENGTH} characters, this one {len(term.text)}: {term.text}"
        )
    return Growth(term.text, term.function)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            (match.group(match.lastindex), match.start(match.lastindex))
            for match in TOKEN.finditer(text.rstrip())
            if match.lastindex
        ]
        self.next = 0

    def expression(self) -> Term:
        term = self.sum()
        if self.peek():
            self.fail("expected an operator or the end")
        return term

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

    def sum(self) -> Term:
        return terms.add(*self.chain("+-", self.product, terms.negate))

    def product(self) -> Term:
        return terms.multiply(*self.chain("*/", self.factor, terms.reciprocal))

    def chain(self, symbols: str, operand: Callable[[], Term], inverse: Callable[[Term], Term]) -> list[Term]:
        """Operands between two operators, as if all of them were the first."""
        found = [operand()]
        while (symbol := self.peek()) and symbol in symbols:
            self.next += 1
            found.append(operand() if symbol == symbols[0] else inverse(operand()))
        return found

    def factor(self) -> Term:
        if self.peek() == "-":
            self.next += 1
            return terms.negate(self.factor())
        base = self.atom()
        if self.peek() != "^":
            return base
        self.next += 1
        return terms.power(base, self.factor())

    def atom(self) -> Term:
        token = self.peek()
        if token == "t":
            self.next += 1
            return terms.T
        if token[:1] in DIGITS or (token[:1] == "." and len(token) > 1):
            value = float(token)
            if math.isinf(value):
                self.fail("expected a number up to 1.8e308")
            self.next += 1
            return terms.number(Fraction(token) if value else Fraction(0))
        if token == "(":
            self.next += 1
            inner = self.sum()
            self.expect(")")
            return inner
        if token in FUNCTIONS:
            return self.call(token)
        self.fail(EXPECTED)

    def call(self, name: str) -> Term:
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
        return terms.call(name, function, arguments)
