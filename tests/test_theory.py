import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lbbench.gp.kernels import KERNELS
from lbbench.theory import (
    RegretBound,
    balancing_optimality,
    confidence_width,
    effective_dim,
    greedy_information_gain,
    inflated_norm,
    information_gain,
    noise_width,
    shrinking_optimality,
)


def test_regret_bound_by_hand():
    # d = 1, θ = 0.5, n = e²: γ = 2·2² = 8 for the RBF bound
    bound = RegretBound(1)
    n = math.exp(2)
    assert bound(n, 0.5, 3.0) == pytest.approx(math.sqrt(n * 8) * (math.sqrt(8) + 3))
    assert bound(1, 0.5, 3.0) == 0
    # Matérn-5/2, d = 1: γ = 2 n^{1/6} (ln n)^{5/6}
    gamma = 2 * n ** (1 / 6) * 2 ** (5 / 6)
    assert RegretBound(1, 2.5)(n, 0.5, 3.0) == pytest.approx(math.sqrt(n * gamma) * (math.sqrt(gamma) + 3))
    assert RegretBound(1, 2.5)(1, 0.5, 3.0) == 0


@given(st.integers(2, 200), st.floats(0.01, 1), st.integers(1, 5), st.sampled_from([None, 1.5, 2.5]))
def test_regret_bound_grows_with_n_with_norm_and_as_the_lengthscale_shrinks(n, theta, dim, smoothness):
    bound = RegretBound(dim, smoothness)
    assert bound(n + 1, theta, 1.0) > bound(n, theta, 1.0)
    assert bound(n, theta / 1.1, 1.0) > bound(n, theta, 1.0)
    assert bound(n, theta, 2.0) > bound(n, theta, 1.0)


def test_effective_dim():
    assert effective_dim(5, KERNELS["matern52"]) == 10
    assert effective_dim(5, KERNELS["matern32"]) == 8
    assert effective_dim(5, KERNELS["rbf"]) == 5
    assert effective_dim(5, KERNELS["matern52"], "d") == 5


def test_widths_by_hand():
    assert inflated_norm(2.0, 0.25, 1.0, 2) == pytest.approx(8.0)
    # λ = σ_N² gives Theorem 2.1 without its + 1
    assert confidence_width(1.5, 0.1, 0.01, 3.0, 0.02) == pytest.approx(1.5 + math.sqrt(2 * (3 + math.log(100))))
    assert confidence_width(1.5, 0.0, 1e-4, 3.0, 0.02) == 1.5
    assert noise_width(0.5, 6, 3, 0.01) == pytest.approx(0.5 * math.log(6 * math.pi**2 * 9 / 0.03))
    assert noise_width(0.0, 6, 3, 0.01) == 0


def test_information_gain_is_half_the_log_determinant():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 6))
    covariance = a @ a.T
    expected = 0.5 * np.linalg.slogdet(np.eye(6) + covariance / 0.1)[1]
    assert information_gain(covariance, 0.1) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([1e-4, 0.1, 1.0]), st.floats(0.05, 2))
def test_greedy_gain_against_every_design(seed, n, regulariser, theta):
    """Greedy is at least (1 − 1/e) of the best of all designs with repeats, which no design's gain exceeds."""
    rng = np.random.default_rng(seed)
    x = rng.random((5, 2))
    sqdist = ((x[:, None] - x[None]) ** 2).sum(-1)
    covariance = KERNELS["matern52"].value(sqdist / theta**2)

    def gain(design):
        return information_gain(covariance[np.ix_(design, design)], regulariser)

    best = max(gain(list(design)) for design in itertools.combinations_with_replacement(range(5), n))
    greedy, chosen = greedy_information_gain(covariance, regulariser, n)
    assert greedy == pytest.approx(gain(chosen), rel=1e-8)
    assert (1 - 1 / math.e) * best <= greedy <= best * (1 + 1e-9)
    realised = gain(rng.integers(5, size=n).tolist())
    assert realised <= best * (1 + 1e-9)


def test_optimality_factors_by_hand():
    # g(T) = 2, b(T) = 3, d̂ = 10: 2^10 = 1024, 3 · 1024 = 3072, 10 ln 2 = 6.931…, times ln 3 = 1.0986…
    assert shrinking_optimality(10, 2.0) == 1024
    assert shrinking_optimality(10, 2.0, 3.0) == 3072
    assert balancing_optimality(10, 2.0) == pytest.approx(6.931472, abs=1e-6)
    assert balancing_optimality(10, 2.0, 3.0) == pytest.approx(7.615000, abs=1e-6)
