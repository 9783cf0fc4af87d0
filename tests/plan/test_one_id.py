"""A value that can be typed in several ways is one value: it has one id."""

import os

import pytest

from lbbench.plan.checks import CHECKS
from lbbench.plan.settings import Settings, compose
from lbbench.plan.sweeps import plan

NUMBER = ["0.5", ".5", "5e-1", "0.50", "+0.5", "00.5"]
ABOVE = ["2", "2.0", "2e0", "+2.", "02"]
WHOLE = ["12", "+12", "012"]
TRUTH = ["true", "TRUE", "True"]
GROWTH = ["max(2,t^0.25)", "max( t^.25, 2.0 )", "(max(2,t^2.5e-1))"]
WAYS = {  # the first is the plain one, which stays as it is typed
    "iterations": WHOLE,
    "kernel": ["rbf", "RBF"],
    "regulariser": NUMBER,
    "beta": ["theory", "THEORY"],
    "norm": ABOVE,
    "delta": NUMBER,
    "raw_samples": WHOLE,
    "restarts": WHOLE,
    "initial": WHOLE,
    "noise_std": NUMBER,
    "g": GROWTH,
    "b": GROWTH,
    "t0": ABOVE,
    "theta0": NUMBER,
    "lengthscale": NUMBER,
    "spacing": ["d", "D"],
    "elimination": ["posterior", "Posterior"],
    "regret_bound": ["matern", "Matern"],
    "information_gain": ABOVE,
    "sampler": ["nuts", "NUTS"],
    "nodes": WHOLE,
    "warmup": WHOLE,
    "samples": WHOLE,
    "theta": NUMBER,
    "arms": WHOLE,
    "noise_share": NUMBER,
    "training": NUMBER,
    "rows": WHOLE,
    "standardise": TRUTH,
    "dim": ["2"],
    "path": ["data.csv", "./data.csv", ".//data.csv", "sub/../data.csv", "{here}/data.csv", "{here}/sub/../data.csv"],
    "target": ["yield"],
    "maximize": ["false", "FALSE"],
    "ignore": ["[batch,date]", "[date, batch]", "[ batch,date,batch]", "'date,batch'"],
    "categories": ["onehot", "OneHot"],
    "digest": ["0123456789"],
    "bounds": ["[[0,1],[20,80]]", "[[0.0, 1.0],[2e1,80]]", "[[-0.0,1],[20,80.00]]"],
    "optimum": ["0.5", ".5", "5e-1"],
    "version": ["2", "+2", "02"],
}
OF_STUDIES = {  # which have no part in an id
    *("seeds", "out", "jobs", "cores_per_run", "force", "timeout", "retry", "fail_fast", "on_nan"),
    *("scheduler", "collect", "cluster", "partition", "timeout_min", "mem_gb"),
}
OWNERS = {  # of settings that the default method and problem have not
    **dict.fromkeys(["b"], "method=lnb"),
    **dict.fromkeys(["lengthscale", "information_gain"], "method=gpts"),
    **dict.fromkeys(["sampler", "nodes", "warmup", "samples"], "method=mcmc"),
    **dict.fromkeys(["theta", "arms", "noise_share", "standardise"], "problem=gprbf"),
    **dict.fromkeys(["training"], "problem=sensors"),
    **dict.fromkeys(["rows"], "problem=syntheticsensors"),
    **dict.fromkeys(["path", "target", "maximize", "ignore", "categories", "digest"], "problem=csv"),
    **dict.fromkeys(["bounds", "optimum", "version"], "problem=math:dist"),
}
OURS = set(CHECKS)  # not what plug-ins of other tests add


def settings(*line) -> Settings:
    (combination,) = plan(line).combinations
    return compose(combination)


def test_every_setting_is_here():
    assert WAYS.keys() | OF_STUDIES == OURS


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "data.csv").write_text("a,yield\n1,2\n")
    monkeypatch.chdir(tmp_path)
    return os.getcwd()


@pytest.mark.parametrize("key", WAYS)
def test_values_typed_in_several_ways_have_one_id(key, here):
    owner = [OWNERS[key]] if key in OWNERS else []
    ids = {way: settings(*owner, f"{key}={way.format(here=here)}").id for way in WAYS[key]}
    assert len(set(ids.values())) == 1, ids
    swept = ",".join(way.format(here=here) for way in WAYS[key])
    assert len(plan([*owner, f"{key}={swept}"]).combinations) == 1
    assert plan([*owner, f"{key}={swept}"]).swept == ()


@pytest.mark.parametrize(
    ("line", "key", "kept"),
    [
        ("problem=csv ignore=batch", "ignore", "batch"),
        ("problem=csv ignore=[batch]", "ignore", "batch"),
        ("problem=csv ignore=none", "ignore", "none"),
        ("problem=csv ignore=[]", "ignore", "none"),
        ("problem=csv ignore=[none]", "ignore", "[none]"),
        ("problem=csv ignore=x[1]", "ignore", "x[1]"),
        ("problem=csv path=data.csv", "path", "data.csv"),
        ("problem=csv path=../data.csv", "path", "../data.csv"),
        ("problem=csv path=/elsewhere/./data.csv", "path", "/elsewhere/data.csv"),
        ("problem=csv path=~/data.csv", "path", "/somewhere/data.csv"),
        ("problem=csv path=./~data.csv", "path", "./~data.csv"),
        ("noise_std=-0.0", "noise_std", 0.0),
        ("g=sqrt(t)", "g", "sqrt(t)"),
        ("g=t^0.5", "g", "sqrt(t)"),
        ("g=t^0.75", "g", "t^0.75"),
        ("t0=AUTO", "t0", "auto"),
        ("theta0=MLE", "theta0", "mle"),
    ],
)
def test_what_is_plain_stays_as_it_is_typed(line, key, kept, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.chdir(tmp_path)
    (combination,) = plan(line.split()).combinations
    value = next((text for full, text in combination.values.items() if full.endswith(f".{key}")), None)
    assert value == str(kept)


def test_a_link_typed_plainly_stays_one(here):
    os.symlink("sub", "latest")
    for typed, kept in (("latest/x.csv", "latest/x.csv"), (f"{here}/latest/x.csv", "latest/x.csv")):
        (combination,) = plan(["problem=csv", f"path={typed}"]).combinations
        assert combination.values["problem.path"] == kept


def test_a_file_whose_name_begins_with_a_tilde_is_read(here):
    os.rename("data.csv", "~data.csv")
    assert settings("problem=csv", "path=./~data.csv", "target=yield")["problem"]["digest"] != "auto"
    assert plan(["out=./~results"]).study["out"] == f"{here}/~results"
