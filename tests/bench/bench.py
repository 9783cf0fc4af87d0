"""What lbbench costs beside the plain way to do it: `make bench`.

Every figure is a ratio to a peer that ran in the same process just before, one thread each. The peer is a BoTorch loop:
SingleTaskGP with an isotropic Matérn-5/2 kernel and noise 1e-4, UpperConfidenceBound with β = 1, `optimize_acqf` with
10 restarts and 512 raw samples; in a pool, the posterior over all candidates at each step. Its length scale is fixed or
fitted by `fit_gpytorch_mll` at each step.
"""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.kernels import MaternKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from rich.console import Console
from rich.table import Table

from lbbench.domain import Pool
from lbbench.problems.base import Problem
from lbbench.study import build, loop, machine
from lbbench.study.overrides import plan
from lbbench.study.settings import compose

STEPS = 250
LENGTHSCALE = 0.3


def botorch_loop(problem: Problem, steps: int, fit: bool) -> float:
    """Seconds that the peer needs for `steps` steps after ten initial points."""
    domain = problem.domain
    points = domain.initial(10, np.random.default_rng(0))
    x = torch.as_tensor(domain.unit(points))
    y = torch.as_tensor(problem.evaluate(domain.user(points)))
    pool = torch.as_tensor(domain.coordinates) if isinstance(domain, Pool) else None
    bounds = torch.tensor([[0.0] * domain.dim, [1.0] * domain.dim], dtype=torch.double)
    started = time.perf_counter()
    for _ in range(steps):
        z = ((y - y.mean()) / y.std()).unsqueeze(-1)
        likelihood = GaussianLikelihood()
        model = SingleTaskGP(
            x, z, likelihood=likelihood, covar_module=MaternKernel(2.5), mean_module=ZeroMean(), outcome_transform=None
        )
        likelihood.noise = 1e-4
        likelihood.raw_noise.requires_grad_(False)
        if fit:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(likelihood, model))
        else:
            model.covar_module.lengthscale = LENGTHSCALE
        acquisition = UpperConfidenceBound(model.eval(), beta=1.0)
        if pool is None:
            chosen, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
            value = problem.evaluate(domain.user(chosen.detach().numpy()))
        else:
            with torch.no_grad():
                best = int(acquisition(pool.unsqueeze(1)).argmax())
            chosen = pool[[best]]
            value = problem.evaluate(domain.user(np.array([best])))
        x, y = torch.cat([x, chosen.detach()]), torch.cat([y, torch.as_tensor(value)])
    return time.perf_counter() - started


def ours(*line: str) -> float:
    """Seconds that a run of lbbench needs."""
    settings = compose(plan([*line, f"iterations={STEPS}"]).combinations[0])
    started = time.perf_counter()
    loop.run(settings, 0)
    return time.perf_counter() - started


def fastest(command: list[str]) -> float:
    """Seconds of the fastest of seven calls."""
    times = []
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Measure, print one table, and write results/bench.json."""
    warnings.simplefilter("ignore")
    rows = []

    def row(work: str, peer: str, peer_seconds: float, seconds: float) -> None:
        rows.append({"work": work, "peer": peer, "peer_s": peer_seconds, "s": seconds, "ratio": peer_seconds / seconds})
        print(f"{work}: {seconds:.3g} s, peer {peer_seconds:.3g} s", flush=True)

    with machine.limited_threads(1):
        torch.set_num_threads(1)
        for problem in ("michalewicz", "crossedbarrel"):
            objective = build.problem(compose(plan([f"problem={problem}"]).combinations[0]))
            fixed = botorch_loop(objective, STEPS, fit=False)
            for method in ("lb", "agpucb"):
                row(f"{method} on {problem}", "BoTorch, fixed θ", fixed, ours(f"method={method}", f"problem={problem}"))
            if problem == "michalewicz":
                fitted = botorch_loop(objective, STEPS, fit=True)
                row("mle on michalewicz", "BoTorch, fitted θ", fitted, ours("method=mle"))
    typer = fastest([sys.executable, "-c", "import typer"])
    for line in (["--help"], ["run", "methd=lb"]):
        row(f"lbbench {' '.join(line)}", "import typer", typer, fastest([sys.executable, "-m", "lbbench", *line]))

    table = Table(box=None, title=f"T = {STEPS}, one thread, {machine.cpu()}")
    for column in ("work", "peer", "peer_s", "s", "ratio"):
        table.add_column(column, justify="left" if column in ("work", "peer") else "right")
    for entry in rows:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else value for value in entry.values()))
    Console().print(table)
    file = Path("results/bench.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({**machine.provenance(), "steps": STEPS, "rows": rows}, indent=1) + "\n")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
