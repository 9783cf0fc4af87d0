"""The model behind an optimizer, for BoTorch's acquisition functions."""

import math

import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from gpytorch.means import ZeroMean

from lbbench.asktell.optimizer import Optimizer
from lbbench.errors import UsageError
from lbbench.gp.kernels import KERNELS


def model(optimizer: Optimizer, lengthscale: float | None = None) -> SingleTaskGP:
    """The GP of all that was told to an optimizer, in user units, with its kernel and regulariser.

    The length scale is the last step's if none is given; `optimizer.candidates()` are those that stood to choose from.
    It is the model of what is to be maximised, the values' negative if the optimizer minimises. Raises `UsageError` if
    there is no value or no length scale yet.
    """
    theta = optimizer.chosen(lengthscale)
    gp, dim = optimizer.settings["gp"], optimizer.domain.dim
    smoothness = KERNELS[gp["kernel"]].smoothness
    kernel: Kernel = RBFKernel() if smoothness is None else MaternKernel(nu=smoothness)
    kernel.double().lengthscale = theta / math.sqrt(2.0) if smoothness is None else theta  # ours is exp(−r²/θ²)
    low, high = (torch.as_tensor(bound, dtype=torch.double) for bound in optimizer.domain.bounds)
    high = torch.where(high > low, high, low + 1.0)
    y = torch.as_tensor(-optimizer.y if optimizer.minimise else optimizer.y, dtype=torch.double)[:, None]
    if len(y) < 2:
        raise UsageError("a model needs two values at least")
    variance = y.var() if y.var() > 0 else torch.ones((), dtype=torch.double)
    return SingleTaskGP(
        torch.as_tensor(optimizer.x, dtype=torch.double),
        y,
        torch.full_like(y, gp["regulariser"]) * variance,
        covar_module=kernel,
        mean_module=ZeroMean(),
        input_transform=Normalize(dim, bounds=torch.stack([low, high])),
        outcome_transform=Standardize(1),
    )
