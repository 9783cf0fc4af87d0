"""Cholesky with a bounded jitter ladder, and products with triangular matrices."""

import numpy as np
from scipy.linalg import blas, cholesky, solve_triangular

from lbbench.domain import Array
from lbbench.errors import NumericalError

JITTERS = (0.0, 1e-10, 1e-8, 1e-6)


def safe_cholesky(matrix: Array) -> tuple[Array, float]:
    """The lower Cholesky factor of a symmetric `(n, n)` matrix and the jitter that its diagonal needed.

    Raises `NumericalError` when the largest jitter does not help or an entry is not finite.
    """
    if not np.isfinite(matrix).all():
        raise NumericalError("a covariance matrix has entries that are not finite")
    for jitter in JITTERS:
        try:
            return cholesky(matrix + jitter * np.eye(len(matrix)), lower=True, check_finite=False), jitter
        except np.linalg.LinAlgError:
            continue
    raise NumericalError(
        f"a covariance matrix of size {len(matrix)} is not positive definite with jitter {JITTERS[-1]}"
    )


def solve_lower(factor: Array, right: Array) -> Array:
    """factor⁻¹ right for a lower triangular `(n, n)` factor."""
    return np.asarray(solve_triangular(factor, right, lower=True, check_finite=False))


def multiply_lower(factor: Array, rows: Array, transposed: bool = False) -> Array:
    """Lower triangular `(n, n)` factor (or its transpose) times each row of `(k, n)` rows, in half a product's time."""
    if rows.size == 0:  # BLAS refuses it
        return np.zeros(rows.shape)
    return np.asarray(blas.dtrmm(1.0, factor, rows.T, lower=1, trans_a=int(transposed)).T)
