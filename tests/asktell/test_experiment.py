"""`lbbench ask` and `lbbench tell`: an experiment in a directory."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lbbench import Optimizer, cli
from lbbench.errors import UsageError

INPUTS = "inputs:\n  temperature: [20, 80]  # °C\n  flow: [0.001, 0.002]\n"


@pytest.fixture
def directory(tmp_path):
    describe(tmp_path, INPUTS + "initial: 3\n")
    return tmp_path


def describe(directory, text):
    (directory / "experiment.yaml").write_text(text, encoding="utf-8")


def lbbench(*arguments):
    """The lines that a command prints, or its one line of complaint."""
    result = CliRunner().invoke(cli.app, list(map(str, arguments)))
    if isinstance(result.exception, UsageError):
        return str(result.exception)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def optimizer(directory):
    return Optimizer.load(directory / "history.json")


def test_ask_and_tell_are_the_optimizer(directory):
    ours = Optimizer(bounds=[(20, 80), (0.001, 0.002)], initial=3)
    for y in (1.0, 3.0, 2.0, 4.0, 2.5):
        x = ours.ask()
        (line,) = lbbench("ask", directory)
        assert line.startswith("point 1: temperature=")
        assert optimizer(directory).pending.tolist() == [x.tolist()]
        ours.tell(x, y)
        assert lbbench("tell", directory, f"y={y}")[0] == f"{line.replace('point 1', 'told')} y={y:g}"
    assert optimizer(directory).x.tolist() == ours.x.tolist()
    assert optimizer(directory).best[1] == 4.0
    assert {file.name for file in directory.iterdir()} == {"experiment.yaml", "history.json"}


def test_to_ask_again_is_to_be_told_the_same(directory):
    first = lbbench("ask", directory)
    assert lbbench("ask", directory) == first
    three = lbbench("ask", directory, "n=3")
    assert three[:1] == first
    assert [line[:8] for line in three] == ["point 1:", "point 2:", "point 3:"]
    assert lbbench("ask", directory) == three


def test_of_several_points_it_must_be_said_which(directory):
    points = lbbench("ask", directory, "n=3")
    assert "3 points are pending" in lbbench("tell", directory, "y=1")
    told, _ = lbbench("tell", directory, "y=1", "point=2")
    assert told == points[1].replace("point 2", "told") + " y=1"
    told, _ = lbbench("tell", directory, "y=2", *points[2].split()[2:])  # as it was printed
    assert told == points[2].replace("point 3", "told") + " y=2"
    assert len(optimizer(directory).pending) == 1
    assert "point=2: must be a whole number from 1 to 1" in lbbench("tell", directory, "y=1", "point=2")


def test_what_was_not_asked_for_and_what_fails(directory):
    lbbench("ask", directory)
    told, best = lbbench("tell", directory, "y=-2.5", "flow=0.0015", "temperature=33")
    assert told == "told: temperature=33.00000 flow=0.001500000 y=-2.5"
    assert best == told.replace("told", "best")
    assert lbbench("tell", directory, "y=failed")[0].endswith("y=failed")
    assert optimizer(directory).y.tolist() == [-2.5, -2.5]
    assert "no point is pending" in lbbench("tell", directory, "y=1")


def test_candidates_come_from_a_csv_file(directory):
    (directory / "salts.csv").write_text("a,b\n1,10\n2,20\n3,10\n4,40\n")
    describe(directory, "candidates: salts.csv\nminimise: true\nmethod: A-GP-UCB\ninitial: 2\nseed: 4\ng: t^0.5\n")
    for _ in range(4):
        lbbench("ask", directory)
        y = (optimizer(directory).pending[0, 0] - 3.0) ** 2
        lines = lbbench("tell", directory, f"y={y}")
    assert lines[-1] == "best: a=3.000000 b=10.00000 y=0"
    assert optimizer(directory).settings.method == "agpucb"


WRONG = {
    "nothing": (None, "experiment.yaml is missing"),
    "text": ("hot", "must have keys and values"),
    "no yaml": ("inputs: [", "no YAML ("),
    "neither": ("method: lb", "either inputs"),
    "both": (INPUTS + "candidates: a.csv", "either inputs"),
    "a list": ("inputs: [1, 2]", "inputs must be names"),
    "one bound": ("inputs: {a: [1]}", "lowest and a highest"),
    "reversed": ("inputs: {a: [2, 1]}", "lowest first"),
    "reserved": ("inputs: {y: [1, 2]}", "cannot have the name y"),
    "bounds": (INPUTS + "bounds: [[0, 1]]", "unknown key 'bounds'"),
    "number": ("inputs: {3: [1, 2]}", "cannot be the name of an input"),
    "no file": ("candidates: none.csv", "none.csv cannot be read"),
    "empty file": ("candidates: empty.csv", "empty.csv is no CSV file"),
    "categories": ("candidates: words.csv", "the column b has values that are no numbers"),
    "missing value": ("candidates: holes.csv", "the column b has values that are missing"),
    "method": (INPUTS + "method: best", "method=best is unknown"),
    "setting": (INPUTS + "kernal: rbf", "did you mean 'kernel'"),
    "value": (INPUTS + "g: t^", "g=t^"),
    "seed": (INPUTS + "seed: -1", "seed=-1: must be a whole number"),
    "minimise": (INPUTS + "minimise: perhaps", "minimise=perhaps: must be true or false"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_description_that_is_wrong_is_named(case, tmp_path):
    text, words = WRONG[case]
    (tmp_path / "empty.csv").touch()
    (tmp_path / "words.csv").write_text("a,b\n1,x\n")
    (tmp_path / "holes.csv").write_text("a,b\n1,\n2,3\n")
    if text is not None:
        describe(tmp_path, text)
    complaint = lbbench("ask", tmp_path)
    assert words in complaint
    assert str(tmp_path) in complaint
    assert not (tmp_path / "history.json").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["n=0"], "n=0: must be a whole number from 1"),
        (["m=2"], "unknown key 'm'"),
        (["two"], "not of the form key=value"),
    ],
)
def test_ask_says_what_is_wrong(line, words, directory):
    assert words in lbbench("ask", directory, *line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ([], "y= is missing"),
        (["y=high"], "y=high: must be a finite number"),
        (["y=nan"], "y=nan: must be a finite number"),
        (["y=1,2"], "y takes one value"),
        (["y=1", "flow=0.0015"], "temperature is missing"),
        (["y=1", "flow=0.0015", "temperature=200"], "not within the bounds"),
        (["y=1", "point=1", "flow=0.0015", "temperature=20"], "either point= or the inputs"),
        (["y=1", "temprature=3"], "unknown key 'temprature'; allowed: y, point, temperature, flow"),
        (["y=failed", "flow=0.0015", "temperature=20"], "was not asked for"),
    ],
)
def test_tell_says_what_is_wrong_and_keeps_what_there_is(line, words, directory):
    lbbench("ask", directory)
    before = (directory / "history.json").read_bytes()
    assert words in lbbench("tell", directory, *line)
    assert (directory / "history.json").read_bytes() == before


def test_a_description_that_has_changed_is_told(directory):
    lbbench("ask", directory)
    describe(directory, INPUTS + "initial: 4\n")
    assert "has changed since" in lbbench("ask", directory)
    describe(directory, INPUTS.replace("80", "90") + "initial: 3\n")
    assert "has changed since" in lbbench("tell", directory, "y=1")


def test_no_directory_is_told(tmp_path):
    assert "is no directory" in lbbench("ask", tmp_path / "nowhere")
    (tmp_path / "file").touch()
    assert "is no directory" in lbbench("tell", tmp_path / "file", "y=1")


def test_commands_at_the_same_time_take_turns(directory):
    lbbench("ask", directory, "n=4")
    for point in (4, 3, 2):
        lbbench("tell", directory, f"point={point}", f"y={point}")
    line = [sys.executable, "-m", "lbbench", "tell", directory, "temperature=50", "flow=0.0015"]
    commands = [subprocess.Popen([*line, f"y={y}"], stdout=subprocess.PIPE, text=True) for y in range(3)]
    assert [command.communicate()[0].startswith("told") for command in commands] == [True] * 3
    assert sorted(optimizer(directory).y[3:]) == [0.0, 1.0, 2.0]
