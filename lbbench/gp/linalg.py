"""Cholesky with a bounded jitter ladder."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

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
    raise NumericalError(f"a covariance matrix of size {len(matrix)} is not positive definite with jitter {JITTERS[-1]}")


def solve_lower(factor: Array, right: Array) -> Array:
    """factor⁻¹ right for a lower triangular `(n, n)` factor."""
    return np.asarray(solve_triangular(factor, right, lower=True, check_finite=False))
