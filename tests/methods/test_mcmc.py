import math

import numpy as np
import pytest

from lbbench.acquisition import UCB
from lbbench.asktell.core import AskTell
from lbbench.domain import Pool
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.lengthscale_posterior import log_density
from lbbench.gp.likelihood import Likelihood
from lbbench.maximiser import Maximiser
from lbbench.methods.base import Surrogate
from lbbench.methods.mcmc import MCMC
from lbbench.problems.base import Problem
from lbbench.problems.synthetic import berkenkamp

SURROGATE = Surrogate(KERNELS["matern52"])
POOL = Pool(np.random.default_rng(0).random((30, 2)) * [1.0, 20.0])
PROBLEMS = {
    "box": berkenkamp(),
    "pool": Problem("small", POOL, lambda x: np.sin(5.0 * x[:, 0]) + 0.1 * x[:, 1], math.nan),
}
SAMPLERS = {"quadrature": {}, "nuts": {"warmup": 30, "samples": 20}}


def play(problem, method, steps, initial=4):
    """The steps after the initial design, and the data at the end."""
    optimizer = AskTell(problem.domain, method, problem.name, seed=3, initial=initial, maximiser=Maximiser(64, 3))
    taken = []
    for _ in range(initial + steps):
        step = optimizer.ask()
        taken.append(optimizer.tell(step, float(problem.evaluate(problem.domain.user(step.point))[0])))
    return taken[initial:], optimizer.data


@pytest.mark.parametrize("where", PROBLEMS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_five_steps(sampler, where):
    steps, data = play(PROBLEMS[where], MCMC(SURROGATE, sampler, **SAMPLERS[sampler]), 5)
    again, _ = play(PROBLEMS[where], MCMC(SURROGATE, sampler, **SAMPLERS[sampler]), 5)
    assert data.n == 9
    for step, same in zip(steps, again, strict=True):
        np.testing.assert_array_equal(step.point, same.point)
        assert step.lengthscale == same.lengthscale
        assert 1e-3 < step.lengthscale < 10.0
        assert (step.norm, step.beta) == (1.0, pytest.approx(1.0))
        assert 0.0 <= step.sigma < 3.0 * data.std
        assert step.information_gain > 0.0
        if sampler == "nuts":
            assert step.divergences >= 0
            assert step.rhat > 0.0
            assert step.ess > 1.0
        else:
            assert (step.divergences, step.rhat, step.ess) == (None, None, None)


@pytest.mark.parametrize("beta", ["fixed", "theory"])
def test_a_step_maximises_the_expected_ucb_and_records_posterior_means(beta):
    problem = PROBLEMS["pool"]
    surrogate = Surrogate(KERNELS["matern52"], beta=beta, norm=2.0, noise_std=0.01)
    data = Data(POOL)
    points = np.arange(0, 30, 3)
    data.append(points, problem.evaluate(POOL.user(points)))
    seen = []

    def maximise(acquisition):
        seen.append(acquisition(np.arange(30)))
        return np.array([seen[-1].argmax()])

    step = MCMC(surrogate).suggest(data, 1, maximise, np.random.default_rng(0))

    likelihood = Likelihood.of(data, surrogate.kernel, surrogate.regulariser)
    grid = np.linspace(math.log(1e-3), math.log(30.0), 1500)
    density = np.exp([log_density(likelihood, s) for s in grid])
    density /= density.sum()
    grid, density = np.exp(grid[density > 1e-12]), density[density > 1e-12]
    models = [surrogate.fit(data, float(lengthscale)) for lengthscale in grid]
    gains = np.array([model.information_gain for model in models])
    betas = np.array([surrogate.width(data, 2.0, gain) for gain in gains])
    ucb = density @ np.array([UCB(*pair)(np.arange(30)) for pair in zip(models, betas, strict=True)])
    sigma = density @ np.array([model.predict(step.point)[1][0] for model in models])
    np.testing.assert_allclose(seen[0], ucb, atol=2e-4)
    assert step.point[0] == ucb.argmax()
    assert step.lengthscale == pytest.approx(density @ grid, rel=1e-4)
    assert step.beta == pytest.approx(density @ betas, rel=1e-4)
    assert step.sigma == pytest.approx(sigma * data.std, rel=1e-3)
    assert step.information_gain == pytest.approx(density @ gains, rel=1e-4)


def test_nuts_averages_over_its_samples():
    data = Data(POOL)
    data.append(np.arange(6), PROBLEMS["pool"].evaluate(POOL.user(np.arange(6))))
    averages = []

    def maximise(acquisition):
        averages.append(acquisition)
        return np.array([0])

    step = MCMC(SURROGATE, "nuts", warmup=40, samples=25).suggest(data, 1, maximise, np.random.default_rng(0))
    lengthscales = np.array([part.posterior.lengthscale for part in averages[0].parts])
    counts = averages[0].weights * 25
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)  # a sample that was drawn twice counts twice
    assert counts.sum() == pytest.approx(25)
    assert step.lengthscale == pytest.approx(averages[0].weights @ lengthscales)
