"""Command lines and configs with anything in them: exit code 0 or 2, one clear line, no file where none belongs."""

import os
import re
import shutil

import made_up
import pytest
from chaos import lines, terminal
from chaos.amounts import SEED, amount
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

from lbbench.plan import configs
from lbbench.plan.settings import defaults

PROFILE = settings(
    max_examples=amount(1_000, 40),
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
HALF = settings(PROFILE, max_examples=PROFILE.max_examples // 2)


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    """A directory with a home, and deep in it the current one, with results."""
    top, before = tmp_path_factory.mktemp("top"), os.getcwd()
    work = top / "a/b/c/work"
    (top / "home").mkdir()
    made_up.study(work / "results", methods=("lb", "random"), problems=("berkenkamp",), seeds=2, steps=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(top / "home"))
        patch.setenv("MPLCONFIGDIR", str(tmp_path_factory.mktemp("matplotlib")))  # its cache is no file of ours
        patch.chdir(work)
        yield top
    os.chdir(before)


def check(arguments, top):
    """Exit code and errors of a line that did no harm."""
    before = terminal.snapshot(top)
    try:
        code, printed, errors = terminal.call(arguments)
        assert "Traceback" not in printed + errors
        allowed = (0, 2) + (1,) * (arguments[:1] == ["doctor"] or "\nfailed: " in printed)
        assert code in allowed, (code, printed, errors)
        if code == 2:
            assert errors.startswith("lbbench: ")
            assert 1 <= len(errors.splitlines()) <= 3, errors
            assert all(line.isprintable() for line in errors.splitlines()), errors
        after = terminal.snapshot(top)
        touched = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        own = terminal.places(arguments)
        assert all(_belongs(path, own) for path in touched), touched
    finally:
        terminal.restore(before, top)
    return code, errors


def _belongs(path, own):
    """Whether it is in one of these places, or on the way to one."""
    return any(path.is_relative_to(place) or place.is_relative_to(path) for place in own)


def test_command_lines(top, record_property):
    @PROFILE
    @seed(SEED)
    @given(lines.LINES)
    def run(arguments):
        assume(terminal.is_inside(arguments, top))
        record_property("fuzz cases", 1)
        check(arguments, top)

    run()


def test_values_of_settings(top, record_property):
    @HALF
    @seed(SEED)
    @given(lines.NEAR, st.sampled_from(["lb", "lnb", "mcmc", "oracle"]), st.sampled_from(["berkenkamp", "michalewicz"]))
    def run(near, method, problem):
        arguments = ["show", f"method={method}", f"problem={problem}", "=".join(near)]
        record_property("fuzz cases", 1)
        check(arguments, top)

    run()


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of configs/ in the place of it."""
    copy = tmp_path_factory.mktemp("copy") / "configs"
    shutil.copytree(configs.config_dir(), copy)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("plan.configs", "plan.settings", "plan.show", "health.doctor"):
            patch.setattr(f"lbbench.{module}.config_dir", lambda: copy)
        yield copy
    defaults.cache_clear()


FILES = sorted(path.relative_to(configs.config_dir()) for path in configs.config_dir().rglob("*.yaml"))
VALUE = lines.NASTY | st.sampled_from(lines.WORDS)


def _edited(text, which, value):
    """The content of a config with the value of one key, or one line of a preset, in another's place."""
    rows = text.splitlines()
    values = [row for row in rows if re.match(r" *(- )?\w+: \S| *- method=| *- \+", row)]
    old = values[which % len(values)]
    head = re.match(r" *\w+: | *- (\w+: )?", old)[0]
    rows[rows.index(old)] = head + re.sub(r"\s", " ", value)
    return "\n".join(rows)


def test_values_in_configs(top, copied, record_property):
    @HALF
    @seed(SEED)
    @given(VALUE, st.integers(0, 50), st.sampled_from(FILES), st.sampled_from(["show", "status", "run", "table"]))
    def run(value, which, file, command):
        text = (copied / file).read_text()
        chosen = {file.parent.name: file.stem} if file.parent.name else {}
        words = [f"{'+' * (group == 'experiment')}{group}={name}" for group, name in chosen.items()]
        arguments = lines.line(command, words + ["out=there"] * (command == "run"))
        try:
            (copied / file).write_bytes(_edited(text, which, value).encode(errors="surrogatepass"))
            defaults.cache_clear()
            record_property("fuzz cases", 1)
            check(arguments, top)
        finally:
            (copied / file).write_text(text)

    run()
