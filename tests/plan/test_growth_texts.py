"""One growth function has one text, and that text is it."""

import math
from fractions import Fraction
from operator import neg, sub, truediv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbbench.errors import UsageError
from lbbench.growth import parse

STEPS = (1, 2, 3, 7, 50, 250, 10_000)


@pytest.mark.parametrize("text", ["sqrt(t)", "t^0.25", "t^0.75", "max(2,t^0.25)", "log(t)", "t", "2", "t+1", "0.5*t"])
def test_what_is_plain_already_stays_as_it_is(text):
    assert parse(text).text == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("t^0.5", "sqrt(t)"),
        ("(t)^.50", "sqrt(t)"),
        ("(2*t)^(1/2)", "sqrt(2*t)"),
        ("t^1", "t"),
        ("t^(3-2)", "t"),
        (".5*t", "0.5*t"),
        ("t*5e-1", "0.5*t"),
        ("t/2", "0.5*t"),
        ("1e-3+t", "t+0.001"),
        ("0.1+t+0.2", "t+0.3"),
        ("log(t)/log(2)", "1.4426950408889634*log(t)"),
        ("1+2+t", "t+3"),
        ("t-(1-log(t))", "log(t)+t-1"),
        ("log(t)-1+t", "log(t)+t-1"),
        ("--t", "t"),
        ("-(1-t)", "t-1"),
        ("2*(1-t)", "-2*(t-1)"),
        ("t*-1*-2", "2*t"),
        ("max(t,2)", "max(2,t)"),
        ("max(t,t)", "t"),
        ("max(1,max(t,2))", "max(2,t)"),
        ("max(1,min(t,2))", "max(1,min(2,t))"),
        ("t*log(t)/sqrt(t)", "log(t)*t/sqrt(t)"),
        ("(2^t)^3", "(2^t)^3"),
        ("2^(t^3)", "2^t^3"),
        ("-2^t", "-2^t"),
        ("(0-2)^t", "(-2)^t"),
    ],
)
def test_what_is_written_otherwise_becomes_it(text, canonical):
    assert parse(text).text == canonical


@pytest.mark.parametrize("text", ["t/t", "0*log(t-3)", "(t-3)^0", "1/(2/(t-3))", "t/0", "sqrt(0-t)", "log(t)-log(t)"])
def test_nothing_is_left_out_that_may_fail(text):
    assert [value(parse(text), t) for t in STEPS] == [value(as_python(text), t) for t in STEPS]


def test_bits_of_the_growths_of_the_configs_and_presets():
    for t in range(1, 10_001):
        assert parse("t^0.5")(t) == parse("sqrt(t)")(t) == math.sqrt(t)
        assert parse("t^0.25")(t) == math.pow(t, 0.25)
        assert parse("t^0.75")(t) == math.pow(t, 0.75)


def test_a_text_that_grows_too_long_by_its_numbers_is_refused():
    with pytest.raises(UsageError, match=r"at most 100 characters, this one 1\d\d: t\^0\.05263157894736842"):
        parse("+".join(f"t^(1/{n})" for n in (3, 7, 9, 11, 13, 17, 19)))
    with pytest.raises(UsageError, match=r"up to 1\.8e308"):
        parse("t*1e999")
    with pytest.raises(UsageError, match=r"beyond 1\.8e308"):
        parse("t*1e300*1e300")
    assert parse("1e-999*t+1e-300").text == "0*t+1e-300"


# Trees of (operator, operand, …), written in a way that `draws` chooses: an operand's place, numbers, blanks, and
# parentheses that are not needed. Their numbers are halves, of which sums and products are exact.
NUMBERS = {1.0: ("1", "1.", "1e0", "10e-1"), 2.0: ("2", "2.0", ".2e1"), 0.5: ("0.5", ".5", "5e-1", "0.50"), 3.0: ("3",)}
LEAVES = st.one_of(st.just("t"), st.sampled_from(sorted(NUMBERS)))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "*", "-", "/", "max", "min"]), inner, inner),
        st.tuples(st.sampled_from(["+", "*", "max"]), inner, inner, inner),
        st.tuples(st.sampled_from(["neg", "sqrt", "log"]), inner),
        st.tuples(st.just("^"), inner, st.sampled_from([0.5, 1.0, 2.0, 3.0])),
    ),
    max_leaves=6,
)


def written(tree, draw=None):
    """The tree as text: in full where nothing is drawn."""
    if tree == "t" or isinstance(tree, float):
        text = "t" if tree == "t" else repr(tree) if draw is None else draw(st.sampled_from(NUMBERS[tree]))
    else:
        operator, *operands = tree
        if draw is not None and operator in ("+", "*", "max", "min"):
            operands = draw(st.permutations(operands))
        texts = [written(operand, draw) for operand in operands]
        if operator in ("+", "*", "-", "/", "^"):
            text = f"({operator.join(texts)})"
        else:
            text = f"(-{texts[0]})" if operator == "neg" else f"{operator}({','.join(texts)})"
    if draw is not None:
        wrap = draw(st.sampled_from(["{}", "{}", "{}", " {} ", "({})", "(--{})"]))
        text = wrap.format(text)
    return text


def as_python(text):
    """An expression as Python evaluates it."""
    names = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp, "max": max, "min": min}
    code = compile(text.replace("^", "**"), "growth", "eval")
    return lambda t: float(eval(code, {"__builtins__": {}, **names, "t": float(t)}))


def value(function, t):
    """The value at t; None where there is none."""
    try:
        found = function(t)
    except (ArithmeticError, ValueError, TypeError, UsageError):
        return None
    return found if math.isfinite(found) else None


def size(tree, t):
    """The largest number on the way to a value, to which rounding is relative; infinite if it is not to be told."""
    if tree == "t" or isinstance(tree, float):
        return float(t) if tree == "t" else tree
    own = value(as_python(written(tree)), t)
    return max(math.inf if own is None else abs(own), *(size(operand, t) for operand in tree[1:]))


@given(TREES)
def test_the_canonical_text_is_the_same_function(tree):
    text = written(tree)
    try:
        growth = parse(text)
    except UsageError as error:
        assert "at most 100 characters" in str(error)  # noqa: PT017
        return
    assert parse(growth.text).text == growth.text
    for t in STEPS:
        expected, found = value(as_python(text), t), value(growth, t)
        assert found == value(as_python(growth.text), t)
        scale = size(tree, t)
        if scale < 1e6:  # infinite where there is no value
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)


def exactly(tree, t):
    """The value at t as a fraction; None if one on the way is no sum of few powers of 2, or not to be told so."""
    if tree == "t" or isinstance(tree, float):
        return Fraction(t if tree == "t" else tree)
    operator, *operands = tree
    values = [exactly(operand, t) for operand in operands]
    if operator in ("sqrt", "log") or None in values or (operator == "^" and values[1].denominator > 1):
        return None
    does = {"-": sub, "/": truediv, "max": lambda *own: max(own), "min": lambda *own: min(own), "^": pow, "neg": neg}
    found = does.get(operator, lambda *own: sum(own) if operator == "+" else math.prod(own))(*values)
    return found if found.denominator in (1, 2, 4, 8, 16) and abs(found) < 2**20 else None


@given(TREES, st.sampled_from([1, 2, 4]))
def test_it_fails_where_the_text_does(tree, t):
    try:
        growth = parse(written(tree))
        expected = exactly(tree, t)
    except ZeroDivisionError:
        assert value(growth, t) is None
    except UsageError:  # too long
        return
    else:
        if expected is not None:
            assert value(growth, t) == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


@given(TREES, st.data())
def test_however_it_is_written_it_has_one_text(tree, data):
    texts = [written(tree), written(tree, data.draw), written(tree, data.draw)]
    if max(map(len, texts)) > 100:
        return
    assert len({parse(text).text for text in texts}) == 1
