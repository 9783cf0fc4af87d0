"""The paper's five findings, checked on traces and written as Markdown."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lbbench.errors import UsageError
from lbbench.gp.kernels import KERNELS
from lbbench.methods.oracle import DRAWN, estimate_lengthscale, fit_best
from lbbench.plan import build
from lbbench.plan.sweeps import plan
from lbbench.plan.words import command_line
from lbbench.progress import watched
from lbbench.records import traces
from lbbench.records.run import Run
from lbbench.records.run import runs as runs_of
from lbbench.report.findings import document
from lbbench.report.findings.document import TIE, conclude, mean, provenance, verdict
from lbbench.report.stats import final, paired
from lbbench.report.style import LABELS
from lbbench.report.tables import Table, markdown, plus_minus

PROBLEMS = ("berkenkamp", "michalewicz", "agnp", "crossedbarrel")
BASELINES = ("mle", "mcmc", "agpucb")
DEFAULTS = {"elimination": "prior", "theta0": "mle", "g": "sqrt(t)", "sampler": "quadrature"}
STUCK = 0.05  # simple regret above which a run on berkenkamp has not found the peak; x = 1 leaves 0.145


class Finals:
    """The last row of each of the given runs, with the settings of its method."""

    def __init__(self, runs: Sequence[Run], command: str) -> None:
        alike = {run.settings.json_of("gp", "iterations") for run in runs}
        objectives = {(run.settings.problem, run.settings.objective) for run in runs}
        if len(alike) > 1 or len(objectives) > len({problem for problem, _ in objectives}):
            raise UsageError(
                "the findings are about one setting of iterations, of each key of gp, and of each problem at a time"
            )
        missing = [run for run in runs if not run.path.exists()]
        if missing:
            raise UsageError(
                f"{len(missing)} of {len(runs)} runs are missing, such as {missing[0].name}; "
                f"make them: lbbench run {command}"
            )
        looked = watched(runs, f"looking at {len(runs):,} traces")
        self.metadata = [traces.read_runs(run.path)[0] for run in looked]
        self.frame = traces.read(run.path for run in watched(runs, f"reading {len(runs):,} traces"))
        own = {run.settings.id: run.settings["method"] for run in runs}
        details = pd.DataFrame.from_dict(own, orient="index").drop(columns="name")
        self.runs = final(self.frame).join(details.add_prefix("method."), on="run_id")
        self.iterations = int(self.frame["t"].max())
        self.command = command
        self.gp = runs[0].settings["gp"]
        self.problems = {run.settings.problem: build.problem(run.settings) for run in runs}

    def select(self, problem: str, method: str, **settings: object) -> pd.DataFrame:
        """The runs of a method on a problem, with the default settings but for those given."""
        found = self.runs[(self.runs["problem"] == problem) & (self.runs["method"] == method)]
        for key, value in {**DEFAULTS, **settings}.items():
            if (column := f"method.{key}") in found and found[column].notna().any():
                found = found[found[column] == value]
        if found.empty:
            wanted = " ".join(
                f"{key}={value}" for key, value in {"method": method, "problem": problem, **settings}.items()
            )
            raise UsageError(f"the findings need {wanted} as well")
        return found

    def steps(self, runs: pd.DataFrame) -> pd.DataFrame:
        """All search steps of the given runs."""
        keys = ["problem", "method", "run_id", "seed"]
        found = self.frame.merge(runs[keys], on=keys)
        return found[found["t"] > 0]


def write(line: Sequence[str], file: Path) -> None:
    """Write the findings on the runs that `lbbench run` makes of a line; raises `UsageError` if one has no trace."""
    document.write(report(Finals(runs_of(plan(line)), command_line(*line))), file)


def report(finals: Finals) -> Iterator[str]:
    """The lines of the document."""
    yield "# The paper's findings, checked"
    yield ""
    yield f"Made by `lbbench run {finals.command}` and `lbbench findings` from {len(finals.runs)} runs"
    yield f"({provenance(finals.metadata)})."
    yield f"Settings: {', '.join(f'{key}={value}' for key, value in finals.gp.items())}; all others as in configs/."
    yield ""
    yield f"T = {finals.iterations} steps after the initial design. Means ± standard errors over seeds. Differences are"
    yield f"paired by seed (same initial design); one within {TIE:g} standard errors of 0 counts as a tie."
    for section in (_regrets, _finding1, _finding2, _finding3, _finding4, _finding5, _variants):
        yield ""
        yield from section(finals)
    yield ""


def _regrets(finals: Finals) -> Iterator[str]:
    yield "## Final regrets"
    yield ""
    methods = ("lb", *BASELINES, "oracle", "random")
    for column in ("simple_regret", "cumulative_regret"):
        rows = [
            [p, str(len(finals.select(p, "lb")))] + [mean(finals.select(p, m), column) for m in methods]
            for p in PROBLEMS
        ]
        yield from markdown(Table([column.replace("_", " "), "seeds", *(LABELS[m] for m in methods)], rows))
        yield ""


def _differences(finals: Finals, column: str) -> tuple[list[str], dict[tuple[str, str], str]]:
    """The table of LB minus each baseline, and the verdict for each problem and baseline."""
    rows, verdicts = [], {}
    for problem in PROBLEMS:
        row = [problem]
        for other in BASELINES:
            difference, error, _ = paired(finals.select(problem, "lb"), finals.select(problem, other), column)
            verdicts[problem, other] = verdict(difference, error)
            row.append(f"{plus_minus(difference, error)} ({verdicts[problem, other]})")
        rows.append(row)
    return ["", *markdown(Table(["LB minus", *(LABELS[other] for other in BASELINES)], rows)), ""], verdicts


def _finding1(finals: Finals) -> Iterator[str]:
    yield "## 1. Simple regret: LB ≤ MLE, MCMC and A-GP-UCB on all four problems (ties allowed)"
    table, verdicts = _differences(finals, "simple_regret")
    yield from table
    worse = {key: verdict for key, verdict in verdicts.items() if verdict not in ("lower", "tie")}
    yield conclude([f"{verdict} than {LABELS[other]} on {problem}" for (problem, other), verdict in worse.items()])


def _finding2(finals: Finals) -> Iterator[str]:
    yield "## 2. Cumulative regret: LB < A-GP-UCB on all four problems"
    table, verdicts = _differences(finals, "cumulative_regret")
    yield from table
    against = {problem: verdicts[problem, "agpucb"] for problem in PROBLEMS}
    yield conclude([f"{verdict} on {problem}" for problem, verdict in against.items() if verdict != "lower"])


def _finding3(finals: Finals) -> Iterator[str]:
    yield "## 3. Berkenkamp: MLE and MCMC sometimes stay at x = 1, LB and A-GP-UCB always find the peak"
    yield ""
    stuck = {method: finals.select("berkenkamp", method) for method in ("lb", *BASELINES)}
    counts = {method: int((runs["simple_regret"] > STUCK).sum()) for method, runs in stuck.items()}
    end = float(finals.problems["berkenkamp"].evaluate(np.array([[1.0]]))[0])
    rows = []
    for method, runs in stuck.items():
        at_end = int((np.abs(runs["f"] - end) < 1e-3).sum())
        rows.append(
            [
                LABELS[method],
                f"{counts[method]} of {len(runs)}",
                f"{at_end} of {len(runs)}",
                f"{runs['simple_regret'].max():.2g}",
            ]
        )
    yield from markdown(
        Table(["", f"simple regret above {STUCK}", "last step at x = 1", "largest simple regret"], rows)
    )
    yield ""
    failures = [f"{LABELS[m]} misses the peak in {counts[m]}" for m in ("lb", "agpucb") if counts[m]]
    failures += [f"{LABELS[m]} never stays at x = 1" for m in ("mle", "mcmc") if not counts[m]]
    yield conclude(failures)


def _finding4(finals: Finals) -> Iterator[str]:
    problem = finals.problems["michalewicz"]
    kernel, regulariser = KERNELS[finals.gp["kernel"]], finals.gp["regulariser"]
    target = estimate_lengthscale(problem, kernel, regulariser)
    draws = [problem.domain.uniform(DRAWN, np.random.default_rng(seed)) for seed in range(40)]
    low, middle, high = np.quantile([fit_best(problem, draw, kernel, regulariser) for draw in draws], [0.25, 0.5, 0.75])
    yield "## 4. Michalewicz: LB's length scales gather around θ̂*, MLE's lie above, A-GP-UCB's fall below"
    yield ""
    yield f"θ̂* = {target:.4f}; forty other draws of its 10,000 points give a median of {middle:.4f} and quartiles of"
    yield f"{low:.4f} and {high:.4f}; the released code hard-codes 0.0354. Quantiles over all steps and seeds:"
    yield ""
    rows, medians = [], {}
    for method in ("lb", *BASELINES):
        chosen = finals.steps(finals.select("michalewicz", method))["lengthscale"]
        quantiles = chosen.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
        medians[method] = quantiles[0.5]
        near = float((np.abs(np.log(chosen / target)) <= np.log(2)).mean())
        below = float((chosen < target).mean())
        rows.append([LABELS[method], *(f"{q:.4f}" for q in quantiles), f"{below:.0%}", f"{near:.0%}"])
    yield from markdown(
        Table(["", "5 %", "25 %", "median", "75 %", "95 %", "below θ̂*", "within a factor 2 of θ̂*"], rows)
    )
    yield ""
    distance = {method: abs(np.log(median / target)) for method, median in medians.items()}
    failures = []
    if min(distance, key=lambda method: distance[method]) != "lb":
        failures.append("LB's median is not the nearest to θ̂*")
    if medians["mle"] <= target:
        failures.append("MLE's median is not above θ̂*")
    if medians["agpucb"] >= target:
        failures.append("A-GP-UCB's median is not below θ̂*")
    yield conclude(failures)


def _finding5(finals: Finals) -> Iterator[str]:
    yield "## 5. Growth functions t^0.25, sqrt(t), t^0.75 on Michalewicz: LB hardly changes, A-GP-UCB does"
    yield ""
    growths = ("t^0.25", "sqrt(t)", "t^0.75")
    rows, spreads = [], {}
    for method in ("lb", "agpucb"):
        runs = [finals.select("michalewicz", method, g=g) for g in growths]
        means = [float(found["simple_regret"].mean()) for found in runs]
        spreads[method] = max(means) - min(means)
        scales = [float(finals.steps(found)["lengthscale"].median()) for found in runs]
        rows.append(
            [LABELS[method], *(mean(found, "simple_regret") for found in runs), f"{spreads[method]:.3g}"]
            + [f"{s:.4f}" for s in scales]
        )
    yield from markdown(
        Table(["simple regret", *growths, "spread of means", *(f"median θ, {g}" for g in growths)], rows)
    )
    yield ""
    yield conclude([] if spreads["lb"] < spreads["agpucb"] else ["LB's means spread more than A-GP-UCB's"])


def _variants(finals: Finals) -> Iterator[str]:
    yield "## Elimination tests and θ₀ rules side by side"
    for column in ("simple_regret", "cumulative_regret"):
        yield ""
        rows = []
        for theta0 in ("mle", 0.5):
            for elimination in ("prior", "posterior", "posterior2"):
                runs = [finals.select(p, "lb", theta0=theta0, elimination=elimination) for p in PROBLEMS]
                rows.append([f"LB, {elimination}", str(theta0), *(mean(found, column) for found in runs)])
        for theta0 in ("mle", 0.5):
            found = [finals.select(p, "agpucb", theta0=theta0) for p in PROBLEMS]
            rows.append(["A-GP-UCB", str(theta0), *(mean(runs, column) for runs in found)])
        yield from markdown(Table([column.replace("_", " "), "θ₀", *PROBLEMS], rows))
