"""One evaluation of the exact likelihood of the length scale."""

import math
import timeit

import numpy as np
import peers
import pytest
import torch
from gpytorch.mlls import ExactMarginalLogLikelihood
from work import problem

from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.likelihood import Likelihood

N = 250


def bench_likelihood(report, benchmark):
    objective = problem("michalewicz")
    data = Data(objective.domain)
    points = objective.domain.initial(N, np.random.default_rng(0))
    data.append(points, objective.evaluate(objective.domain.user(points)))
    likelihood = Likelihood.of(data, KERNELS["matern52"], 1e-4)

    x, y = torch.tensor(points), torch.tensor(data.y)
    gp = peers.model(x, y).train()
    gp.covar_module.lengthscale = peers.LENGTHSCALE
    mll = ExactMarginalLogLikelihood(gp.likelihood, gp)

    def peer():
        gp.zero_grad()
        value = mll(gp(x), gp.train_targets)
        value.backward()
        return N * float(value.detach())

    seconds = np.median(timeit.repeat(peer, number=1, repeat=20))
    value, _ = benchmark.pedantic(likelihood.with_slope, (math.log(peers.LENGTHSCALE),), rounds=20)
    assert value == pytest.approx(peer(), rel=1e-6)
    work = f"likelihood and its derivative, n = {N}"
    report(work, 1e3 * benchmark.stats.stats.median, "ms", "GPyTorch, forward and backward", 1e3 * seconds)
