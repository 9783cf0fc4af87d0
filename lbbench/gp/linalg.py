"""Cholesky with a bounded jitter ladder, and products with triangular matrices."""

import math

import numpy as np
from scipy.linalg import blas, lapack

from lbbench.domain import Array
from lbbench.errors import NumericalError

JITTERS = (0.0, 1e-10, 1e-8, 1e-6)


def safe_cholesky(matrix: Array, lengthscale: float = math.nan) -> tuple[Array, float]:
    """The lower Cholesky factor of a symmetric `(n, n)` matrix and the jitter that its diagonal needed.

    Raises `NumericalError` when the largest jitter does not help or an entry is not finite; the `lengthscale` is for
    its message.
    """
    for jitter in JITTERS:
        factor = np.array(matrix, order="F")
        factor.flat[:: len(matrix) + 1] += jitter
        factor, failed = lapack.dpotrf(factor, lower=1, clean=1, overwrite_a=1)
        if not failed and math.isfinite(float(factor.sum())):
            return factor, jitter
    if not np.isfinite(matrix).all():
        raise NumericalError("a covariance matrix has entries that are not finite")
    raise not_positive_definite(len(matrix), lengthscale)


def not_positive_definite(size: int, lengthscale: float) -> NumericalError:
    """The error of a matrix that the largest jitter does not help; the length scale may be nan if there is none."""
    where = "" if math.isnan(lengthscale) else f" at length scale {lengthscale:.4g}"
    return NumericalError(
        f"a covariance matrix of size {size}{where} is not positive definite with jitter {JITTERS[-1]:g}"
    )


def invert_lower(factor: Array) -> Array:
    """factor⁻¹ for a lower triangular `(n, n)` factor."""
    return np.asarray(lapack.dtrtri(factor, lower=1)[0])


def solve_lower(factor: Array, right: Array) -> Array:
    """factor⁻¹ right for a lower triangular `(n, n)` factor and `(n,)` or `(n, k)` numbers."""
    return np.reshape(lapack.dtrtrs(factor, right, lower=1)[0], right.shape)


def multiply_lower(factor: Array, rows: Array, transposed: bool = False, overwrite: bool = False) -> Array:
    """Lower triangular `(n, n)` factor (or its transpose) times each row of `(k, n)` rows, in half a product's time.

    With `overwrite` the result may take the place of the rows.
    """
    return np.asarray(blas.dtrmm(1.0, factor, rows.T, lower=1, trans_a=int(transposed), overwrite_b=int(overwrite)).T)
