"""Functions of t in a normal form: those that differ only in how they are written have one text.

Sums and products are lists in one order with one number in each, whose sign stands outside; numbers are exact until
they are written or evaluated. Nothing is left out that could fail: t/t and 0*log(t) stay as they are.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from lbbench.errors import UsageError

Function = Callable[[float], float]

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a term binds
EXTREMES = (max, min)


@dataclass(frozen=True)
class Term:
    """A part of an expression: how it is written, and the function of t that it is.

    `number` is its value if it is a constant, and `terms` are those of a sum. Everything is a product as well, of
    `coefficient` and the factors `above`, divided by those `below`; that of a term that is no product is 1 and itself.
    `extremes` are the terms that it is the largest or smallest of, by the name of that function.
    """

    text: str
    function: Function = field(compare=False)
    binds: int = ATOM
    number: Fraction | None = None
    terms: tuple["Term", ...] = ()
    product: tuple[Fraction, tuple["Term", ...], tuple["Term", ...]] | None = None
    extremes: Mapping[str, tuple["Term", ...]] = field(default_factory=dict)

    @property
    def factors(self) -> tuple[Fraction, tuple["Term", ...], tuple["Term", ...]]:
        """The coefficient, and the factors above and below."""
        return self.product or (Fraction(1), (self,), ())

    def within(self, binds: int) -> str:
        """The text as part of a term that binds so tightly, in parentheses if it needs them."""
        needed = self.binds <= binds or self.text.startswith("-")
        return f"({self.text})" if needed else self.text


T = Term("t", float)


def number(value: Fraction) -> Term:
    """A constant. Raises `UsageError` if it is beyond what a float can be."""
    rounded = _float(value)
    return Term(_written(rounded), lambda t: rounded, number=value, product=(value, (), ()))


def add(*terms: Term) -> Term:
    """The sum of some terms: the positive ones first, and a constant behind others of its sign."""
    parts = [part for term in terms for part in (term.terms or (term,))]
    constant = number(sum((part.number for part in parts if part.number is not None), Fraction(0)))
    parts = [part for part in parts if part.number is None]
    if not parts:
        return constant
    if constant.text != "0":
        parts.append(constant)
    if len(parts) == 1:
        return parts[0]
    parts.sort(key=lambda part: (part.text.startswith("-"), part.number is not None, part.text))
    text = parts[0].text + "".join(part.text if part.text.startswith("-") else f"+{part.text}" for part in parts[1:])
    return Term(text, _summed([part.function for part in parts]), SUM, terms=tuple(parts))


def negate(term: Term) -> Term:
    """Minus a term."""
    return multiply(number(Fraction(-1)), term)


def multiply(*terms: Term) -> Term:
    """The product of some terms."""
    coefficient, above, below = Fraction(1), list[Term](), list[Term]()
    for own, its_above, its_below in (term.factors for term in terms):
        coefficient *= own
        above += its_above
        below += its_below
    return _product(coefficient, above, below)


def reciprocal(term: Term) -> Term:
    """1 divided by a term, which may be 0, and so may what divides it: then that it fails is kept."""
    coefficient, above, below = term.factors
    if _float(coefficient) == 0.0:
        return _product(Fraction(1), (), (term,))
    return _product(1 / coefficient, (), (_product(Fraction(1), above, below),) if below else above)


def power(base: Term, exponent: Term) -> Term:
    """A term to the power of another; a square root is written as such."""
    if exponent.text == "1":
        return base
    if exponent.text == "0.5":
        return call("sqrt", math.sqrt, [base])
    written = exponent.text if exponent.number is not None else exponent.within(PRODUCT)
    return _applied(f"{base.within(POWER)}^{written}", math.pow, [base, exponent], POWER)


def call(name: str, function: Callable[..., float], arguments: Sequence[Term]) -> Term:
    """A function of some terms."""
    if function in EXTREMES:
        return _extreme(name, function, arguments)
    return _applied(f"{name}({arguments[0].text})", function, arguments)


def _extreme(name: str, function: Callable[..., float], arguments: Sequence[Term]) -> Term:
    """The largest or the smallest of some terms, each once, and of their own if they are such themselves."""
    parts = [part for term in arguments for part in (term.extremes.get(name) or (term,))]
    numbers = [part for part in parts if part.number is not None]
    rest = {part.text: part for part in parts if part.number is None}
    own = [rest[text] for text in sorted(rest)]
    if numbers:
        own.insert(0, _applied("", function, numbers) if len(numbers) > 1 else numbers[0])
    if len(own) == 1:
        return own[0]
    term = _applied(f"{name}({','.join(part.text for part in own)})", function, own)
    return replace(term, extremes={name: tuple(own)})


def _applied(text: str, function: Callable[..., float], arguments: Sequence[Term], binds: int = ATOM) -> Term:
    """A function of some terms; a number, if they are numbers of which it has a finite value."""
    functions = [term.function for term in arguments]
    if all(term.number is not None for term in arguments):
        try:
            value = function(*(own(1.0) for own in functions))
        except (ArithmeticError, ValueError):
            value = math.nan
        if math.isfinite(value):
            return number(Fraction(value))
    return Term(text, lambda t: function(*(own(t) for own in functions)), binds)


def _product(coefficient: Fraction, above: Iterable[Term], below: Iterable[Term]) -> Term:
    tops, bottoms = ([_positive(term) for term in terms] for terms in (above, below))
    coefficient *= math.prod(sign for sign, _ in (*tops, *bottoms))
    above, below = (tuple(sorted((term for _, term in own), key=lambda term: term.text)) for own in (tops, bottoms))
    if not above and not below:
        return number(coefficient)
    written = number(coefficient).text
    if written == "1" and len(above) == 1 and not below:
        return above[0]
    if written == "-1" and len(above) == 1 and not below and above[0].terms:
        return add(*map(negate, above[0].terms))
    sign = {"1": "", "-1": "-"}.get(written, f"{written}*") if above else written
    text = sign + "*".join(term.within(SUM) for term in above) + "".join(f"/{term.within(PRODUCT)}" for term in below)
    function = _multiplied(_float(coefficient), [term.function for term in above], [term.function for term in below])
    return Term(text, function, PRODUCT, product=(coefficient, above, below))


def _positive(term: Term) -> tuple[int, Term]:
    """A factor, and the sign to take out of it: that of the first in the alphabet of a sum's terms."""
    named = [part for part in term.terms if part.number is None]
    if not named or not min(named, key=lambda part: part.text.lstrip("-")).text.startswith("-"):
        return 1, term
    return -1, add(*map(negate, term.terms))


def _summed(functions: Sequence[Function]) -> Function:
    def function(t: float) -> float:
        value = functions[0](t)
        for own in functions[1:]:
            value += own(t)
        return value

    return function


def _multiplied(coefficient: float, above: Sequence[Function], below: Sequence[Function]) -> Function:
    def function(t: float) -> float:
        value = coefficient
        for own in above:
            value *= own(t)
        for own in below:
            value /= own(t)
        return value

    return function


def _written(value: float) -> str:
    """The shortest text that is this number, without a sign of 0."""
    return repr(value + 0.0).removesuffix(".0")


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UsageError("a number in a growth function is beyond 1.8e308") from None
