import subprocess
import sys
from pathlib import Path

import pytest

from lbbench.errors import UsageError
from lbbench.report.selection import select
from lbbench.study.checks import choice, integer

OWN = {"format": choice("text", "csv"), "figure": integer()}


def test_filters_are_checked_and_written_as_settings_are():
    line = ["method=A-GP-UCB,LB", "problem=agnp", "g= sqrt( t ),t^.5", "gp.kernel=RBF", "theta0=0.50,mle", "norm=2"]
    assert select(line, OWN).wanted == {
        "method": ("agpucb", "lb"),
        "problem": ("agnp",),
        "g": ("sqrt(t)", "t^.5"),
        "kernel": ("rbf",),
        "theta0": ("0.5", "mle"),
        "norm": ("2.0",),
    }


def test_settings_of_every_method_and_problem_are_filters():
    line = ["sampler=nuts", "lengthscale=0.1", "elimination=prior", "dim=2", "iterations=250"]
    selection = select(line, {})
    assert set(selection.wanted) == {"sampler", "lengthscale", "elimination", "dim", "iterations"}
    assert set(selection.settings) == set(selection.wanted)
    assert select(["method=lb", "problem=agnp", "seeds=3"], {}).settings == ()


@pytest.mark.parametrize(("text", "seeds"), [("3", "012"), ("5-7", "567"), ("[3,7]", "37"), ("2,[7]", "017")])
def test_seeds_are_numbers(text, seeds):
    assert select([f"seeds={text}"], {}).wanted == {"seeds": tuple(seeds)}


def test_own_keys_take_one_value_or_many():
    selection = select(["figure=3,1,3", "format=CSV", "out=~/there"], OWN)
    assert selection.many("figure") == (3, 1)
    assert selection.one("format") == "csv"
    assert selection.out == Path.home() / "there"
    assert selection.wanted == {}
    nothing = select([], OWN)
    assert nothing.many("figure", [2]) == (2,)
    assert nothing.one("format", "text") == "text"
    assert nothing.out == Path("results")
    with pytest.raises(UsageError, match="figure takes one value, not 2"):
        selection.one("figure")


def test_what_run_understands_as_well_is_told_apart():
    selection = select(["format=csv", "out=there", "g=t^0.5", "seeds=3"], OWN)
    assert selection.overrides == ["out=there", "g=t^0.5", "seeds=3"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("format=pdf", ["format=pdf", "text, csv"]),
        ("formt=csv", ["formt", "did you mean 'format'", "figure", "problem", "theta0"]),
        ("problem=foo", ["problem=foo", "agnp, berkenkamp"]),
        ("g=t^", ["g=t^", "expected a number"]),
        ("seeds=0", ["seeds=0", "a count"]),
        ("kernel=rbf gp.kernel=rbf", ["kernel", "given twice"]),
        ("seeds=1 seeds=2", ["seeds", "given twice"]),
        ("jobs=2", ["jobs", "allowed here: format, figure, out, method, problem, seeds"]),
        ("lb", ["lb", "key=value"]),
        ("out=", ["out=", "empty"]),
    ],
)
def test_wrong_arguments_are_named_with_what_is_allowed(line, words):
    with pytest.raises(UsageError) as raised:
        select(line.split(), OWN)
    for word in words:
        assert word in str(raised.value)


def test_selecting_imports_nothing_heavy():
    code = "import sys; from lbbench.report.selection import select; select(['g=t^0.5'], {}); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pandas", "pyarrow", "scipy", "rich", "hydra"} & set(modules)
