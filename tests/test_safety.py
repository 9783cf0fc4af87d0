"""Data stay data: the package's source has nothing that runs what it reads, and paths stay where they belong."""

import ast
from pathlib import Path

import pytest

import lbbench
from lbbench.errors import UsageError
from lbbench.plan.rules import inside

PICKLING = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
CALLS = {"os.system", "os.popen", "subprocess.getoutput", "yaml.load", "yaml.load_all", "yaml.full_load",
         "yaml.unsafe_load", "joblib.load", "torch.load"}  # fmt: skip


def dangers(source):
    """Each import or call in some source that could run what it is given or reads."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = []
        yield from (name for name in names if name.partition(".")[0] in PICKLING or name in CALLS)
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            options = {option.arg: option.value for option in node.keywords}
            switched = [name for name in ("shell", "allow_pickle") if name in options and
                        not (isinstance(options[name], ast.Constant) and options[name].value is False)]  # fmt: skip
            if called in BUILTINS | CALLS or switched or called.endswith((".query", ".eval", ".read_pickle")):
                yield ast.unparse(node)


@pytest.mark.parametrize(
    "source",
    [
        "eval(text)", "exec(text)", "import pickle", "from pickle import loads", "import torch, dill",
        "subprocess.run(command, shell=True)", "subprocess.run(command, shell=choice)", "os.system(command)",
        "yaml.load(file)", "from yaml import unsafe_load", "np.load(file, allow_pickle=True)", "torch.load(file)",
        "frame.eval(text)", "def f():\n    from joblib import load",
    ],
)  # fmt: skip
def test_dangers_are_seen(source):
    assert list(dangers(source))


def test_what_is_harmless_is_none():
    source = "import re, yaml\nre.compile(p); yaml.safe_load(f); np.load(f, allow_pickle=False); run(c, shell=False)"
    assert list(dangers(source)) == []


def test_the_package_runs_nothing_that_it_reads():
    files = sorted(Path(lbbench.__file__).parent.rglob("*.py"))
    assert len(files) > 50
    assert {file.name: found for file in files if (found := list(dangers(file.read_text(encoding="utf-8"))))} == {}


@pytest.fixture
def here(tmp_path, monkeypatch):
    for folder in ("here/results/paper", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "here/results/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "here/back").symlink_to(tmp_path / "here/results/paper")
    (tmp_path / "here/loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize(
    "to", ["results/paper", "results/new/deep", "results", "./results/../results/x", "back/x", "../here/results/x",
           "/somewhere", "/a/../b", "~/x"],
)  # fmt: skip
def test_inside_are_paths_below_out_and_absolute_ones(to, here):
    assert inside(Path("results"), "to", to) == Path(to).expanduser()


@pytest.mark.parametrize(
    ("to", "real"),
    [
        ("there", "here/there"), ("..", ""), ("results/../there", "here/there"), ("results/link/x", "elsewhere/x"),
        ("results/link/../x", "x"), ("results-too", "here/results-too"), ("loop/x", "here/loop/x"),
    ],
)  # fmt: skip
def test_other_paths_are_refused_with_the_absolute_one(to, real, here):
    with pytest.raises(UsageError) as error:
        inside(Path("results"), "to", to)
    assert str(error.value) == f"to={to} is not inside out=results; if it is meant: to={here / real}"
    assert inside(Path("results"), "to", str(here / real)) == here / real


def test_an_out_that_is_absolute_or_a_link_holds_what_is_below_it(here):
    (here / "here/out").symlink_to(here / "elsewhere")
    assert inside(Path("out"), "to", "out/x") == Path("out/x")
    assert inside(here / "elsewhere", "to", "out/x") == Path("out/x")
