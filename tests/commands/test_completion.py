"""What Tab completes: in this process, and really in shells."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lbbench
from lbbench import cli
from lbbench.commands import COMMANDS
from lbbench.commands.completion import SCRIPTS, words
from lbbench.plan.configs import options
from lbbench.plan.rules import boolean, choice, choices, either, positive


@pytest.mark.parametrize(
    ("line", "found"),
    {
        "lbbench ru": ["run "],
        "lbbench run metho": ["method="],
        "lbbench run method=l": ["method=lb", "method=lnb"],
        "lbbench run method=lb,m": ["method=lb,mcmc", "method=lb,mle"],
        "lbbench run method=lb,mle,ml": [],
        "lbbench run method=mle elim": [],
        "lbbench run method=lb elim": ["elimination="],
        "lbbench run method=lb elimination=prior,posterior2,": ["elimination=prior,posterior2,posterior"],
        "lbbench run problem=michalewicz dim=": ["dim=10", "dim=2", "dim=5"],
        "lbbench run force=": ["force=false", "force=true"],
        "lbbench run regulariser=": ["regulariser=noise", "regulariser=theory"],
        "lbbench run gp.kernel=r": ["gp.kernel=rbf"],
        "lbbench run execution=d": ["execution=dask"],
        "lbbench run execution=dask sched": ["scheduler="],
        "lbbench run +experiment=figure": ["+experiment=figure2", "+experiment=figure3", "+experiment=figure4"],
        "lbbench plot figure=c": ["figure=candidates", "figure=cumulative"],
        "lbbench table format=l": ["format=latex"],
        "lbbench table seeds": ["seeds="],
        "lbbench table jobs": [],
        "lbbench list m": ["methods "],
        "lbbench check michalew": ["michalewicz "],
        "lbbench doctor ": ["out="],
        "lbbench completion z": ["zsh "],
        "lbbench nonsense me": [],
        "lbbench run method=nonsense me": [],
        "lbbench run jobs=": ["jobs=auto"],
        "lbbench run iterations=": [],
    }.items(),
)  # fmt: skip
def test_words_that_may_stand_there(line, found):
    assert words(line) == found


def test_every_command_and_method_is_found():
    assert words("lbbench ") == [f"{name} " for name in COMMANDS]
    assert words("lbbench run method=") == sorted(f"method={name}" for name in options("method"))
    assert {
        f"{name}=" for name in ("method", "problem", "g", "theta0", "kernel", "seeds", "out", "+experiment")
    } <= set(words("lbbench run "))


def test_keys_that_are_there_are_not_offered_again():
    assert words("lbbench run ker") == ["kernel="]
    assert words("lbbench run kernel=rbf ker") == []
    assert words("lbbench run gp.kernel=rbf ker") == []


def test_paths_are_completed(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    (tmp_path / "readings.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert words("lbbench run problem=csv path=re") == ["path=readings.csv", "path=results/"]
    assert words("lbbench plot out=r") == ["out=readings.csv", "out=results/"]
    assert words("lbbench ask r") == ["results/"]
    (tmp_path / "results/deep").mkdir()
    assert words("lbbench ask results/d") == ["results/deep/"]
    assert words("lbbench tell results ") == ["point=", "y="]
    assert words("lbbench run out=nothere/x") == []


def test_rules_tell_the_words_they_take():
    assert choices(choice("a", "b")) == ("a", "b")
    assert choices(either("auto", either("none", positive))) == ("auto", "none")
    assert choices(boolean) == ("true", "false")
    assert choices(positive) == ()


def test_nothing_heavy_is_loaded():
    heavy = ["numpy", "torch", "pandas", "pyarrow", "scipy", "hydra", "typer", "rich", "matplotlib", "joblib"]
    code = f"""
import sys
from lbbench.__main__ import main
for line in ("lbbench r", "lbbench run method=lb k", "lbbench plot figure="):
    sys.argv = ["lbbench", "completion", "words", line]
    main()
print([name for name in {heavy} if name in sys.modules])
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_printed(shell):
    assert CliRunner().invoke(cli.app, ["completion", shell]).output.rstrip("\n") == SCRIPTS[shell]


def test_another_shell_is_refused():
    with pytest.raises(Exception, match="completion tcsh: allowed are bash, zsh, fish"):
        CliRunner().invoke(cli.app, ["completion", "tcsh"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("line", "parted", "found"),
    [
        ("lbbench ru", ["lbbench", "ru"], ["run "]),
        ("lbbench run metho", ["lbbench", "run", "metho"], ["method="]),
        ("lbbench run method=", ["lbbench", "run", "method", "="], sorted(options("method"))),
        ("lbbench run method=lb,ml", ["lbbench", "run", "method", "=", "lb,ml"], ["lb,mle"]),
        ("lbbench run method=x:y,lb e", ["lbbench", "run", "method", "=", "x", ":", "y,lb", "e"], []),
        ("lbbench plot figure=c", ["lbbench", "plot", "figure", "=", "c"], ["candidates", "cumulative"]),
        ("lbbench run nonsense", ["lbbench", "run", "nonsense"], []),
    ],
)
def test_bash_completes(line, parted, found, tmp_path):
    """As bash does: `=` and `:` part words of their own, and what is offered follows the last of them."""
    script = f"""
lbbench() {{ {sys.executable} -m lbbench "$@"; }}
{SCRIPTS["bash"]}
complete -p lbbench > /dev/null || exit 1
COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({" ".join(f"'{word}'" for word in parted)})
COMP_CWORD={len(parted) - 1}
_lbbench
[[ ${{#COMPREPLY[@]}} -eq 0 ]] || printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = {"PYTHONPATH": str(Path(lbbench.__file__).parents[1]), "HOME": str(tmp_path)}
    bash = [shutil.which("bash"), "-c", script]
    printed = subprocess.run(bash, env=environment, capture_output=True, text=True, check=True)
    assert (printed.stdout.split("\n")[:-1], printed.stderr) == (found, "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_are_read_by_their_shells(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    (tmp_path / "script").write_text(SCRIPTS[shell])
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)
