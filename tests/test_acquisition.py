"""The maximiser of acquisition functions: as good as BoTorch's, exact in a pool, deterministic, at home at corners."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lbbench.acquisition import UCB, Average, Maximiser, climb, distinct_best, lattice
from lbbench.domain import Box, Pool
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.posterior import posterior

REGULARISER = 1e-4
MAXIMISE = Maximiser()


def box(dim):
    return Box(np.zeros(dim), np.ones(dim))


def observed(x, y):
    data = Data(box(x.shape[1]))
    data.append(x, y)
    return data


def ucb(data, lengthscale, beta, kernel="matern52"):
    return UCB(posterior(data, KERNELS[kernel], lengthscale, REGULARISER), beta)


def incumbents(data):
    return data.points[np.argsort(-data.y, kind="stable")[:5]]


def maximum(acquisition, data, seed=0):
    """Where the maximiser ends, `(1, d)`."""
    return MAXIMISE(acquisition, data.domain, incumbents(data), np.random.default_rng(seed))


def random_model(rng):
    """Between 5 and 150 noisy observations of a wavy function in d = 1, 2 or 5, some of them in clusters."""
    dim, n = int(rng.choice([1, 2, 5])), int(rng.integers(5, 151))
    x = rng.random((n, dim))
    if rng.random() < 0.5:
        clustered = rng.random(n) < 0.6
        centres = rng.random((3, dim))[rng.integers(3, size=n)]
        x[clustered] = np.clip(centres + 0.05 * rng.standard_normal((n, dim)), 0.0, 1.0)[clustered]
    y = np.sin(rng.uniform(2, 12, size=dim) * x + rng.uniform(0, 6, size=dim)).sum(1) + 0.1 * rng.standard_normal(n)
    return ucb(observed(x, y), math.exp(rng.uniform(math.log(0.05), 0.0)), rng.uniform(0.5, 3.0))


def botorch_maximum(acquisition, seed):
    """Where BoTorch ends, `(1, d)`, on the same model and with as many starts and raw samples."""
    from botorch.acquisition import UpperConfidenceBound
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.kernels import MaternKernel
    from gpytorch.means import ZeroMean

    data = acquisition.posterior.data
    kernel = MaternKernel(nu=2.5).double()
    kernel.lengthscale = torch.tensor(acquisition.posterior.lengthscale, dtype=torch.float64)
    x, z = torch.tensor(data.x), torch.tensor(data.z)[:, None]
    noise = torch.full_like(z, REGULARISER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SingleTaskGP(x, z, noise, covar_module=kernel, mean_module=ZeroMean(), outcome_transform=None)
        model.eval().requires_grad_(False)
        target = UpperConfidenceBound(model, beta=acquisition.beta**2)
        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, x.shape[1])
        torch.manual_seed(seed)
        options = {"seed": seed}
        found, value = optimize_acqf(
            target, bounds, 1, num_restarts=MAXIMISE.restarts, raw_samples=MAXIMISE.raw_samples, options=options
        )
    found = np.clip(found.numpy(), 0.0, 1.0)
    np.testing.assert_allclose(acquisition(found), [value.item()], rtol=1e-6, atol=1e-6)  # it is the same model
    return found


def against_botorch(seed, models=50):
    """UCB at our maximum minus UCB at BoTorch's, for each of some random models, `(models,)`."""
    rng = np.random.default_rng(seed)
    differences = []
    for trial in range(models):
        acquisition = random_model(rng)
        ours = acquisition(maximum(acquisition, acquisition.posterior.data, trial))
        differences.append(ours[0] - acquisition(botorch_maximum(acquisition, trial))[0])
    return np.array(differences)


def test_as_good_as_botorch():
    differences = against_botorch(seed=1)
    assert differences.mean() >= 0.0
    assert (differences < -1e-6).sum() <= 5
