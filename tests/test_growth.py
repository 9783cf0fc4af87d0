import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbbench.errors import UsageError
from lbbench.growth import MAX_LENGTH, parse


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("t^0.5", lambda t: t**0.5),
        ("sqrt(t)", math.sqrt),
        (" max( 2 , log(t) ) ", lambda t: max(2, math.log(t))),
        ("min(t, 3, 7)", lambda t: min(t, 3, 7)),
        ("1 + 2 * t - 4 / t", lambda t: 1 + 2 * t - 4 / t),
        ("2^3^0.5", lambda t: 2 ** (3**0.5)),
        ("-t^2", lambda t: -(t**2)),
        ("2^-1*t", lambda t: 0.5 * t),
        ("(1+t)*.5e1", lambda t: (1 + t) * 5),
        ("8-4-2", lambda t: 2),
        ("8/4/2", lambda t: 1),
        ("exp(log(t))", lambda t: math.exp(math.log(t))),
    ],
)
def test_value(text, function):
    growth = parse(text)
    assert [growth(t) for t in (1, 2, 17, 250)] == pytest.approx([function(t) for t in (1, 2, 17, 250)], rel=1e-15)
    assert parse(growth.text).text == growth.text


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("t^", 2),
        ("", 0),
        ("sqrt(t", 6),
        ("t t", 2),
        ("2*(t+)", 5),
        ('__import__("os")', 0),
        ("t.real", 1),
        ("sin(t)", 0),
        ("max(t)", 5),
        ("sqrt(t,2)", 6),
        ("t**2", 2),
        ("x", 0),
        ("t;t", 1),
        ("1 + $", 4),
        ("log t", 4),
    ],
)
def test_error_points_at_the_character(text, at):
    with pytest.raises(UsageError) as error:
        parse(text)
    line, pointer = str(error.value).split("\n")
    assert line == text
    assert pointer.index("^") == at
    assert "expected" in pointer or "takes" in pointer


@pytest.mark.parametrize(("text", "t"), [("1/(t-3)", 3), ("log(t-1)", 1), ("exp(t^3)", 9), ("(0-1)^0.5", 1)])
def test_no_finite_value(text, t):
    with pytest.raises(UsageError, match=f"t={t}"):
        parse(text)(t)


@given(st.text("t0123456789.+-*/^(), maxinsqrtlogexp_\"'", max_size=MAX_LENGTH + 5))
def test_any_text_parses_or_is_a_usage_error(text):
    try:
        growth = parse(text)
    except UsageError:
        return
    assert parse(growth.text).text == growth.text


def test_deep_nesting_is_refused_or_parsed_but_never_crashes():
    assert parse("(" * 40 + "t" + ")" * 40)(3) == 3
    with pytest.raises(UsageError):
        parse("(" * 5000)


expressions = st.recursive(
    st.sampled_from(["t", "2", "0.5"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
    max_leaves=5,
)


@given(expressions, st.integers(1, 250))
def test_agrees_with_python(text, t):
    try:
        expected = eval(text, {"t": t})
    except ZeroDivisionError:
        return
    assert parse(text)(t) == pytest.approx(expected, rel=1e-12)
