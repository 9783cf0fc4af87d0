import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lbbench.errors import UsageError
from lbbench.plan.rules import choice, integer
from lbbench.plan.words import command_line
from lbbench.report.selection import select

OWN = {"format": choice("text", "csv"), "figure": integer()}


def test_filters_are_checked_and_written_as_settings_are():
    line = ["method=A-GP-UCB,LB", "problem=agnp", "g= sqrt( t ),t^.5", "gp.kernel=RBF", "theta0=0.50,mle", "norm=2"]
    assert select(line, OWN).wanted == {
        "method": ("agpucb", "lb"),
        "problem": ("agnp",),
        "g": ("sqrt(t)", "sqrt(t)"),
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
    ("line", "command"),
    [
        ("", "no traces in results/traces; make some: lbbench run method=lb problem=michalewicz"),
        ("out=a/b format=csv", "no traces in a/b/traces; make some: lbbench run method=lb problem=michalewicz out=a/b"),
        ("problem=agnp seeds=[3,7]", "no traces that match in results/traces; make some: lbbench run problem=agnp "
         "'seeds=[3,7]'"),
        ("g=t^0.5,sqrt(t)", "no traces that match in results/traces; make some: lbbench run 'g=t^0.5,sqrt(t)'"),
    ],
)  # fmt: skip
def test_nothing_at_hand_is_said_with_the_command_that_helps(line, command):
    assert select(line.split(), OWN).nothing_found == command


@pytest.mark.parametrize("words", [["lbbench", "run", "g=t^0.25,t^0.5"], ["seeds=[3,7]", "out=a b/'c'", "g=max(2,t)"]])
def test_a_command_line_is_what_a_shell_reads_as_these_words(words):
    line = command_line(*words)
    assert shlex.split(line) == words
    assert ("'" in line) == ("lbbench" not in words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("format=pdf", ["format=pdf", "text, csv"]),
        ("formt=csv", ["formt", "did you mean 'format'", "figure", "problem", "theta0"]),
        ("problem=foo", ["problem=foo", "agnp, autoam, berkenkamp"]),
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


def test_an_output_directory_is_no_file_and_one(tmp_path):
    (tmp_path / "file").touch()
    assert select([f"out={tmp_path}/file"], OWN).nothing_found == f"out={tmp_path}/file is a file"
    with pytest.raises(UsageError) as raised:
        select(["out=a", "out=b"], OWN)
    assert str(raised.value) == "out is given twice"
