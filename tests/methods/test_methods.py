"""The methods' own rules, on short runs."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from lbbench.domain import Box
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.likelihood import Likelihood
from lbbench.gp.posterior import posterior
from lbbench.growth import parse
from lbbench.plan import build
from lbbench.plan.settings import compose
from lbbench.plan.sweeps import plan
from lbbench.streams import generator
from lbbench.study import optimising
from lbbench.theory import confidence_width

GP_METHODS = ["lb", "lnb", "agpucb", "mle", "mcmc", "oracle"]


def settings(*line):
    return compose(plan(line).combinations[0])


def rows(*line, seed=0):
    return pd.DataFrame(optimising.play(settings(*line), seed))


def search(*line, seed=0):
    found = rows(*line, seed=seed)
    return found[found.t > 0].reset_index(drop=True)


@pytest.mark.parametrize("problem", ["berkenkamp", "crossedbarrel"])
def test_lnb_with_one_norm_is_lb(problem):
    line = [f"problem={problem}", "iterations=40"]
    lb, lnb = search("method=lb", *line), search("method=lnb", "b=1", *line)
    same = [column for column in lb if column not in ("method", "run_id", "suggest_s", "evaluate_s")]
    pd.testing.assert_frame_equal(lb[same], lnb[same], check_exact=True)


def test_lnb_crosses_lengthscales_with_norms():
    found = search("method=lnb", "problem=agnp", "iterations=12", "norm=0.5", "b=t", "elimination=prior", "noise_std=9")
    # After step t norms 0.5 eʲ with j ≤ ln t are there; the noise is too large for anything to be eliminated.
    for t, candidates in zip(found.t, found.candidates, strict=True):
        norms = 1 + math.floor(math.log(max(1, t - 1)) + 1e-9)
        assert len(candidates) == norms * len(set(candidates))
    assert set(found.norm) <= {0.5 * math.exp(j) for j in range(3)}
    assert len(set(found.norm)) == 3
    assert found.beta.tolist() == found.norm.tolist()


@pytest.mark.parametrize("g", ["sqrt(t)", "t^0.75", "2"])
@pytest.mark.parametrize("t0", ["auto", "1"])
def test_agpucb_lengthscale_is_theta0_over_g(g, t0):
    found = search("method=agpucb", "problem=agnp", "iterations=30", f"g={g}", "theta0=0.8", f"t0={t0}")
    floor = math.exp(5 / (5 + 2 * 2.5)) if t0 == "auto" else 1.0
    expected = [0.8 / max(floor, parse(g)(t)) for t in found.t]
    np.testing.assert_allclose(found.lengthscale, expected, rtol=0, atol=1e-12)


def test_agpucb_norm_grows_with_theory():
    found = search("method=agpucb", "problem=agnp", "iterations=9", "beta=theory", "norm=2", "theta0=1", "t0=1", "b=t")
    growth = np.sqrt(found.t)
    np.testing.assert_allclose(found.norm, found.t * 2.0)  # N; the believed B is inflated, and β = B without noise
    np.testing.assert_allclose(found.beta, found.t * growth ** (5 / 2) * 2.0)


@pytest.mark.parametrize("method", GP_METHODS)
def test_every_gp_method_records_its_diagnostics(method):
    found = search(f"method={method}", "problem=crossedbarrel", "iterations=6")
    for column in ("lengthscale", "norm", "beta", "sigma", "information_gain", "jitter"):
        assert np.isfinite(found[column]).all()
    assert (found.beta == 1).all()
    assert (found.jitter == 0).all()
    if method == "oracle":  # one length scale, so the gain of more data is larger
        assert (np.diff(found.information_gain) > 0).all()


def test_theta0_mle_is_the_longest_plausible_lengthscale_of_the_initial_design():
    line = ["method=lb", "problem=michalewicz", "iterations=1"]
    found = rows(*line)
    configured = settings(*line)
    problem = build.problem(configured)
    data = Data(problem.domain)
    initial = found[found.t <= 0]
    data.append(np.array(initial.x.tolist()) / math.pi, initial.y.to_numpy())
    expected = Likelihood.of(data, KERNELS["matern52"], 1e-4).longest_plausible()
    assert found.lengthscale.iloc[-1] == pytest.approx(expected, rel=1e-9)
    assert search("method=lb", "problem=agnp", "iterations=1", "theta0=0.5").lengthscale[0] == 0.5


@pytest.mark.parametrize("elimination", ["prior", "posterior", "posterior2"])
def test_elimination_uses_its_width(elimination):
    """Replays Algorithm 2's test on a trace, from the trace's own columns."""
    found = rows("method=lb", "problem=crossedbarrel", "iterations=60", f"elimination={elimination}", seed=1)
    y = found.y.to_numpy()
    search = found[found.t > 0]
    history: dict[float, list[tuple[float, float]]] = {}
    eliminated = 0
    for row in search.itertuples():
        seen = y[: row.Index]
        sigma = {"prior": np.std(seen, ddof=1), "posterior": row.sigma, "posterior2": 2 * row.sigma}[elimination]
        history.setdefault(row.lengthscale, []).append((row.y, row.beta * sigma))
        if all(theta in history for theta in row.candidates):
            means = {theta: np.mean(history[theta], axis=0) for theta in row.candidates}
            bar = max(mean[0] for mean in means.values())
            expected = {theta for theta, (mean, width) in means.items() if mean + width < bar}
        else:
            expected = set()
        assert set(row.eliminated) == expected
        eliminated += len(expected)
    assert eliminated > 0


def test_oracle_ignores_the_data():
    found = [search("method=oracle", "problem=crossedbarrel", "iterations=5", seed=seed) for seed in (0, 1)]
    assert found[0].lengthscale.nunique() == 1
    assert set(found[0].lengthscale) == set(found[1].lengthscale)
    assert set(search("method=oracle", "problem=agnp", "iterations=3", "lengthscale=0.3").lengthscale) == {0.3}


def test_random_is_uniform_and_learns_nothing():
    one = search("method=random", "problem=berkenkamp", "iterations=400")
    two = search("method=random", "problem=berkenkamp", "iterations=400", "noise_std=1")
    x = np.array(one.x.tolist())[:, 0]
    assert x.tolist() == np.array(two.x.tolist())[:, 0].tolist()
    assert np.histogram(x, bins=4, range=(0, 1))[0].min() > 70
    assert one.lengthscale.isna().all()


def coverage(width, repetitions=200, steps=25, regulariser=1e-2, noise_std=0.2, norm=2.0):
    """How often a band holds at every step and everywhere, for functions of known norm seen with noise."""
    kernel, theta = KERNELS["matern52"], 0.2
    grid = np.linspace(0, 1, 101)[:, None]
    held = 0
    for repetition in range(repetitions):
        rng = generator(repetition, "coverage")
        centres, weights = rng.random((8, 1)), rng.standard_normal(8)
        gram = kernel.value(cdist(centres, centres, "sqeuclidean") / theta**2)
        weights *= norm / math.sqrt(weights @ gram @ weights)

        def f(x, centres=centres, weights=weights):
            return kernel.value(cdist(x, centres, "sqeuclidean") / theta**2) @ weights

        data = Data(Box(np.zeros(1), np.ones(1)))
        holds = True
        fitted = None
        for _ in range(steps):
            x = rng.random((1, 1))
            data.append(x, f(x) + noise_std * rng.standard_normal(1))
            data.mean, data.std = 0.0, 1.0  # the theorem is about data that are not standardised
            fitted = fitted or posterior(data, kernel, theta, regulariser)
            fitted.update()
            mean, std = fitted.predict(grid)
            beta = width(norm, noise_std, regulariser, fitted.information_gain)
            holds &= bool((np.abs(f(grid) - mean) <= beta * std).all())
        held += holds
    return held / repetitions


def test_theory_band_covers_and_the_printed_one_does_not():
    delta = 0.01

    def printed(norm, noise_std, regulariser, gain):
        return norm + noise_std * math.sqrt(2 * (gain + 1 + math.log(2 / delta)))

    assert coverage(lambda *arguments: confidence_width(*arguments, delta)) >= 1 - delta
    assert coverage(printed) < 1 - delta


def test_theory_settings_reach_the_band():
    line = ["method=lb", "problem=agnp", "iterations=8", "beta=theory", "noise_std=0.05", "norm=1.5", "delta=0.1"]
    found = rows(*line)
    first = found[found.t == 1].iloc[0]
    theta0 = max(first.candidates)
    std = found[found.t <= 0].y.std()
    norm = (theta0 / first.lengthscale) ** (5 / 2) * 1.5
    expected = norm + 0.05 / std / 1e-2 * math.sqrt(2 * (first.information_gain + math.log(20)))
    assert first.beta == pytest.approx(expected, rel=1e-9)
