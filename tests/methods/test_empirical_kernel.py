"""A kernel that is a pool's covariance has no length scale, and nothing that rests on one."""

import sys
from pathlib import Path

import numpy as np
import pytest

from lbbench.domain import Pool
from lbbench.errors import NumericalError, UsageError
from lbbench.gp.data import Data
from lbbench.gp.kernels import EMPIRICAL
from lbbench.methods.base import Surrogate
from lbbench.methods.igpucb import IGPUCB
from lbbench.plan import build
from lbbench.plan.settings import compose
from lbbench.plan.show import show
from lbbench.plan.sweeps import plan
from lbbench.report import lengthscales
from lbbench.report.collection import Collection

sys.path.insert(0, str(Path(__file__).parents[1]))
import made_up

LINE = ["problem=syntheticsensors", "kernel=empirical"]


def required(*line):
    for combination in plan([*LINE, *line]).combinations:
        build.require(compose(combination))


@pytest.mark.parametrize("method", ["igpucb", "gpucb", "gpts"])
def test_the_analytic_bound_is_refused_and_what_is_allowed_is_named(method):
    with pytest.raises(UsageError, match=r"information_gain=analytic .*greedy, realised or a number"):
        required(f"method={method}")
    required(f"method={method}", "information_gain=greedy,realised,1")


def test_those_that_need_no_bound_need_none():
    required("method=ei,pi,tight,oracle")


@pytest.mark.parametrize("method", ["ei", "tight", "oracle"])
def test_a_length_scale_that_would_be_ignored_is_refused(method):
    with pytest.raises(UsageError, match=r"lengthscale=0\.2 is of no use"):
        required(f"method={method}", "lengthscale=0.2")


def test_nor_has_a_method_by_itself_an_analytic_bound():
    rng = np.random.default_rng(0)
    data = Data(Pool(rng.random((4, 2)), covariance=np.eye(4)))
    data.append(np.arange(3), rng.random(3))
    with pytest.raises(NumericalError, match="needs a kernel with a length scale"):
        IGPUCB(Surrogate(EMPIRICAL), 1.0).start(data)
    IGPUCB(Surrogate(EMPIRICAL), 1.0, "greedy").start(data)


def test_no_length_scale_is_shown_of_it():
    said = list(show(plan(LINE), {"problem"}))
    assert "  length scale  none: the kernel is the pool's covariance" in said
    (told,) = (line for line in show(plan([*LINE[:1], "kernel=rbf"]), {"problem"}) if line.startswith("  length scale"))
    assert "θ̂*" in told


def test_no_length_scale_is_drawn_of_it(tmp_path):
    for kernel in ("empirical", "rbf"):
        made_up.write(tmp_path, "ei", "syntheticsensors", 0, [1.0, 0.5], kernel=kernel)
    collection = Collection.at(tmp_path)
    for variant in collection.variants:
        has = variant.settings["gp"]["kernel"] == "rbf"
        assert bool(len(lengthscales.chosen(collection, [variant])[variant.key])) == has
        assert (lengthscales.optimal_lengthscale(variant) is not None) == has
