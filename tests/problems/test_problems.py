import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lbbench.domain import Box, Pool
from lbbench.errors import UsageError
from lbbench.problems.materials import DATASETS, agnp, autoam, crossedbarrel, p3ht, perovskite, require_data
from lbbench.problems.synthetic import MICHALEWICZ_OPTIMA, berkenkamp, michalewicz
from lbbench.streams import generator


def test_berkenkamp():
    problem = berkenkamp()
    x = np.linspace(0, 1, 200_001)[:, None]
    f = problem.evaluate(x)
    assert problem.optimum == pytest.approx(0.74519815, abs=1e-8)
    assert f.max() <= problem.optimum
    assert f.max() == pytest.approx(problem.optimum, abs=1e-8)
    assert x[f.argmax(), 0] == pytest.approx(0.20617869, abs=1e-5)
    assert problem.evaluate(np.array([[1.0]]))[0] == pytest.approx(0.6, abs=1e-12)


@pytest.mark.parametrize("dim", [2, 5, 10])
def test_michalewicz(dim):
    """The function is a sum over coordinates, so its maximum is the sum of one-dimensional maxima."""
    problem = michalewicz(dim)
    total, best = 0.0, []
    for i in range(1, dim + 1):

        def term(x, i=i):
            return np.sin(x) * np.sin(i * x**2 / np.pi) ** 20

        grid = np.linspace(0, np.pi, 100_001)
        near = grid[term(grid).argmax()]
        found = minimize_scalar(
            lambda x, term=term: -term(x), bounds=(near - 1e-4, near + 1e-4), method="bounded", options={"xatol": 1e-14}
        )
        total -= found.fun
        best.append(found.x)
    assert problem.optimum == MICHALEWICZ_OPTIMA[dim] == pytest.approx(total, abs=1e-12)
    assert problem.evaluate(np.array([best]))[0] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(
    ("build", "size", "dim", "optimum"),
    [
        (agnp, 164, 5, -0.14836082),
        (autoam, 100, 4, 0.936549),
        (crossedbarrel, 600, 4, 46.71140498),
        (p3ht, 178, 5, 838.31),
        (perovskite, 94, 3, -27122.0),
    ],
)
def test_materials(build, size, dim, optimum):
    problem = build()
    assert problem.name == build.__name__
    assert isinstance(problem.domain, Pool)
    assert problem.domain.candidates.shape == (size, dim)
    values = problem.evaluate(problem.domain.candidates)
    assert values.max() == problem.optimum == pytest.approx(optimum, abs=1e-8)
    assert problem.evaluate(problem.domain.candidates[[7]])[0] == values[7]


def test_missing_data_names_the_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in DATASETS:
        with pytest.raises(UsageError, match="pip install"):
            require_data(name)
    require_data("berkenkamp")


def test_box_scales_and_starts_with_distinct_sobol_points():
    box = Box(np.array([-1.0, 10.0]), np.array([3.0, 30.0]))
    points = box.initial(10, generator(3, "design", "x"))
    assert points.shape == (10, 2)
    assert (box.user(points) >= box.lower).all()
    assert (box.user(points) <= box.upper).all()
    np.testing.assert_allclose(box.user(np.array([[0.5, 0.25]])), [[1.0, 15.0]])
    # Stratified: 8 points of a Sobol sequence fall into 8 different eighths in each coordinate.
    for column in box.initial(8, generator(0)).T:
        assert len(set((column * 8).astype(int))) == 8


def test_pool_scales_by_column_and_draws_without_replacement():
    pool = Pool(np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 4.0], [2.0, 5.0, 8.0]]))
    np.testing.assert_allclose(pool.unit(np.array([0, 1, 2])), [[0, 0, 0], [1, 0, 1 / 3], [0.5, 0, 1]])
    assert sorted(pool.initial(3, generator(0))) == [0, 1, 2]
    np.testing.assert_allclose(pool.sqdist[0, 1], 1 + 1 / 9)
