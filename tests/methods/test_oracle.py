import math
from dataclasses import replace

import numpy as np
import pytest

from lbbench.asktell.core import AskTell
from lbbench.domain import Pool
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.likelihood import Likelihood
from lbbench.maximiser import Maximiser
from lbbench.methods.base import Surrogate
from lbbench.methods.oracle import Oracle, estimate_lengthscale
from lbbench.problems import materials
from lbbench.problems.base import Problem
from lbbench.problems.synthetic import berkenkamp, michalewicz

MATERN = KERNELS["matern52"]
POOL = Pool(np.random.default_rng(0).random((40, 2)))
SMALL = Problem("small", POOL, lambda x: np.sin(5.0 * x[:, 0]) + x[:, 1], math.nan)


class Refitted(Oracle):
    """GP-UCB with the same length scale, fitted from scratch in each step."""

    def suggest(self, data, t, maximise, rng):
        return self.surrogate.step(data, self.surrogate.fit(data, self.lengthscale), self.surrogate.norm, maximise)


def play(problem, method, steps=8, initial=4):
    optimizer = AskTell(problem.domain, method, problem.name, seed=1, initial=initial, maximiser=Maximiser(64, 3))
    taken = []
    for _ in range(initial + steps):
        step = optimizer.ask()
        taken.append(optimizer.tell(step, float(problem.evaluate(problem.domain.user(step.point))[0])))
    return taken[initial:]


@pytest.mark.parametrize("problem", [berkenkamp(), SMALL], ids=["box", "pool"])
@pytest.mark.parametrize("beta", ["fixed", "theory"])
def test_the_oracle_is_gp_ucb_with_one_length_scale(problem, beta):
    surrogate = Surrogate(MATERN, beta=beta, norm=1.5, noise_std=0.01)
    steps = play(problem, Oracle(surrogate, 0.21))
    assert {step.lengthscale for step in steps} == {0.21}
    assert {step.norm for step in steps} == {1.5}
    for step, expected in zip(steps, play(problem, Refitted(surrogate, 0.21)), strict=True):
        np.testing.assert_allclose(step.point, expected.point, atol=1e-5)
        assert step.beta == pytest.approx(expected.beta, rel=1e-6)
        assert step.sigma == pytest.approx(expected.sigma, rel=1e-3, abs=1e-4)
        assert step.information_gain == pytest.approx(expected.information_gain, rel=1e-5)


def estimate_by_grid(problem, points, count):
    """The most likely of many length scales for the best of the points."""
    values = problem.evaluate(problem.domain.user(points))
    best = sorted(range(len(values)), key=lambda i: (-values[i], i))[:count]
    data = Data(problem.domain)
    data.append(points[best], values[best])
    likelihood = Likelihood.of(data, MATERN, 1e-4)
    return likelihood, max(np.linspace(math.log(0.005), math.log(10.0), 2000), key=likelihood)


def test_the_estimate_fits_the_best_of_a_pool_but_at_least_20():
    _, expected = estimate_by_grid(SMALL, np.arange(40), 20)
    assert math.log(estimate_lengthscale(SMALL, MATERN, 1e-4)) == pytest.approx(expected, abs=0.004)


def test_the_estimate_fits_the_best_percent_of_a_large_pool():
    pool = Pool(np.random.default_rng(1).random((3000, 2)))
    large = Problem("large", pool, lambda x: np.sin(20.0 * x[:, 0]) + np.cos(9.0 * x[:, 1]), math.nan)
    _, expected = estimate_by_grid(large, np.arange(3000), 30)
    assert math.log(estimate_lengthscale(large, MATERN, 1e-4)) == pytest.approx(expected, abs=0.004)


def test_of_equal_values_the_first_count():
    stepped = replace(SMALL, evaluate=lambda x: np.floor(3.0 * x[:, 0]))
    _, expected = estimate_by_grid(stepped, np.arange(40), 20)
    assert math.log(estimate_lengthscale(stepped, MATERN, 1e-4)) == pytest.approx(expected, abs=0.004)


def test_the_estimate_in_a_box_depends_on_the_name_alone():
    problem = michalewicz()
    first = estimate_lengthscale(problem, MATERN, 1e-4)
    assert estimate_lengthscale(michalewicz(noise_std=0.3), MATERN, 1e-4) == first
    assert estimate_lengthscale(replace(problem, name="another"), MATERN, 1e-4) != first
    assert 0.02 < first < 0.1  # the published 0.0354 came from other points


def test_the_peak_of_berkenkamp_asks_for_less_than_the_shortest_length_scale():
    assert estimate_lengthscale(berkenkamp(), MATERN, 1e-4) == pytest.approx(0.005)  # the published one is 0.00438


def test_the_estimates_of_the_measured_pools():
    pytest.importorskip("bocode")
    assert 0.05 < estimate_lengthscale(materials.agnp(), MATERN, 1e-4) < 0.2
    # On crossedbarrel the likelihood is level down to θ → 0: any θ on the plateau is as likely as another.
    barrel = materials.crossedbarrel()
    likelihood, best = estimate_by_grid(barrel, np.arange(600), 20)
    estimate = math.log(estimate_lengthscale(barrel, MATERN, 1e-4))
    assert likelihood(estimate) >= likelihood(best) - 1e-8
    assert likelihood(math.log(0.005)) >= likelihood(best) - 1e-8
