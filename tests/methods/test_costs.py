"""What would take more memory than there is says so before it is begun."""

import pytest

import lbbench
from lbbench.errors import UsageError
from lbbench.plan import build
from lbbench.plan.settings import compose
from lbbench.plan.show import show
from lbbench.plan.sweeps import plan


def required(*line):
    (combination,) = plan(line).combinations
    build.require(compose(combination))


def test_gpts_in_a_box_draws_at_so_many_points_only():
    with pytest.raises(UsageError, match=r"raw_samples must be at most 10000 for method=gpts in a box: .* 3\.2 GB"):
        required("method=gpts", "raw_samples=20000")
    required("method=gpts", "raw_samples=10000")
    required("method=gpts", "problem=gprbf", "raw_samples=20000")  # a pool, which has no use for them
    required("method=lb", "raw_samples=20000")
    with pytest.raises(UsageError, match="raw_samples must be at most 10000"):
        lbbench.Optimizer(bounds=[[0, 1]], method="gpts", lengthscale=0.2, raw_samples=20_000)


def test_as_many_starts_are_compared_with_each_other_as_fit():
    with pytest.raises(UsageError, match=r"12 × restarts, must be at most 10000 .* 1\.15 GB"):
        required("raw_samples=100000", "restarts=1000")
    required("raw_samples=100000", "restarts=800")
    required("raw_samples=10000", "restarts=10000")


def test_it_is_said_where_the_method_is_shown():
    said = list(show(plan(["method=gpts"]), {"method"}))
    assert said[0] == "method: gpts"
    assert "cube" in said[1]
    assert "10,000" in said[1]
    assert list(show(plan(["method=random"]), {"method"}))[:2] == ["method: random", ""]
