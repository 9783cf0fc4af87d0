import pytest
from hypothesis import given
from hypothesis import strategies as st

from lbbench.errors import UsageError
from lbbench.plan.checks import CHECKS
from lbbench.plan.configs import config_dir, load, options
from lbbench.plan.keys import leaves
from lbbench.plan.rules import seeds
from lbbench.plan.settings import Settings, compose
from lbbench.plan.show import comments
from lbbench.plan.sweeps import plan
from lbbench.plan.words import split


def test_seeds():
    assert seeds("10") == tuple(range(10))
    assert seeds("5-9") == (5, 6, 7, 8, 9)
    assert seeds("[3,7]") == seeds("[3, 7, 3]") == (3, 7)


@pytest.mark.parametrize("text", ["0", "-1", "9-5", "[]", "[1,]", "1.5", "ten", "[-1]", ""])
def test_wrong_seeds(text):
    with pytest.raises(ValueError, match="a count"):
        seeds(text)


def test_commas_split_outside_brackets_and_quotes():
    assert split("lb,mle") == ["lb", "mle"]
    assert split("max(2, t^0.25),t^0.5") == ["max(2, t^0.25)", "t^0.5"]
    assert split("[3,7]") == ["[3,7]"]
    assert split("'a,b',c") == ["'a,b'", "c"]


def test_sweep_is_the_product_of_what_applies():
    planned = plan(["method=lb,random", "problem=agnp,berkenkamp", "g=t^0.25,t^0.75", "seeds=[3,7]"])
    cells = [(c.method, c.problem, dict(c.values)) for c in planned.combinations]
    assert cells == [
        (method, problem, values)
        for method, growths in (("lb", [{"method.g": "t^0.25"}, {"method.g": "t^0.75"}]), ("random", [{}]))
        for problem in ("agnp", "berkenkamp")
        for values in growths
    ]
    assert planned.swept == ("method.g",)
    assert {c.seeds for c in planned.combinations} == {(3, 7)}


@pytest.mark.parametrize("name", ["LB", "lb", "LB-GP-UCB", "lb_gp_ucb"])
def test_method_names_are_folded(name):
    assert plan([f"method={name}"]).combinations[0].method == "lb"


def test_a_gp_ucb_is_folded():
    assert plan(["method=A-GP-UCB"]).combinations[0].method == "agpucb"


def test_values_reach_the_settings_with_their_types():
    line = [
        "problem=michalewicz",
        "dim=2",
        "noise_std=0.1",
        "g=max(2, t^0.25)",
        "kernel=RBF",
        "theta0=0.50",
        "beta=theory",
    ]
    settings = compose(plan(line).combinations[0])
    assert settings["problem"] == {"name": "michalewicz", "dim": 2, "initial": 10, "noise_std": 0.1}
    assert settings["method"]["g"] == "max(2,t^0.25)"
    assert settings["method"]["theta0"] == 0.5
    assert settings["gp"]["kernel"] == "rbf"
    assert settings["gp"]["beta"] == "theory"
    assert settings["gp"]["regulariser"] == 1e-4
    assert settings["iterations"] == 250


def test_full_and_last_names_are_the_same_key():
    one, other = (compose(plan([f"{key}=0.1"]).combinations[0]) for key in ("noise_std", "problem.noise_std"))
    assert one.id == other.id


def test_id_depends_on_what_affects_results_only():
    base = compose(plan([]).combinations[0]).id
    for same in (
        ["jobs=2"],
        ["out=elsewhere"],
        ["seeds=3"],
        ["force=true"],
        ["theta0=mle"],
        ["norm=1"],
        ["g= sqrt( t )"],
        ["g=t^0.5"],
    ):
        assert compose(plan(same).combinations[0]).id == base
    different = [["norm=2"], ["iterations=60"], ["g=t^0.75"], ["kernel=rbf"], ["restarts=5"], ["dim=2"]]
    ids = {compose(plan(other).combinations[0]).id for other in different}
    assert len(ids | {base}) == len(different) + 1
    assert Settings({"b": 1, "a": 2}).id == Settings({"a": 2, "b": 1}).id


def test_experiments_expand_and_yield_to_the_command_line():
    planned = plan(["+experiment=figure3"])
    assert sum(len(c.seeds) for c in planned.combinations) == 240
    assert {len(c.seeds) for c in planned.combinations if c.problem == "agnp"} == {20}
    narrowed = plan(["+experiment=figure3", "method=lb", "seeds=1"])
    assert [(c.method, c.problem, c.seeds) for c in narrowed.combinations] == [
        ("lb", problem, (0,)) for problem in ("berkenkamp", "agnp", "michalewicz", "crossedbarrel")
    ]


def made(*line):
    """The runs of a command line."""
    cells = [(compose(combination).id, combination.seeds) for combination in plan(line).combinations]
    return {(settings, seed) for settings, seeds in cells for seed in seeds}


def test_presets_are_made_of_presets():
    assert len(made("+experiment=findings")) == 760  # figure4 with sqrt(t) is in figure3
    assert len(made("+experiment=figure2")) == 40
    assert len(made("+experiment=figure4")) == 60
    assert made("+experiment=paper") == made("+experiment=figure3") | made("+experiment=figure4")
    assert made("+experiment=figure2") < made("+experiment=figure3")
    assert made("+experiment=paper") < made("+experiment=findings")
    assert made("+experiment=findings", "problem=agnp", "method=agpucb") == made(
        "problem=agnp", "method=agpucb", "theta0=mle,0.5", "seeds=20"
    )


def test_methods_and_problems_of_a_preset_choose_among_its_runs():
    chosen = plan(["+experiment=figure3", "method=LB", "problem=agnp,michalewicz"]).combinations
    assert [(c.method, c.problem, len(c.seeds)) for c in chosen] == [("lb", "agnp", 20), ("lb", "michalewicz", 10)]
    other = plan(["+experiment=figure4", "method=lnb"]).combinations  # which the preset has not
    assert [(c.method, c.values["method.g"]) for c in other] == [("lnb", g) for g in ("t^0.25", "sqrt(t)", "t^0.75")]


def test_an_override_of_a_preset_applies_where_it_is_a_setting():
    planned = plan(["+experiment=findings", "seeds=1", "dim=2", "method.elimination=posterior"])
    for combination in planned.combinations:
        assert ("problem.dim" in combination.values) == (combination.problem == "michalewicz")
        assert ("method.elimination" in combination.values) == (combination.method == "lb")
    with pytest.raises(UsageError, match="nodes is not a setting"):
        plan(["+experiment=findings", "method=lb", "nodes=3"])
    with pytest.raises(UsageError, match="one preset"):
        plan(["+experiment=findings,figure3"])


def test_every_setting_in_configs_has_a_comment_and_a_check_that_its_default_passes():
    for file in ["config", *(f"{group}/{name}" for group in ("method", "problem") for name in options(group))]:
        tree = load(file)
        tree.pop("defaults", None)
        for key in leaves(tree):
            assert key.rpartition(".")[2] in CHECKS
            assert comments(file)[key.rpartition(".")[2]]
    for group in ("method", "problem"):
        for name in options(group):
            compose(plan([f"{group}={name}"]).combinations[0])
            assert load(f"{group}/{name}")["name"] == name
    for name in options("experiment"):
        assert plan([f"+experiment={name}"]).combinations
    assert (config_dir() / "config.yaml").is_file()


@given(st.sampled_from(sorted(CHECKS)), st.text(max_size=20))
def test_any_value_is_taken_or_is_a_usage_error(key, value):
    try:
        plan([f"{key}={value}"])
    except UsageError as error:
        assert len(str(error).splitlines()) <= 2  # noqa: PT017


@given(st.text(max_size=30))
def test_any_argument_is_taken_or_is_a_usage_error(argument):
    try:
        plan([argument])
    except UsageError as error:
        assert len(str(error).splitlines()) <= 2  # noqa: PT017
