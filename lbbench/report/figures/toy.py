"""Figure 1: why the length scale matters, on the toy of Berkenkamp et al. (2019)."""

import math
from collections.abc import Callable

import numpy as np

from lbbench.domain import Array
from lbbench.gp.data import Data
from lbbench.gp.kernels import KERNELS
from lbbench.gp.likelihood import Likelihood
from lbbench.gp.posterior import posterior
from lbbench.problems.synthetic import berkenkamp
from lbbench.report.collection import Collection
from lbbench.report.figures import AS_USUAL, Options
from lbbench.report.figures.canvas import WIDTH, Sheet, add_legend, grid
from lbbench.report.style import colour

OBSERVED = (0.45, 0.7, 0.85, 0.95, 1.0)  # the paper does not say which five points it shows
KERNEL = KERNELS["rbf"]
# The peak is N(x; 0.2, 0.08): up to a factor, the RBF kernel exp(−r²/θ²) itself with this θ. The oracle's θ̂*, a fit to
# the best 1 % of the domain, is of no use in one dimension: it sees the tip of the peak alone.
OPTIMAL = 0.08 * math.sqrt(2.0)
REGULARISER = 1e-4
BETA = 1.0
STEPS = 3  # choices of UCB to mark
GRID = np.linspace(0.0, 1.0, 501)


def draw(collection: Collection, options: Options = AS_USUAL) -> list[Sheet]:
    """The toy with the GP of the optimal length scale on the left, and of maximum likelihood on the right."""
    problem = berkenkamp()
    figure, axes = grid(1, 2, WIDTH, 2.3, sharex=True, sharey=True)
    x = GRID[:, None]
    fits = {"optimal length scale": (lambda data: OPTIMAL), "maximum likelihood": fit_likelihood}
    for panel, (name, lengthscale) in zip(axes[0], fits.items(), strict=True):
        data = observed()
        first = lengthscale(data)
        mean, std = predict(data, first)
        panel.plot(GRID, problem.evaluate(x), color="black", linestyle="--", label="objective")
        panel.plot(GRID, mean, color=colour("lb"), label="GP mean")
        panel.fill_between(GRID, mean - std, mean + std, color=colour("lb"), alpha=0.2, linewidth=0, label="± one std")
        panel.plot(data.x[:, 0], data.y, "o", color="black", markersize=4, label="observed")
        chosen = choices(lengthscale)
        values = problem.evaluate(np.array(chosen)[:, None])
        label = f"next {STEPS} choices of UCB, β = {BETA:g}"
        panel.plot(chosen, values, "v", color=colour("agpucb"), markersize=5, label=label, zorder=4)
        for x_next in dict.fromkeys(chosen):
            order = ", ".join(str(i + 1) for i, other in enumerate(chosen) if other == x_next)
            value = float(problem.evaluate(np.array([[x_next]]))[0])
            panel.annotate(order, (x_next, value), (0, 4), textcoords="offset points", ha="center", va="bottom")
        panel.set(title=f"{name}: θ = {first:.3f}", xlabel="x", xlim=(-0.04, 1.06), ylim=(-0.04, 0.88))
    axes[0, 0].set_ylabel("f(x)")
    add_legend(figure, f"Berkenkamp's toy, RBF kernel, λ = {REGULARISER:g}", {})
    return [Sheet("figure1", figure, [])]


def observed() -> Data:
    """The five points and their values."""
    problem, x = berkenkamp(), np.array(OBSERVED)[:, None]
    data = Data(problem.domain)
    data.append(x, problem.evaluate(x))
    return data


def fit_likelihood(data: Data) -> float:
    """The length scale of maximum likelihood."""
    return Likelihood.of(data, KERNEL, REGULARISER).maximum()


def predict(data: Data, lengthscale: float) -> tuple[Array, Array]:
    """Posterior mean and standard deviation on `GRID`, in the units of f."""
    mean, std = posterior(data, KERNEL, lengthscale, REGULARISER).predict(GRID[:, None])
    return data.mean + data.std * mean, data.std * std


def choices(lengthscale: Callable[[Data], float]) -> list[float]:
    """The next `STEPS` points of UCB, each observed before the next is chosen."""
    problem, data = berkenkamp(), observed()
    chosen = []
    for _ in range(STEPS):
        mean, std = predict(data, lengthscale(data))
        x = GRID[[np.argmax(mean + BETA * std)], None]
        data.append(x, problem.evaluate(x))
        chosen.append(float(x[0, 0]))
    return chosen
