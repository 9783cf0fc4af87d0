"""Kernels against GPyTorch's, and their derivatives against autograd."""

import math

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lbbench.gp.kernels import KERNELS

NAMES = sorted(KERNELS)


def torch_kernel(name, u):
    """The kernel as a textbook writes it, in u = r²/θ²."""
    if name == "rbf":
        return torch.exp(-u)
    r = torch.sqrt(u)
    if name == "matern32":
        return (1 + math.sqrt(3) * r) * torch.exp(-math.sqrt(3) * r)
    return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * torch.exp(-math.sqrt(5) * r)


def test_the_three_kernels_of_the_specification():
    assert {name: KERNELS[name].smoothness for name in NAMES} == {"matern32": 1.5, "matern52": 2.5, "rbf": None}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lengthscale", [0.005, 0.1, 1.0, 10.0])
def test_matrix_is_gpytorchs(name, lengthscale):
    x = np.random.default_rng(0).random((40, 3))
    nu = KERNELS[name].smoothness
    reference = (gpytorch.kernels.MaternKernel(nu=nu) if nu else gpytorch.kernels.RBFKernel()).double()
    reference.lengthscale = torch.tensor(lengthscale if nu else lengthscale / math.sqrt(2), dtype=torch.float64)
    with torch.no_grad():
        expected = reference(torch.tensor(x)).to_dense().numpy()
    actual = KERNELS[name].value(cdist(x, x, "sqeuclidean") / lengthscale**2)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=100)
@given(values=st.lists(st.floats(1e-8, 1e5), min_size=1, max_size=6))
def test_derivative_is_autograds(name, values):
    u = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    expected = torch_kernel(name, u)
    (slope,) = torch.autograd.grad(expected.sum(), u)
    k, derivative = KERNELS[name].derivative(np.array(values))
    np.testing.assert_allclose(k, expected.detach().numpy(), rtol=1e-12, atol=1e-15)
    # Near u = 0 autograd divides a difference of order √u by √u, and loses digits that the closed form keeps.
    np.testing.assert_allclose(derivative, slope.numpy(), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=100)
@given(values=st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=6))
def test_curvature_is_autograds(name, values):
    u = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(torch_kernel(name, u).sum(), u, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), u)
    k, derivative, curvature = KERNELS[name].curvature(np.array(values))
    np.testing.assert_array_equal((k, derivative), KERNELS[name].derivative(np.array(values)))
    np.testing.assert_allclose(curvature, bend.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("name", "slope"), [("matern52", -5 / 6), ("matern32", -1.5), ("rbf", -1.0)])
def test_a_duplicate_has_a_finite_derivative(name, slope):
    k, derivative = KERNELS[name].derivative(np.zeros((2, 3)))
    np.testing.assert_array_equal(k, np.ones((2, 3)))
    np.testing.assert_allclose(derivative, np.full((2, 3), slope), rtol=1e-15)
    np.testing.assert_array_equal(0.0 * KERNELS[name].curvature(np.zeros(4))[2], np.zeros(4))  # it is finite


@pytest.mark.parametrize("name", NAMES)
def test_value_and_derivative_agree_and_leave_their_argument_alone(name):
    u = np.linspace(0.0, 9.0, 50).reshape(5, 10)
    before = u.copy()
    value, (k, derivative) = KERNELS[name].value(u), KERNELS[name].derivative(u)
    np.testing.assert_array_equal(u, before)
    np.testing.assert_allclose(k, value, rtol=1e-15)
    assert value.shape == derivative.shape == u.shape


@pytest.mark.parametrize("name", NAMES)
def test_falls_from_one_to_zero(name):
    k, derivative = KERNELS[name].derivative(np.geomspace(1e-12, 1e4, 300))
    assert (np.diff(k) <= 0).all()
    assert (derivative <= 0).all()
    assert k[0] == pytest.approx(1.0)
    assert k[-1] < 1e-60
