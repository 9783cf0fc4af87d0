"""Test functions on a box."""

import math

import numpy as np

from lbbench.domain import Array, Box
from lbbench.problems.base import Problem


def berkenkamp(noise_std: float = 0.0) -> Problem:
    """The one-dimensional toy of Berkenkamp et al. (2019): a slope to x = 1 and a hidden, higher, narrow peak.

    f(x) = 0.6x + N(x; 0.2, 0.08)/8 on [0, 1]; f* = 0.74519815 at x = 0.20617869, f(1) = 0.6.
    """
    return Problem("berkenkamp", Box(np.zeros(1), np.ones(1)), _berkenkamp, 0.7451981532422828, noise_std)


def _berkenkamp(x: Array) -> Array:
    z = (x[:, 0] - 0.2) / 0.08
    return 0.6 * x[:, 0] + np.exp(-0.5 * z * z) / (8.0 * 0.08 * math.sqrt(2.0 * math.pi))


# The function is a sum over coordinates, so its maximum is known to machine precision; BoTorch's has six digits.
MICHALEWICZ_OPTIMA = {2: 1.8013034100985528, 5: 4.687658179088149, 10: 9.660151715641344}


def michalewicz(dim: int = 5, noise_std: float = 0.0) -> Problem:
    """BoTorch's Michalewicz function (m = 10) on [0, π]^d, negated for maximisation."""
    import torch
    from botorch.test_functions.synthetic import Michalewicz

    function = Michalewicz(dim=dim, negate=True, dtype=torch.double)

    def evaluate(x: Array) -> Array:
        return np.asarray(function(torch.as_tensor(x, dtype=torch.double)).numpy())

    box = Box(np.zeros(dim), np.full(dim, math.pi))
    return Problem("michalewicz", box, evaluate, MICHALEWICZ_OPTIMA[dim], noise_std)
