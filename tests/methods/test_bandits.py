"""The bandits as problems, their settings, and their preset."""

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from arms import KERNEL, THETA, composed, directly, played, prior, values
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import stats

from lbbench import Optimizer
from lbbench.asktell.core import AskTell
from lbbench.domain import Pool
from lbbench.errors import UsageError
from lbbench.gp.kernels import KERNELS, covariance
from lbbench.plan import build
from lbbench.plan.settings import compose
from lbbench.plan.sweeps import plan
from lbbench.problems import bandits
from lbbench.study import optimising
from lbbench.theory import (
    rkhs_norm,
)


def lbbench(*arguments):
    command = [sys.executable, "-m", "lbbench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", [*KERNEL, "rosenbrock", "hartmann"])
def test_a_trial_is_a_problem_of_its_own(name):
    settings = composed("method=random", f"problem={name}")
    first, again, other = (build.problem(settings, seed) for seed in (0, 0, 1))
    assert first is again
    assert not np.array_equal(first.domain.candidates, other.domain.candidates)
    assert first.domain.size == {"rosenbrock": 200, "hartmann": 300}.get(name, 100)
    assert first.optimum == values(first).max()
    np.testing.assert_array_equal(first.domain.unit(np.arange(5)), first.domain.candidates[:5])  # no scaling
    assert first.noise_std**2 == pytest.approx(0.01 * np.ptp(values(first)))


def test_test_functions():
    x = build.problem(composed("problem=rosenbrock")).domain.candidates
    f = values(build.problem(composed("problem=rosenbrock")))
    np.testing.assert_allclose(f, -(100 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1 - x[:, 0]) ** 2), atol=1e-12)
    hartmann = values(build.problem(composed("problem=hartmann", "arms=10000")))
    assert 3.8 < hartmann.max() < 3.86278  # the maximum of the function


def test_draws_of_a_gp_are_normal():
    """yᵀK⁻¹y of y ~ N(0, K) has the distribution χ²(100)."""
    norms = []
    for seed in range(150):
        problem = bandits.gpmatern(0.2, seed=seed)
        K = prior(problem, "matern52")
        norms.append(values(problem) @ np.linalg.solve(K, values(problem)))
    assert stats.kstest(norms, stats.chi2(100).cdf).pvalue > 1e-3


def test_posterior_means_are_of_draws():
    """f = K(K + λI)⁻¹y: undone, with λ such that it is 1 % of the range of y, it leaves a draw."""
    norms = []
    for seed in range(200):
        problem = bandits.rkhsmatern(0.2, arms=12, seed=seed)
        K, f, noise = prior(problem, "matern52"), values(problem), problem.noise_std**2
        weights = np.linalg.solve(K, f)
        for _ in range(100):
            noise = 0.01 * np.ptp(f + noise * weights)
        y = f + noise * weights
        norms.append(y @ np.linalg.solve(K, y))
        assert rkhs_norm(f, K) < rkhs_norm(y, K)
    assert stats.kstest(norms, stats.chi2(12).cdf).pvalue > 1e-3


@hypothesis_settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(["rbf", "matern52"]))
def test_the_norm_of_a_sum_of_kernels(seed, n, name):
    """‖Σᵢ aᵢ k(xᵢ, ·)‖² = aᵀKa, on the arms xᵢ and on more arms alike."""
    rng = np.random.default_rng(seed)
    pool = Pool(rng.random((40, 1)))
    K = covariance(pool, KERNELS[name], 0.3)
    a = rng.standard_normal(n)
    expected = math.sqrt(max(a @ K[:n, :n] @ a, 0.0))
    assert rkhs_norm(K[:, :n] @ a, K) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_values_are_not_standardised():
    rows, problem = played("oracle", "gpmatern", steps=6)
    at, y = [row["point"] for row in rows[:6]], np.array([row["y"] for row in rows[:6]])
    K = prior(problem, "matern52")
    _, covariance = directly(K, np.array(at), y, problem.noise_std**2)
    assert rows[6]["sigma"] == pytest.approx(math.sqrt(covariance[rows[6]["point"], rows[6]["point"]]), rel=1e-6)
    assert rows[6]["lengthscale"] == 0.2  # what it is told


def test_standardise_is_a_setting():
    rows, problem = played("oracle", "gpmatern", "standardise=true", "norm=1", "regulariser=0.01", steps=6)
    y = np.array([row["y"] for row in rows[:6]])
    _, covariance = directly(prior(problem, "matern52"), np.array([row["point"] for row in rows[:6]]), y, 0.01)
    last = rows[6]["point"]
    assert rows[6]["sigma"] == pytest.approx(y.std(ddof=1) * math.sqrt(covariance[last, last]), rel=1e-6)


def test_regulariser_of_the_theory_is_that_of_the_horizon():
    rows, problem = played("igpucb", "gpmatern", "regulariser=theory", steps=10)
    _, covariance = directly(prior(problem, "matern52"), np.array([rows[0]["point"]]), np.array([0.0]), 1 + 2 / 10)
    at = rows[1]["point"]
    assert rows[1]["sigma"] == pytest.approx(math.sqrt(covariance[at, at]), rel=1e-9)


@pytest.mark.parametrize("method", ["gpts", "ei", "lnb"])
def test_a_run_is_taken_up_bit_for_bit(method):
    settings = composed(f"method={method}", "problem=gprbf", "kernel=rbf", "iterations=150", "regulariser=noise")
    whole = list(optimising.play(settings, 4))
    rest = list(optimising.play(settings, 4, whole[:90]))
    timeless = [[{k: v for k, v in row.items() if not k.endswith("_s")} for row in rows] for rows in (whole[90:], rest)]
    assert timeless[0] == timeless[1]


def test_methods_meet_the_same_arms_and_noise():
    first, second = (played(method, "gprbf", steps=40)[0] for method in ("ei", "tight"))
    assert first[0]["point"] == second[0]["point"]
    noise = [[row["y"] - row["f"] for row in rows] for rows in (first, second)]
    np.testing.assert_allclose(noise[0], noise[1], atol=1e-12)


WRONG = {
    "method=igpucb problem=michalewicz information_gain=greedy": "information_gain=greedy needs a pool of candidates",
    "method=igpucb problem=rkhsrbf kernel=empirical": "kernel=empirical is for problems that have a covariance",
    "method=lb problem=agnp norm=auto": "norm=auto is for problems with standardise=false, not agnp",
    "method=lb problem=rkhsrbf standardise=true regulariser=noise": "regulariser=noise is for problems with",
    "method=lb problem=rkhsrbf arms=1": "arms=1: must be a whole number from 2",
    "method=gpts information_gain=none": "'analytic' or 'greedy' or 'realised' or a number above 0",
    "method=lb problem=rkhsrbf noise_std=0.1": "noise_std is not a setting of what was chosen",
    "+experiment=bandits trials=0": "must be a count",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines(line, tmp_path):
    result = lbbench("run", *line.split(), f"out={tmp_path / 'out'}")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert WRONG[line] in result.stderr


def test_trials_are_seeds():
    assert plan(["+experiment=bandits", "trials=3"]).combinations[0].seeds == (0, 1, 2)


def test_the_preset_is_the_papers_protocol():
    combinations = plan(["+experiment=bandits", "trials=25"]).combinations
    methods = {"igpucb", "gpucb", "gpts", "ei", "pi", "tight", "lb", "lnb"}
    assert {(one.method, one.problem) for one in combinations} == {(m, p) for m in methods for p in KERNEL}
    for one in combinations:
        own = compose(one)
        assert own["iterations"] == 30_000
        assert own["gp"]["kernel"] == KERNEL[one.problem]
        assert own["gp"]["delta"] == 0.1
        assert own["gp"]["regulariser"] == "noise"
        assert own["problem"]["theta"] == pytest.approx(THETA[KERNEL[one.problem]])
        assert len(one.seeds) == 25


@pytest.mark.parametrize(
    ("method", "setting"),
    [("igpucb", {}), ("tight", {"lengthscale": 0.3, "norm": "auto"}), ("lb", {"regulariser": "noise"})],
)
def test_an_optimizer_does_not_know_the_objective(method, setting):
    with pytest.raises(UsageError, match="needs an objective that is known"):
        Optimizer(bounds=[(0, 1)], method=method, **setting)


def test_an_optimizer_has_no_horizon():
    with pytest.raises(UsageError, match="no number of steps T"):
        Optimizer(bounds=[(0, 1)], method="lb", regulariser="theory")


@pytest.mark.parametrize("method", ["igpucb", "gpucb", "gpts", "ei", "pi", "tight"])
def test_an_optimizer_plays_them(method):
    optimizer = Optimizer(bounds=[(0.0, 10.0)], method=method, lengthscale=0.2, initial=3)
    for _ in range(6):
        x = optimizer.ask()
        optimizer.tell(x, -((x[0] - 4.0) ** 2))
    assert len(optimizer.y) == 6


def test_a_problem_of_ones_own_may_depend_on_the_trial(tmp_path, monkeypatch):
    (tmp_path / "trials.py").write_text(
        "import numpy as np\n"
        "from lbbench.domain import Pool\n"
        "from lbbench.problems.base import Problem\n"
        "def shifted(seed=0, known=True, standardise=False):\n"
        "    best = float(seed) if known else float('nan')\n"
        "    return Problem('shifted', Pool(np.arange(6.0)[:, None]), lambda x: seed - x[:, 0], best)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = composed("method=random", "problem=trials:shifted", "iterations=4", "initial=2")
    rows = list(optimising.play(settings, 7))
    assert [row["f"] for row in rows] == [7.0 - row["x"][0] for row in rows]
    assert not AskTell.of(settings, build.problem(settings, 7), 7).data.standardise
    with pytest.raises(UsageError, match="each must tell its optimum"):
        build.problem(composed("method=random", "problem=trials:shifted", "known=false"), 7)


def test_a_study_of_bandits_is_one_of_one_objective(tmp_path):
    """Its trials differ, but neither doctor nor a figure takes them for other data."""
    line = ["problem=gprbf", "method=ei,tight", "kernel=rbf", "iterations=20", "seeds=2", "jobs=1", f"out={tmp_path}"]
    assert lbbench("run", *line).returncode == 0
    assert "those of the 4 traces" in lbbench("doctor", f"out={tmp_path}").stdout
    frame = pd.read_parquet(tmp_path / "traces")
    starts = frame[frame["t"] == 0].groupby("seed")["y"].nunique()
    assert starts.tolist() == [1, 1]
