"""The posterior of the length scale under the prior Γ(shape 3, rate 6): integrated exactly, or sampled by NUTS.

Everything is a function of s = ln θ, whose density carries the Jacobian θ.
"""

# mypy: allow-untyped-calls
# (Pyro's are untyped.)

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.interpolate import PPoly
from scipy.linalg import eigh_tridiagonal

from lbbench.domain import Array
from lbbench.errors import NumericalError
from lbbench.gp.interpolation import interpolate
from lbbench.gp.kernels import Kernel
from lbbench.gp.likelihood import Likelihood

SHAPE, RATE = 3.0, 6.0  # of the prior
RANGE = (math.log(1e-3), math.log(30.0))  # the prior leaves less than 1e-7 outside
NEGLIGIBLE = 25.0  # nats below the maximum of the density, which leaves a share of 1e-11


@dataclass(frozen=True, eq=False)
class Quadrature:
    """The posterior of θ by integration.

    Averages over the posterior are sums over the few `lengthscales` with their `weights`, both `(k,)`, in increasing
    order; `mean` is the posterior mean of θ.
    """

    lengthscales: Array
    weights: Array
    mean: float
    grid: Array
    cumulative: Array

    def quantile(self, p: float) -> float:
        """The θ that the posterior is below with probability p."""
        return math.exp(float(np.interp(p, self.cumulative, self.grid)))


@dataclass(frozen=True, eq=False)
class Chain:
    """The posterior of θ by sampling: `lengthscales` `(m,)` in the order in which they were drawn.

    `rhat` (split R̂) and `ess` (effective sample size) are those of ln θ.
    """

    lengthscales: Array
    divergences: int
    rhat: float
    ess: float

    @property
    def weights(self) -> Array:
        """1/m for each sample."""
        return np.full(len(self.lengthscales), 1.0 / len(self.lengthscales))

    @property
    def mean(self) -> float:
        """The samples' mean of θ."""
        return float(self.lengthscales.mean())


def log_density(likelihood: Likelihood, s: float) -> float:
    """The log density of s = ln θ, up to a constant. Raises `NumericalError` if it is not finite."""
    return _finite(likelihood(s) + SHAPE * s - RATE * math.exp(s))


def log_density_with_slope(likelihood: Likelihood, s: float) -> tuple[float, float]:
    """The same, and its derivative."""
    value, slope = likelihood.with_slope(s)
    return _finite(value + SHAPE * s - RATE * math.exp(s)), _finite(slope + SHAPE - RATE * math.exp(s))


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise NumericalError("the posterior of the length scale is not finite")
    return number


def quadrature(likelihood: Likelihood, nodes: int | str = "auto") -> Quadrature:
    """The posterior, its mean exact to 1e-4, from some 60 evaluations of the likelihood.

    A spline through the log density gives the posterior on a fine grid. The `nodes` points of Gauss's rule keep its
    averages of √θ to every power up to 2·nodes − 1; "auto" takes as many as what a GP predicts needs for 1e-4, three
    for a narrow posterior and 15 for a wide one. Raises `NumericalError` if the density is not finite.
    """
    spline = _spline(likelihood, NEGLIGIBLE, 3e-4)
    grid = np.linspace(spline.x[0], spline.x[-1], 2001)
    heights = spline(grid)
    inside = np.flatnonzero(heights >= heights.max() - NEGLIGIBLE)
    grid = np.linspace(grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, len(grid) - 1)], 4001)
    heights = spline(grid)
    density = np.exp(heights - heights.max())
    density /= density.sum()
    cumulative = np.cumsum(density) - 0.5 * (density + density[0])  # by the trapezoid rule
    cumulative /= cumulative[-1]
    if isinstance(nodes, str):
        nodes = nodes_for(0.5 * float(np.ptp(np.interp([1e-4, 1.0 - 1e-4], cumulative, grid))), likelihood.kernel)
    points, weights = gauss(np.exp(0.5 * grid), density, nodes)  # averages converge faster in √θ than in θ or ln θ
    return Quadrature(np.square(points), weights, float(density @ np.exp(grid)), grid, cumulative)


def nodes_for(halfwidth: float, kernel: Kernel, tolerance: float = 1e-3) -> int:
    """How many nodes Gauss's rule needs for a GP's predictions as functions of ln θ, on an interval of that half-width.

    An eigenvalue of K falls like θ^{−2ν} at most, so predictions, which depend on it by way of λ, have no singularity
    within about π/2ν of the real axis. The error shrinks with the ellipse about the interval that fits in that strip
    (Trefethen 2008), in practice to a tenth of the tolerance.
    """
    strip = 0.3 if kernel.smoothness is None else 0.6  # as seen: π/2ν for ν = 5/2, and no further for ν = 3/2
    return max(3, math.ceil(-math.log(tolerance) / (2.0 * math.asinh(strip / halfwidth))))


def gauss(points: Array, weights: Array, nodes: int) -> tuple[Array, Array]:
    """Gauss's rule of so many nodes for the measure of many `weights` `(m,)`, summing to 1, at `points` `(m,)`.

    The Lanczos process gives the recurrence of the measure's orthogonal polynomials, the eigenvalues of its matrix
    the nodes (Golub and Welsch 1969). A measure that is all but on fewer points has as many nodes.
    """
    diagonal, beside = np.empty(nodes), np.empty(nodes)
    basis = np.empty((nodes, len(points)))
    vector = np.sqrt(weights)
    for j in range(nodes):
        basis[j] = vector
        vector = points * vector
        diagonal[j] = basis[j] @ vector
        for _ in range(2):  # once is not enough to keep them orthogonal
            vector -= basis[: j + 1].T @ (basis[: j + 1] @ vector)
        beside[j] = np.linalg.norm(vector)
        if beside[j] <= 1e-14 * diagonal[0]:
            nodes = j + 1
            break
        vector /= beside[j]
    values, vectors = eigh_tridiagonal(diagonal[:nodes], beside[: nodes - 1])
    return values, vectors[0] ** 2


def nuts(likelihood: Likelihood, rng: Generator, warmup: int = 100, samples: int = 100) -> Chain:
    """A chain of Pyro's NUTS (Hoffman and Gelman 2014): `warmup` steps of adaptation, then at least 4 `samples`.

    It starts at the mode, with the step size that the curvature there suggests, so it depends on the data and on `rng`
    alone. Raises `NumericalError` if the density is not finite or the chain fails: an error within, nothing but
    divergences, no movement.
    """
    import torch
    from pyro.infer import MCMC, NUTS

    class Potential(torch.autograd.Function):
        """Minus the log density, whose slope is computed along with it."""

        @staticmethod
        def forward(ctx: Any, s: torch.Tensor) -> torch.Tensor:
            far = 300.0  # beyond lies no probability, but overflow
            value, ctx.slope = log_density_with_slope(likelihood, min(max(float(s), -far), far))
            return torch.full_like(s, -value)

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
            return gradients[0].mul(-ctx.slope)

    spline = _spline(likelihood, 0.1, 0.02)
    grid = np.linspace(spline.x[0], spline.x[-1], 2001)
    mode = float(grid[np.argmax(spline(grid))])
    kernel = NUTS(
        potential_fn=lambda parameters: Potential.apply(parameters["s"]),
        step_size=1.0 / math.sqrt(max(-float(spline(mode, 2)), 1.0)),
        adapt_mass_matrix=False,  # in one dimension that is a step size by another name
    )
    start = {"s": torch.tensor(mode, dtype=torch.float64)}
    chain = MCMC(kernel, num_samples=samples, warmup_steps=warmup, initial_params=start, disable_progbar=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**63)))
        try:
            chain.run()
        except Exception as error:
            raise NumericalError(f"NUTS failed: {error}") from error
    drawn = chain.get_samples()["s"].numpy()
    diagnostics = chain.diagnostics()
    divergences = len(diagnostics["divergences"]["chain 0"])
    if divergences == samples or not np.ptp(drawn) > 0.0:
        raise NumericalError(f"NUTS failed: {divergences} of {samples} samples diverged, ln θ = {drawn[0]:.3g} …")
    return Chain(np.exp(drawn), divergences, float(diagnostics["s"]["r_hat"]), float(diagnostics["s"]["n_eff"]))


def _spline(likelihood: Likelihood, slack: float, tolerance: float) -> PPoly:
    """The log density as `interpolate` finds it, on a range that reaches further down if the likelihood insists."""
    density = cache(lambda s: log_density(likelihood, s))
    grid = np.linspace(*RANGE, 17)
    while True:
        spline = interpolate(density, grid, slack, tolerance)
        depths = spline(grid) - spline(spline.x).max()
        if depths[0] < -13.0:  # the density falls as θ³ there, so this leaves a share of 1e-6
            return spline
        grid = np.concatenate([grid[:6] - 6 * (grid[1] - grid[0]), grid])
