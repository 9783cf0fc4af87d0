import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.stats import multivariate_normal

from lbbench.domain import Box, Pool
from lbbench.errors import NumericalError
from lbbench.gp.data import Data, Merged
from lbbench.gp.growing import GrowingLikelihood
from lbbench.gp.interpolation import cubic_spline
from lbbench.gp.kernels import KERNELS

LAMBDA = 1e-3


def dense(data, kernel, s):
    """The log density of all observations, by SciPy."""
    covariance = KERNELS[kernel].value(data.sqdist * math.exp(-2.0 * s)) + LAMBDA * np.eye(data.n)
    return multivariate_normal(np.zeros(data.n), covariance).logpdf(data.z)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    kernel=st.sampled_from(sorted(KERNELS)),
    in_pool=st.booleans(),
    offset=st.sampled_from([0.0, -3.0, 1e6]),
    blocks=st.lists(st.integers(1, 25), min_size=1, max_size=8),
)
def test_it_is_the_density_of_all_data_at_every_step(seed, kernel, in_pool, offset, blocks):
    """Also after many repeats, large blocks, and for a length scale that was not asked for in a while."""
    rng = np.random.default_rng(seed)
    domain = Pool(rng.random((6, 2))) if in_pool else Box(np.zeros(2), np.ones(2))
    data = Data(domain)
    data.append(domain.uniform(3, rng), offset + rng.standard_normal(3))
    likelihood = GrowingLikelihood(data, KERNELS[kernel], LAMBDA)
    for size in blocks:
        likelihood.update()
        for s in (-2.0, -1.0) if rng.random() < 0.5 else (-1.0, 0.0):
            expected = dense(data, kernel, s)
            assert likelihood(s) == pytest.approx(expected, rel=1e-6, abs=1e-6)
            assert likelihood.with_slope(s)[0] == pytest.approx(expected, rel=1e-6, abs=1e-6)
        data.append(domain.uniform(size, rng), offset + rng.standard_normal(size))


def test_it_finds_the_maximum_of_each_step():
    rng = np.random.default_rng(0)
    data = Data(Box(np.zeros(2), np.ones(2)))
    x = rng.random((60, 2))
    data.append(x[:5], np.sin(6 * x[:5]).sum(1))
    likelihood = GrowingLikelihood(data, KERNELS["matern52"], LAMBDA)
    for i in range(5, 60):
        data.append(x[[i]], np.sin(6 * x[[i]]).sum(1))
        likelihood.update()
        top = math.log(likelihood.maximum())
        around = np.concatenate([np.linspace(math.log(0.005), math.log(10.0), 100), top + np.linspace(-0.05, 0.05, 51)])
        assert likelihood(top) >= max(map(likelihood, around.tolist())) - 1e-9


def test_its_values_do_not_drift_over_many_steps():
    """Every factor gains 150 rows, one at a time."""
    rng = np.random.default_rng(1)
    x = rng.random((160, 1))
    data = Data(Box(np.zeros(1), np.ones(1)))
    data.append(x[:10], np.cos(9 * x[:10, 0]))
    likelihood = GrowingLikelihood(data, KERNELS["rbf"], LAMBDA)
    for i in range(10, 160):
        data.append(x[[i]], np.cos(9 * x[[i], 0]))
        likelihood.update()
        likelihood(-1.5)
    assert likelihood(-1.5) == pytest.approx(dense(data, "rbf", -1.5), rel=1e-8)


def test_rows_are_merged_and_bounded():
    rng = np.random.default_rng(2)
    data = Data(Pool(rng.random((5, 1))))
    data.append(np.arange(5), rng.standard_normal(5))
    rows = Merged(data)
    for _ in range(500):
        data.append(rng.integers(5, size=1), rng.standard_normal(1))
        rows.update()
        assert len(rows.means) == len(rows.counts) == len(rows.sqdist) <= 42
    assert rows.counts.sum() == 505
    assert rows.counts @ rows.means / 505 + rows.origin == pytest.approx(data.y.mean())
    between = rows.counts @ (rows.means - rows.mean) ** 2
    assert rows.scatter + between == pytest.approx(np.square(data.y - data.y.mean()).sum())


def test_what_is_not_positive_definite_is_an_error(monkeypatch):
    monkeypatch.setattr("lbbench.gp.linalg.JITTERS", (0.0,))
    data = Data(Box(np.zeros(1), np.ones(1)))
    data.append(np.linspace(0.0, 1.0, 30)[:, None], np.arange(30.0))
    likelihood = GrowingLikelihood(data, KERNELS["rbf"], 1e-30)
    with pytest.raises(NumericalError, match="not positive definite"):
        likelihood(2.0)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(4, 40))
def test_the_cubic_spline_is_scipys(seed, n):
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.uniform(0.1, 1.0, n)), rng.standard_normal(n)
    ours, theirs = cubic_spline(x, y), CubicSpline(x, y)
    at = np.linspace(x[0], x[-1], 200)
    for order in range(3):
        expected = theirs(at, order)
        np.testing.assert_allclose(ours(at, order), expected, rtol=0, atol=1e-9 * np.abs(expected).max())
