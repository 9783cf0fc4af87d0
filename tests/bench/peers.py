"""The plain way to do the same: loops of BoTorch, GPyTorch and Pyro.

The model is a SingleTaskGP with an isotropic Matérn-5/2 kernel, mean zero and noise 1e-4, on standardised values; the
acquisition function UCB with β = 1, maximised by `optimize_acqf` with 10 restarts and 512 raw samples, or over all
candidates of a pool.
"""

import time

import gpytorch
import numpy as np
import pyro
import torch
from botorch.acquisition import AcquisitionFunction, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.utils import t_batch_mode_transform
from gpytorch.kernels import MaternKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import GammaPrior
from linear_operator.utils.errors import NanError
from pyro.infer import MCMC, NUTS
from pyro.ops.integrator import register_exception_handler
from torch import Tensor
from work import settings

from lbbench.domain import Pool
from lbbench.problems.base import Problem
from lbbench.study import optimising

LENGTHSCALE = 0.3
EVERY = 5  # of NUTS's steps so many are one that is timed


def model(x: Tensor, y: Tensor, kernel: MaternKernel | None = None) -> SingleTaskGP:
    """The GP of points `(n, d)` in the unit cube and their values `(n,)`."""
    z = ((y - y.mean()) / y.std()).unsqueeze(-1)
    likelihood = GaussianLikelihood()
    kernel = kernel or MaternKernel(2.5)
    gp = SingleTaskGP(x, z, likelihood=likelihood, covar_module=kernel, mean_module=ZeroMean(), outcome_transform=None)
    likelihood.noise = 1e-4
    likelihood.raw_noise.requires_grad_(False)
    return gp


def ucb(gp: SingleTaskGP, lengthscale: float | None = None) -> UpperConfidenceBound:
    """The UCB of a model, at a length scale or at the one it has."""
    if lengthscale is not None:
        gp.covar_module.lengthscale = lengthscale
    return UpperConfidenceBound(gp.eval(), beta=1.0)


def maximum(acquisition: AcquisitionFunction, dim: int) -> Tensor:
    """Where an acquisition function is largest in the unit cube, `(1, d)`."""
    bounds = torch.tensor([[0.0] * dim, [1.0] * dim], dtype=torch.double)
    chosen, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
    return chosen.detach()


def botorch_loop(problem: Problem, steps: int, fit: bool) -> float:
    """Seconds of so many steps after ten initial points, with a fixed θ or one that is fitted at each step."""
    domain = problem.domain
    points = domain.initial(10, np.random.default_rng(0))
    x = torch.as_tensor(domain.unit(points))
    y = torch.as_tensor(problem.evaluate(domain.user(points)))
    pool = torch.as_tensor(domain.coordinates) if isinstance(domain, Pool) else None
    started = time.perf_counter()
    for _ in range(steps):
        gp = model(x, y)
        if fit:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
        acquisition = ucb(gp) if fit else ucb(gp, LENGTHSCALE)
        if pool is None:
            chosen = maximum(acquisition, domain.dim)
            value = problem.evaluate(domain.user(chosen.numpy()))
        else:
            with torch.no_grad():
                best = int(acquisition(pool.unsqueeze(1)).argmax())
            chosen = pool[[best]]
            value = problem.evaluate(domain.user(np.array([best])))
        x, y = torch.cat([x, chosen]), torch.cat([y, torch.as_tensor(value)])
    return time.perf_counter() - started


class MeanUCB(AcquisitionFunction):
    """The mean UCB of a model that holds a batch of samples of θ."""

    @t_batch_mode_transform(expected_q=1)
    def forward(self, x: Tensor) -> Tensor:
        posterior = self.model.posterior(x.unsqueeze(-3))
        return (posterior.mean + posterior.variance.sqrt()).mean(-3).flatten()


def nuts_loop(problem: Problem, steps: int) -> float:
    """Seconds of so many steps in which NUTS samples θ, a hundred times after a warm-up of a hundred.

    Every fifth step is timed, on the data that a run of lbbench has at it, and counts for five.
    """
    trace = list(optimising.play(settings(f"problem={problem.name}", "method=mcmc", f"iterations={steps}"), 0))
    lower, upper = problem.domain.bounds
    x = torch.as_tensor((np.array([row["x"] for row in trace]) - lower) / (upper - lower))
    y = torch.as_tensor(np.array([row["y"] for row in trace]))
    initial = len(trace) - steps
    started = time.perf_counter()
    for n in range(initial + EVERY // 2, len(trace), EVERY):
        maximum(MeanUCB(sample_lengthscales(x[:n], y[:n])), problem.domain.dim)
    return EVERY * (time.perf_counter() - started)


def sample_lengthscales(x: Tensor, y: Tensor) -> SingleTaskGP:
    """A model that holds a hundred samples of θ from its posterior under the prior Γ(3, 6)."""
    gp = model(x, y, MaternKernel(2.5, lengthscale_prior=GammaPrior(3.0, 6.0)))

    def joint(x: Tensor, z: Tensor) -> None:
        with gpytorch.settings.fast_computations(False, False, False):
            drawn = gp.pyro_sample_from_prior()
            pyro.sample("z", drawn.likelihood(drawn(x)), obs=z)

    # While it looks for a step size, a trajectory may end at θ = 0, where the kernel is 0/0: no density, not an error.
    register_exception_handler("nan", lambda error: isinstance(error, NanError), warn_on_overwrite=False)
    chain = MCMC(NUTS(joint), num_samples=100, warmup_steps=100, disable_progbar=True)
    chain.run(x, gp.train_targets)
    gp.pyro_load_from_samples(chain.get_samples())
    return gp.eval()
