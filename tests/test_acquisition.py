"""The maximiser of acquisition functions: as good as BoTorch's, exact in a pool, deterministic, at home at corners."""

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lbbench.acquisition import UCB, Average
from lbbench.domain import Box, Pool, sobol
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.posterior import posterior
from lbbench.maximiser import Maximiser, climb, distinct_best

REGULARISER = 1e-4
MAXIMISE = Maximiser()


def box(dim):
    return Box(np.zeros(dim), np.ones(dim))


def observed(x, y):
    data = Data(box(x.shape[1]))
    data.append(x, y)
    return data


def ucb(data, lengthscale, beta, kernel="matern52"):
    return UCB(posterior(data, KERNELS[kernel], lengthscale, REGULARISER), beta)


def incumbents(data):
    return data.points[np.argsort(-data.y, kind="stable")[:5]]


def maximum(acquisition, data, seed=0):
    """Where the maximiser ends, `(1, d)`."""
    return MAXIMISE(acquisition, data.domain, incumbents(data), np.random.default_rng(seed))


def random_model(rng):
    """Between 5 and 150 noisy observations of a wavy function in d = 1, 2 or 5, some of them in clusters."""
    dim, n = int(rng.choice([1, 2, 5])), int(rng.integers(5, 151))
    x = rng.random((n, dim))
    if rng.random() < 0.5:
        clustered = rng.random(n) < 0.6
        centres = rng.random((3, dim))[rng.integers(3, size=n)]
        x[clustered] = np.clip(centres + 0.05 * rng.standard_normal((n, dim)), 0.0, 1.0)[clustered]
    y = np.sin(rng.uniform(2, 12, size=dim) * x + rng.uniform(0, 6, size=dim)).sum(1) + 0.1 * rng.standard_normal(n)
    return ucb(observed(x, y), math.exp(rng.uniform(math.log(0.05), 0.0)), rng.uniform(0.5, 3.0))


def botorch_maximum(acquisition, seed):
    """Where BoTorch ends, `(1, d)`, on the same model and with as many starts and raw samples."""
    from botorch.acquisition import UpperConfidenceBound
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.kernels import MaternKernel
    from gpytorch.means import ZeroMean

    data = acquisition.posterior.data
    kernel = MaternKernel(nu=2.5).double()
    kernel.lengthscale = torch.tensor(acquisition.posterior.lengthscale, dtype=torch.float64)
    x, z = torch.tensor(data.x), torch.tensor(data.z)[:, None]
    noise = torch.full_like(z, REGULARISER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SingleTaskGP(x, z, noise, covar_module=kernel, mean_module=ZeroMean(), outcome_transform=None)
        model.eval().requires_grad_(False)
        target = UpperConfidenceBound(model, beta=acquisition.beta**2)
        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, x.shape[1])
        torch.manual_seed(seed)
        options = {"seed": seed}
        found, value = optimize_acqf(
            target, bounds, 1, num_restarts=MAXIMISE.restarts, raw_samples=MAXIMISE.raw_samples, options=options
        )
    found = np.clip(found.numpy(), 0.0, 1.0)
    np.testing.assert_allclose(acquisition(found), [value.item()], rtol=1e-6, atol=1e-6)  # it is the same model
    return found


def against_botorch(seed, models=50):
    """UCB at our maximum minus UCB at BoTorch's, for each of some random models, `(models,)`."""
    rng = np.random.default_rng(seed)
    differences = []
    for trial in range(models):
        acquisition = random_model(rng)
        ours = acquisition(maximum(acquisition, acquisition.posterior.data, trial))
        differences.append(ours[0] - acquisition(botorch_maximum(acquisition, trial))[0])
    return np.array(differences)


@pytest.mark.parametrize("seed", [1, 5])
def test_as_good_as_botorch(seed):
    differences = against_botorch(seed)
    assert differences.mean() >= -1e-10, "lower than BoTorch by more than rounding"
    assert (differences < -1e-6).sum() <= 5


@pytest.mark.parametrize(("dim", "kernel"), [(1, "matern32"), (2, "matern32"), (1, "rbf"), (2, "rbf")])
def test_finds_what_a_dense_grid_finds(dim, kernel):
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 4001 if dim == 1 else 101)] * dim), -1).reshape(-1, dim)
    rng = np.random.default_rng(7)
    for trial in range(8):
        x = rng.random((int(rng.integers(1, 60)), dim))
        data = observed(x, np.sin(9 * x).sum(1) + 0.1 * rng.standard_normal(len(x)))
        acquisition = ucb(data, math.exp(rng.uniform(math.log(0.05), 0.0)), 2.0, kernel)
        assert acquisition(maximum(acquisition, data, trial))[0] >= acquisition(grid).max() - 1e-9


def test_the_maximum_is_sharp():
    """At an inner maximum the gradient vanishes; at a bound it points outwards."""
    rng = np.random.default_rng(3)
    for trial in range(10):
        acquisition = random_model(rng)
        point = maximum(acquisition, acquisition.posterior.data, trial)
        _, gradient, _ = acquisition.expand(point)
        assert np.abs(np.clip(point + gradient, 0.0, 1.0) - point).max() < 1e-6


def test_finds_a_spike_between_raw_points():
    """In five dimensions the raw points are 0.3 apart: a peak of θ = 0.02 is only seen from the best observation."""
    rng = np.random.default_rng(0)
    x = rng.random((40, 5))
    y = np.zeros(40)
    y[17] = 10.0
    data = observed(x, y)
    acquisition = ucb(data, 0.02, 0.5)
    point = maximum(acquisition, data)
    assert np.abs(point - x[17]).max() < 0.02
    assert acquisition(point)[0] > acquisition(x[[17]])[0] + 0.01, "the dip of σ at the observation is left"


@pytest.mark.parametrize("corner", [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
def test_finds_a_corner(corner):
    x = np.random.default_rng(0).random((20, 2))
    data = observed(x, -np.abs(x - corner).sum(1))
    acquisition = ucb(data, 2.0, 0.1)
    np.testing.assert_array_equal(maximum(acquisition, data), [corner])


def test_finds_a_maximum_on_an_edge():
    x = np.random.default_rng(0).random((40, 2))
    data = observed(x, x[:, 0] - 4 * (x[:, 1] - 0.4) ** 2)
    acquisition = ucb(data, 1.0, 0.1)
    point = maximum(acquisition, data)[0]
    assert point[0] == 1.0
    assert point[1] == pytest.approx(0.4, abs=0.02)
    assert acquisition.expand(point[None])[1][0, 1] == pytest.approx(0.0, abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    dim=st.sampled_from([1, 2, 5, 10]),
    n=st.integers(1, 40),
    log_lengthscale=st.floats(math.log(0.005), math.log(10.0)),
    beta=st.floats(0.0, 5.0),
    kind=st.sampled_from(["wavy", "constant", "duplicates"]),
    kernel=st.sampled_from(sorted(KERNELS)),
)
def test_stays_in_the_cube_beats_the_raw_points_and_repeats_itself(seed, dim, n, log_lengthscale, beta, kind, kernel):
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.random((1, dim)), n, axis=0) if kind == "duplicates" else rng.random((n, dim))
    y = np.full(n, 3.0) if kind == "constant" else np.sin(5 * x).sum(1) + 0.1 * rng.standard_normal(n)
    data = observed(x, y)
    acquisition = ucb(data, math.exp(log_lengthscale), beta, kernel)
    point = maximum(acquisition, data, seed)
    assert point.shape == (1, dim)
    assert ((point >= 0.0) & (point <= 1.0)).all()
    raw = np.concatenate([sobol(512, dim, np.random.default_rng(seed)), incumbents(data)])
    assert acquisition(point)[0] >= acquisition(raw).max() - 1e-9
    np.testing.assert_array_equal(point, maximum(acquisition, data, seed))


def test_one_observation_sends_it_far_away():
    data = observed(np.array([[0.2]]), np.array([4.0]))
    point = maximum(ucb(data, 0.5, 1.0), data)
    np.testing.assert_array_equal(point, [[1.0]])


def test_another_generator_looks_elsewhere():
    data = observed(np.array([[0.5, 0.5]]), np.array([1.0]))
    acquisition = ucb(data, 0.005, 1.0)  # flat nearly everywhere: the answer is where one happens to look
    assert not np.array_equal(maximum(acquisition, data, 0), maximum(acquisition, data, 1))


def test_average_is_the_weighted_mean_with_its_derivatives():
    rng = np.random.default_rng(0)
    x = rng.random((30, 3))
    data = observed(x, np.sin(5 * x).sum(1))
    parts = [ucb(data, lengthscale, 1.5) for lengthscale in (0.1, 0.3, 0.9)]
    weights = np.array([0.5, 0.3, 0.2])
    average = Average(parts, weights)
    points = rng.random((6, 3))
    np.testing.assert_allclose(average(points), sum(w * p(points) for w, p in zip(weights, parts, strict=True)))
    values, gradients, hessians = average.expand(points)
    np.testing.assert_allclose(values, average(points), rtol=0, atol=1e-10)
    step = 1e-5
    for axis, unit in enumerate(np.eye(3)):
        ahead, behind = points + step * unit, points - step * unit
        slope = (average(ahead) - average(behind)) / (2 * step)
        np.testing.assert_allclose(gradients[:, axis], slope, rtol=1e-5, atol=1e-6)
        bend = (average.expand(ahead)[1] - average.expand(behind)[1]) / (2 * step)
        np.testing.assert_allclose(hessians[:, axis], bend, rtol=1e-4, atol=1e-4)


def test_average_is_maximised():
    rng = np.random.default_rng(1)
    x = rng.random((25, 1))
    data = observed(x, np.sin(9 * x).sum(1))
    average = Average([ucb(data, lengthscale, 1.0) for lengthscale in np.geomspace(0.05, 1.0, 8)], np.full(8, 1 / 8))
    grid = np.linspace(0, 1, 4001)[:, None]
    assert average(maximum(average, data))[0] >= average(grid).max() - 1e-10


class Table:
    """An acquisition function over a pool, given by its values."""

    def __init__(self, values):
        self.values = np.array(values)

    def __call__(self, points):
        return self.values[points]


@settings(deadline=None, max_examples=50)
@given(values=st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_pool_maximum_is_the_first_of_the_largest(values):
    pool = Pool(np.arange(len(values), dtype=float)[:, None])
    point = MAXIMISE(Table(values), pool, np.array([0]), np.random.default_rng(0))
    assert point.shape == (1,)
    assert point[0] == values.index(max(values))


def test_pool_maximum_of_ucb():
    rng = np.random.default_rng(0)
    pool = Pool(rng.random((80, 3)))
    data = Data(pool)
    data.append(rng.integers(80, size=20), rng.standard_normal(20))
    acquisition = UCB(posterior(data, KERNELS["matern52"], 0.4, REGULARISER), 2.0)
    point = maximum(acquisition, data)
    mean, std = acquisition.posterior.predict(np.arange(80))
    assert point[0] == np.argmax(mean + 2.0 * std)


def test_starts_are_peaks_first():
    points = np.array([[0.0], [0.01], [0.02], [0.5], [0.51], [1.0]])
    values = np.array([7.0, 9.0, 8.0, 3.0, 4.0, 1.0])
    starts = distinct_best(points, values, 4, radius=0.05)
    np.testing.assert_array_equal(starts[:, 0], [0.01, 0.51, 1.0, 0.02])


class Bowl:
    """−½ (x − c)ᵀ A (x − c) in the cube, beyond it the same."""

    def __init__(self, centre, matrix):
        self.centre, self.matrix = np.array(centre), np.array(matrix)

    def __call__(self, points):
        return self.expand(points)[0]

    def expand(self, points):
        away = points - self.centre
        pull = away @ self.matrix
        return -0.5 * (away * pull).sum(1), -pull, -np.tile(self.matrix, (len(points), 1, 1))


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 10_000), dim=st.integers(1, 6))
def test_climb_solves_bounded_quadratic_programs(seed, dim):
    """The constrained maximum of a concave quadratic is unique: its projected gradient vanishes, and only there."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((dim, dim))
    bowl = Bowl(rng.uniform(-0.5, 1.5, size=dim), root @ root.T + 0.1 * np.eye(dim))
    top = climb(bowl, rng.random((4, dim)))
    _, gradient, _ = bowl.expand(top)
    assert np.abs(np.clip(top + gradient, 0.0, 1.0) - top).max() < 1e-7


class TwoBumps:
    """Two Gaussian bumps of width 0.01 in one dimension: 1 high at 0.5, and 1.1 high at 0.55."""

    def expand(self, points):
        away = points - [0.5, 0.55]
        bumps = [1.0, 1.1] * np.exp(-0.5 * (away / 0.01) ** 2)
        slopes = -away / 0.01**2 * bumps
        bends = ((away / 0.01) ** 2 - 1.0) / 0.01**2 * bumps
        return bumps.sum(1), slopes.sum(1, keepdims=True), bends.sum(1)[:, None, None]


def test_climb_keeps_a_lower_start_on_a_higher_peak_nearby():
    starts = np.array([[0.5], [0.545]])
    assert np.diff(TwoBumps().expand(starts)[0]) < 0.0
    assert climb(TwoBumps(), starts)[0, 0] == pytest.approx(0.55, abs=1e-5)
