"""Isotropic kernels of unit output scale, as functions of u = r²/θ², the scaled squared distance.

In u the kernels have a derivative without division by r, so duplicates need no special case:
∇ₓ k = 2 k'(u) (x − x')/θ², ∇²ₓ k = 2 k'(u) I/θ² + 4 k''(u) (x − x')(x − x')ᵀ/θ⁴ and ∂k/∂ln θ = −2u k'(u).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lbbench.domain import Array, Pool
from lbbench.errors import NumericalError


@dataclass(frozen=True)
class Kernel:
    """A kernel k(u).

    `value(u)` is k, `derivative(u)` the pair of k and dk/du, `curvature(u)` the triple with d²k/du², elementwise on an
    array of any shape.
    `smoothness` is ν of a Matérn kernel, None for the RBF and for the empirical one, of which nothing like it is known.
    """

    name: str
    smoothness: float | None
    value: Callable[[Array], Array]
    derivative: Callable[[Array], tuple[Array, Array]]
    curvature: Callable[[Array], tuple[Array, Array, Array]]


def _matern52(u: Array) -> Array:
    a = _root(5.0 * u)
    value = a * a  # in place from here on: to allocate large arrays takes as long as to fill them
    value /= 3.0
    value += 1.0 + a
    value *= _decay(a)
    return value


def _root(square: Array) -> Array:
    """The square root, in place."""
    return np.sqrt(square, out=square)


def _decay(a: Array) -> Array:
    """exp(−a), in place."""
    np.negative(a, out=a)
    return np.exp(a, out=a)


def _matern52_derivative(u: Array) -> tuple[Array, Array]:
    a = np.sqrt(5.0 * u)
    decay = np.exp(-a)
    return (1.0 + a + a * a / 3.0) * decay, (-5.0 / 6.0) * (1.0 + a) * decay


def _matern52_curvature(u: Array) -> tuple[Array, Array, Array]:
    a = np.sqrt(5.0 * u)
    decay = np.exp(-a)
    linear = 1.0 + a
    return (linear + a * a / 3.0) * decay, (-5.0 / 6.0) * linear * decay, (25.0 / 12.0) * decay


def _matern32(u: Array) -> Array:
    a = _root(3.0 * u)
    value = 1.0 + a
    value *= _decay(a)
    return value


def _matern32_derivative(u: Array) -> tuple[Array, Array]:
    a = np.sqrt(3.0 * u)
    decay = np.exp(-a)
    return (1.0 + a) * decay, -1.5 * decay


def _matern32_curvature(u: Array) -> tuple[Array, Array, Array]:
    a = np.sqrt(3.0 * u)
    decay = np.exp(-a)
    # d²k/du² grows as 1/√u, but only u times it is ever used: at a duplicate any finite number will do.
    return (1.0 + a) * decay, -1.5 * decay, 2.25 * decay / np.maximum(a, 1e-100)


def _rbf(u: Array) -> Array:
    return np.exp(-u)


def _rbf_derivative(u: Array) -> tuple[Array, Array]:
    value = np.exp(-u)
    return value, -value


def _rbf_curvature(u: Array) -> tuple[Array, Array, Array]:
    value = np.exp(-u)
    return value, -value, value


def _of_distance(u: Array) -> Any:
    raise NumericalError("kernel=empirical is the covariance of a pool, and has no length scale to choose")


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("matern52", 2.5, _matern52, _matern52_derivative, _matern52_curvature),
        Kernel("matern32", 1.5, _matern32, _matern32_derivative, _matern32_curvature),
        Kernel("rbf", None, _rbf, _rbf_derivative, _rbf_curvature),  # exp(−r²/θ²): GPyTorch's ℓ is θ/√2
    )
}


EMPIRICAL = Kernel("empirical", None, _of_distance, _of_distance, _of_distance)  # what `Pool.covariance` says


def named(name: str) -> Kernel:
    """The kernel of that name."""
    return EMPIRICAL if name == EMPIRICAL.name else KERNELS[name]


def covariance(pool: Pool, kernel: Kernel, lengthscale: float, at: Any = slice(None)) -> Array:
    """The kernel matrix of a pool, `(m, m)`, or its rows `at` some candidates."""
    if kernel is not EMPIRICAL:
        return kernel.value(pool.sqdist[at] / lengthscale**2)
    if pool.covariance is None:
        raise NumericalError("kernel=empirical needs a pool that has a covariance")
    rows: Array = pool.covariance[at]
    return rows
