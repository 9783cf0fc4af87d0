"""The widths of the bandits' methods by hand and by closed forms, and the regret that they lead to."""

import math

import numpy as np
import pytest
from arms import KERNEL, THETA, composed, others, played, prior, values
from scipy.spatial.distance import cdist

from lbbench.study import optimising
from lbbench.theory import (
    analytic_information_gain,
    gpts_width,
    gpucb_width,
    greedy_information_gain,
    igpucb_width,
    information_gain,
    tight_width,
)


def test_widths_by_hand():
    # B = 2, R = 1/2, γ = 3, δ = 1/10, t = 5, λ = 1/25, to ten digits
    assert igpucb_width(2.0, 0.5, 3.0, 0.1) == pytest.approx(3.7751880313, rel=1e-10)
    assert gpts_width(2.0, 0.5, 3.0, 0.1) == pytest.approx(3.8702583075, rel=1e-10)
    assert gpucb_width(2.0, 3.0, 5, 0.1) == pytest.approx(232.14300004, rel=1e-10)
    assert tight_width(2.0, 0.5, 0.04, 3.0, 0.1) == pytest.approx(10.1413950686, rel=1e-10)


@pytest.mark.parametrize("gain", ["analytic", "greedy", "realised", "1.5"])
@pytest.mark.parametrize("method", ["igpucb", "gpucb", "gpts"])
def test_a_run_has_the_widths_of_its_information_gain(method, gain):
    rows, problem = played(method, "rkhsrbf", f"information_gain={gain}", steps=8)
    norm = math.sqrt(values(problem) @ np.linalg.pinv(prior(problem), rcond=1e-12, hermitian=True) @ values(problem))
    R = math.sqrt(0.01 * np.ptp(values(problem)))
    for n, row in enumerate(rows[1:], start=1):  # n observations before the step, which is the (n + 1)th
        gamma = {
            "analytic": analytic_information_gain(n, THETA["rbf"], 1, None),
            "greedy": greedy_information_gain(prior(problem), R**2, n)[0] / (1 - 1 / math.e),
            "realised": realised(problem, rows[:n], R**2),
            "1.5": 1.5,
        }[gain]
        expected = {
            "igpucb": norm + R * math.sqrt(2 * (gamma + 1 + math.log(10))),
            "gpts": norm + R * math.sqrt(2 * (gamma + 1 + math.log(20))),
            "gpucb": math.sqrt(2 * norm**2 + 300 * gamma * math.log((n + 1) / 0.1) ** 3),
        }[method]
        assert row["beta"] == pytest.approx(expected, rel=1e-4)
        assert row["norm"] == pytest.approx(norm, rel=1e-4)


def realised(problem, rows, regulariser):
    at = [row["point"] for row in rows]
    return information_gain(prior(problem)[np.ix_(at, at)], regulariser)


def test_the_tight_width_is_on_the_gain_of_the_data():
    rows, problem = played("tight", "gpmatern", steps=8)
    K, f, R = prior(problem, "matern52"), values(problem), problem.noise_std
    for n, row in enumerate(rows[1:], start=1):
        at = [one["point"] for one in rows[:n]]
        log_determinant = np.linalg.slogdet(np.eye(n) + K[np.ix_(at, at)] / R**2)[1]
        expected = math.sqrt(f @ np.linalg.solve(K, f)) + math.sqrt(log_determinant + 2 * math.log(10))
        assert row["beta"] == pytest.approx(expected, rel=1e-5)


def test_the_greedy_bound_is_one():
    """On every set of 3 of 8 arms the gain is below it, and greedy choices alone are not always the best."""
    arms = np.random.default_rng(0).random((8, 1))
    K = np.exp(-cdist(arms, arms, "sqeuclidean") / THETA["rbf"] ** 2)
    sets = np.stack(np.meshgrid(*[range(8)] * 3), -1).reshape(-1, 3)
    gains = [information_gain(K[np.ix_(own, own)], 0.05) for own in sets]
    greedy, _ = greedy_information_gain(K, 0.05, 3)
    assert greedy < max(gains) - 1e-3
    assert max(gains) < greedy / (1 - 1 / math.e)


SUBLINEAR = {
    **{method: () for method in ("igpucb", "gpts", "tight", "oracle")},
    "gpucb": ("noise_share=1e-8",),  # with more its width is so large that all arms are played for longer than this
    "lb": ("theta0=1",),
    "lnb": ("theta0=1", "norm=1"),
}


@pytest.mark.parametrize("problem", ["rkhsrbf", "gpmatern"])
@pytest.mark.parametrize("method", SUBLINEAR)
def test_regret_is_sublinear(method, problem):
    """From a tenth of the steps on, regret grows by less than ten times the 0.9th power."""
    for seed in range(2):
        own = composed(
            f"method={method}",
            f"problem={problem}",
            f"kernel={KERNEL[problem]}",
            "iterations=3000",
            *others(SUBLINEAR[method]),
            *SUBLINEAR[method],
        )
        regret = {row["t"]: row["cumulative_regret"] for row in optimising.play(own, seed)}
        assert math.log10(regret[3000] / regret[300]) < 0.9


def test_random_search_has_linear_regret():
    """So that the slope can tell."""
    rows, _ = played("random", "rkhsrbf", steps=3000)
    regret = {row["t"]: row["cumulative_regret"] for row in rows}
    assert math.log10(regret[3000] / regret[300]) > 0.97
