"""Traces made up for tests, without a run."""

import itertools

from lbbench.plan.checks import typed_tree
from lbbench.plan.configs import load, options
from lbbench.plan.settings import Settings
from lbbench.records import traces
from lbbench.records.run import place

DESIGN = 2  # points of the initial design, of regret 9 each


def settings(method, problem, **changed):
    """As in configs/, but for the last names of settings that are given; an unknown problem has none of its own."""
    tree = load("config")
    del tree["defaults"], tree["study"]
    own = load(f"problem/{problem}") if problem in options("problem") else {"name": problem}
    method = load(f"method/{method}") if method in options("method") else {"name": method}
    tree = typed_tree(tree | {"method": method, "problem": own})
    for key, value in changed.items():
        section = next((part for part in tree.values() if isinstance(part, dict) and key in part), tree)
        section[key] = value
    return Settings(tree)


def write(out, method, problem, seed, regrets, lengthscale=0.1, cpu="Abacus", **changed):
    """Write a trace with these regrets at t = 1, 2, …; returns its path. θ is `lengthscale`, and then halves."""
    own = settings(method, problem, iterations=len(regrets), **changed)
    everything = [9.0] * DESIGN + list(regrets)
    rows = [
        {
            "problem": problem,
            "method": method,
            "growth": None,
            "seed": seed,
            "run_id": own.id,
            "t": i - DESIGN + 1,
            "phase": "initial" if i < DESIGN else "search",
            "x": [0.5],
            "y": 10.0 - regret,
            "f": 10.0 - regret,
            "regret": regret,
            "simple_regret": min(everything[: i + 1]),
            "cumulative_regret": float(sum(everything[DESIGN : i + 1])),
            "lengthscale": None if i < DESIGN or method == "random" else lengthscale / 2 ** min(i - DESIGN, 99),
            "suggest_s": 0.25,
            "evaluate_s": 0.05,
        }
        for i, regret in enumerate(everything)
    ]
    path = place(out, "traces", problem.replace("/", "_"), method, seed, own.id, "parquet")
    circumstances = {"versions": {"lbbench": "1.2.3"}, "commit": "abc", "cpu": cpu, "peak_memory_mb": 100.0 + seed}
    traces.write(path, rows, {"settings": dict(own.tree), "seed": seed, "threads": 1, "wall_s": 1.5, **circumstances})
    return path


def study(out, methods=("lb", "mle", "random"), problems=("berkenkamp", "toy"), seeds=3, steps=8):
    """Regrets that fall at a pace of each method's own, from a level of each seed's own."""
    for (pace, method), problem, seed in itertools.product(enumerate(methods, 1), problems, range(seeds)):
        write(out, method, problem, seed, [(1 + seed) / t ** (1 / pace) for t in range(1, steps + 1)])
