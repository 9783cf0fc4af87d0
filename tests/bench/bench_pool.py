"""Runs in a pool: all candidates of a problem beside BoTorch, and many pulls of few arms."""

import time

import numpy as np
import peers
import pytest
from work import problem

from lbbench import growth
from lbbench.asktell.core import AskTell
from lbbench.domain import Pool
from lbbench.gp.kernels import KERNELS
from lbbench.methods.base import Surrogate
from lbbench.methods.lb import LB
from lbbench.methods.lengthscales import Shrinking
from lbbench.methods.oracle import Oracle

KERNEL = KERNELS["matern52"]
LENGTHSCALE = 0.2
METHODS = {
    "GP-UCB, fixed θ,": lambda surrogate: Oracle(surrogate, LENGTHSCALE),
    "LB": lambda surrogate: LB(surrogate, Shrinking(growth.parse("sqrt(t)"))),
}


def bench_lb_in_pool(report, run_seconds):
    peer = peers.botorch_loop(problem("crossedbarrel"), 250, fit=False)
    seconds = run_seconds("method=lb", "problem=crossedbarrel")
    report("LB on crossedbarrel, T = 250", seconds, "s", "BoTorch, fixed θ, all candidates", peer, ratio_at_least=12)


@pytest.mark.parametrize(("method", "most"), [("GP-UCB, fixed θ,", 100), ("LB", 500)])
def bench_pool_of_arms(report, benchmark, pytestconfig, method, most):
    steps = pytestconfig.getoption("arm_steps")
    micros = 1e6 * benchmark.pedantic(pull, (METHODS[method], steps), rounds=1)
    work = f"{method} on 100 arms, T = {steps:,}"
    report(f"{work}: a step", micros.mean(), "µs", at_most=most)
    first, last = micros[:1000].mean(), micros[-1000:].mean()
    report(f"{work}: last 1,000 steps", last, "µs", "its first 1,000 steps", first, ratio_at_least=0.8)


def pull(method, steps):
    """Seconds of each ask and tell, `(steps,)`.

    The arms are a draw of the GP, the noise is a tenth of their range, and λ its variance.
    """
    rng = np.random.default_rng(0)
    pool = Pool(rng.random((100, 1)))
    covariance = KERNEL.value(pool.sqdist / LENGTHSCALE**2) + 1e-9 * np.eye(pool.size)
    arms = np.linalg.cholesky(covariance) @ rng.standard_normal(pool.size)
    noise_std = 0.1 * np.ptp(arms)
    run = AskTell(pool, method(Surrogate(KERNEL, regulariser=noise_std**2, noise_std=noise_std)))
    seconds = []
    while run.t < steps:
        started = time.perf_counter()
        step = run.ask()
        asked = time.perf_counter()
        value = float(arms[step.point[0]] + noise_std * rng.standard_normal())
        evaluated = time.perf_counter()
        run.tell(step, value)
        seconds.append(asked - started + time.perf_counter() - evaluated)
    return np.array(seconds[-steps:])
