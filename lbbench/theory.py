"""The quantities that the regret bounds are made of.

Notation, used everywhere in lbbench (paper: Ziomek, Adachi, Osborne, NeurIPS 2024):

====================  ========  ======================================================================
name                  symbol    meaning
====================  ========  ======================================================================
lengthscale           θ         length scale, in unit-cube units; θ₀ is its initial upper bound
norm                  N, B      bound on the RKHS norm of the standardised objective (N: under θ₀)
beta                  β_t       width of the confidence band, in posterior standard deviations
sigma                 σ         posterior standard deviation of the latent function
noise_std             σ_N       standard deviation of the observation noise
regulariser           λ         added to the kernel matrix's diagonal
information_gain      I         ½ ln det(I + K/λ), in nats
gamma                 γ         bound on the information gain
growth                g, b      growth functions, which pace new length scales and new norms
delta                 δ         probability with which a bound may fail
dim, effective_dim    d, d̂      number of inputs; d̂ = d for the RBF kernel, d + 2ν for Matérn-ν
====================  ========  ======================================================================
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lbbench.domain import Array
from lbbench.gp.kernels import Kernel
from lbbench.gp.linalg import safe_cholesky


def effective_dim(dim: int, kernel: Kernel, spacing: str = "d_plus_2nu") -> float:
    """d̂ of Definition 3.1: d + 2ν for a Matérn-ν kernel, d for the RBF and, by `spacing="d"`, for both."""
    if spacing == "d" or kernel.smoothness is None:
        return float(dim)
    return dim + 2.0 * kernel.smoothness


def growth_floor(effective_dim: float) -> float:
    """t₀ = e^{5/d̂}, the growth at which five candidates beside θ₀ are allowed (paper, §5)."""
    return math.exp(5.0 / effective_dim)


def candidate_count(growth: float, per_unit: float) -> int:
    """How many candidates beside the first a growth of g allows: all i ≥ 1 with i ≤ per_unit · ln g.

    `per_unit` is d̂ for length scales (q(i) = θ₀ e^{−i/d̂}) and 1 for norms (v(j) = B₀ eʲ). A growth that meets the
    bound up to rounding allows the candidate.
    """
    return max(0, math.floor(per_unit * math.log(growth) + 1e-9)) if growth > 0 else 0


def shrinking_optimality(effective_dim: float, growth: float, norm_growth: float | None = None) -> float:
    """g(T)^d̂, times b(T) where the norm is unknown too: the order of R_T / R^{θ*}(T) for A-GP-UCB (paper, Table 1)."""
    return float(growth**effective_dim * (1.0 if norm_growth is None else norm_growth))


def balancing_optimality(effective_dim: float, growth: float, norm_growth: float | None = None) -> float:
    """d̂ ln g(T), times ln b(T) where the norm is unknown too: the same for LB and LNB (paper, Table 1)."""
    return effective_dim * math.log(growth) * (1.0 if norm_growth is None else math.log(norm_growth))


def inflated_norm(norm: float, lengthscale: float, lengthscale0: float, dim: int) -> float:
    """B(θ, N) = (θ₀/θ)^{d/2} N, the norm that a function of norm N under θ₀ can have under θ (paper, §2)."""
    try:
        return float((lengthscale0 / lengthscale) ** (dim / 2) * norm)
    except OverflowError:
        return math.inf


def confidence_width(norm: float, noise_std: float, regulariser: float, information_gain: float, delta: float) -> float:
    """β_t = B + (σ_N/√λ) √(2(I_{t−1} + ln(2/δ))), for noise in the units of the standardised objective.

    Theorem 2.1 prints the band for λ = σ_N² and with "+ 1"; this is `tight_width`, with half of δ for the band.
    """
    return tight_width(norm, noise_std, regulariser, information_gain, delta / 2.0)


def tight_width(norm: float, noise_std: float, regulariser: float, information_gain: float, delta: float) -> float:
    """β_t = B + (σ_N/√λ) √(ln det(I + K/λ) + 2 ln(1/δ)), on the realised information gain of the data, for any λ > 0.

    Source: Abbasi-Yadkori 2012; Whitehouse, Wu and Ramdas 2023.
    """
    return norm + noise_std * math.sqrt(2.0 * (information_gain + math.log(1.0 / delta)) / regulariser)


def igpucb_width(norm: float, noise_std: float, gamma: float, delta: float) -> float:
    """β_t = B + R √(2(γ_{t−1} + 1 + ln(1/δ))), R = σ_N, of IGP-UCB (Chowdhury and Gopalan 2017, Theorem 3)."""
    return norm + noise_std * math.sqrt(2.0 * (gamma + 1.0 + math.log(1.0 / delta)))


def gpts_width(norm: float, noise_std: float, gamma: float, delta: float) -> float:
    """v_t = B + R √(2(γ_{t−1} + 1 + ln(2/δ))), R = σ_N, of GP-TS (Chowdhury and Gopalan 2017, Theorem 4)."""
    return igpucb_width(norm, noise_std, gamma, delta / 2.0)


def gpucb_width(norm: float, gamma: float, t: int, delta: float) -> float:
    """β̃_t = √(2B² + 300 γ_{t−1} ln³(t/δ)) of GP-UCB (Srinivas, Krause, Kakade and Seeger 2010, Theorem 3)."""
    return math.sqrt(2.0 * norm**2 + 300.0 * gamma * math.log(t / delta) ** 3)


def noise_width(noise_std: float, candidates: int, t: int, delta: float) -> float:
    """ξ_t = 2σ_N² ln(|A| π² t² / (3δ)) (Lemma A.1, with δ/2), for |A| candidates introduced so far."""
    return 2.0 * noise_std**2 * math.log(candidates * math.pi**2 * t**2 / (3.0 * delta))


def analytic_information_gain(n: int, lengthscale: float, dim: int, smoothness: float | None) -> float:
    """Bound on the maximum information gain after n points, up to a constant factor that does not depend on θ.

    RBF (`smoothness` None): θ^{−d} (ln n)^{d+1} (Proposition 2.3); Matérn-ν: θ^{−d} n^{d/(2ν+d)} (ln n)^{2ν/(2ν+d)}
    (Vakili et al. 2021). Of no points it is 0. A kernel without a length scale, the empirical one, has no such bound.
    """
    if n == 0:
        return 0.0
    try:
        volume = float(lengthscale**-dim)
    except OverflowError:
        volume = math.inf
    if smoothness is None:
        return volume * math.log(n) ** (dim + 1)
    share = dim / (2.0 * smoothness + dim)
    return float(volume * n**share * math.log(n) ** (1.0 - share))


@dataclass(frozen=True)
class RegretBound:
    """Suspected regret R(n) = √(nγ) (√γ + B) after n choices of a candidate (Theorem 2.2), up to a constant.

    `smoothness` picks the γ of `analytic_information_gain`; the published experiments use the RBF's for all kernels.
    R(1) = 0, so that a new candidate is tried at once.
    """

    dim: int
    smoothness: float | None = None

    def __call__(self, n: int, lengthscale: float, norm: float) -> float:
        if n == 1:
            return 0.0
        gamma = analytic_information_gain(n, lengthscale, self.dim, self.smoothness)
        return math.sqrt(n * gamma) * (math.sqrt(gamma) + norm)


def information_gain(covariance: Array, regulariser: float) -> float:
    """I = ½ ln det(I + K/λ) of the points whose kernel matrix is `covariance`, `(n, n)`."""
    factor, _ = safe_cholesky(np.eye(len(covariance)) + covariance / regulariser)
    return float(np.log(np.diag(factor)).sum())


GREEDY_SHARE = 1.0 - math.exp(-1.0)  # of the largest gain, what a greedy choice has at least


def greedy_information_gain(covariance: Array, regulariser: float, n: int) -> tuple[float, list[int]]:
    """Information gain of n points (repeats allowed) picked one by one where the posterior variance is largest.

    `covariance` is the prior `(m, m)` over the candidates. Returns the gain and the indices. The gain is a submodular
    function of the points, so it is at least `GREEDY_SHARE` of the largest that n points can have (Nemhauser et al.
    1978; Srinivas et al. 2010, §4).
    """
    picked = list(itertools.islice(greedy_choices(covariance, regulariser), n))
    return (picked[-1][0] if picked else 0.0), [i for _, i in picked]


def greedy_choices(covariance: Array, regulariser: float) -> Iterator[tuple[float, int]]:
    """The choices of `greedy_information_gain`, without end: the gain so far, and the index."""
    remaining = np.array(covariance, dtype=float)
    gain = 0.0
    while True:
        i = int(remaining.diagonal().argmax())
        variance = float(remaining[i, i])
        gain += 0.5 * math.log1p(variance / regulariser)
        remaining -= np.outer(remaining[i], remaining[i] / (variance + regulariser))
        yield gain, i


def rkhs_norm(f: Array, covariance: Array) -> float:
    """‖f‖_k = √(fᵀK⁻¹f) of a function with values `(m,)` on points whose kernel matrix is `covariance`, `(m, m)`.

    It is the least norm of any function with these values. Eigenvalues of K that cannot be told from 0 are left out.
    """
    eigenvalues, axes = np.linalg.eigh(covariance)
    kept = eigenvalues > np.finfo(float).eps * len(f) * eigenvalues[-1]
    return float(np.sqrt(((axes.T @ f)[kept] ** 2 / eigenvalues[kept]).sum()))
