"""Optimizers on a box and on a pool, and a function to play them with."""

import math

import numpy as np

from lbbench import Optimizer
from lbbench.plan.configs import load, options

BOUNDS = [(0.0, 10.0), (20.0, 80.0)]
POOL = np.random.default_rng(3).random((30, 2)) * [10.0, 60.0] + [0.0, 20.0]
QUICK = {"raw_samples": 32, "restarts": 2, "initial": 3}
TOLD = {"lengthscale": 0.3}  # the methods that have such a setting
METHODS = {name: TOLD if "lengthscale" in load(f"method/{name}") else {} for name in options("method")}
DOMAINS = {"box": {"bounds": BOUNDS}, "pool": {"candidates": POOL}}


def height(x):
    return math.sin(x[0]) + math.cos(x[1] / 9.0)


def optimizer(domain="box", method="lb", **settings):
    return Optimizer(**DOMAINS[domain], method=method, **{**QUICK, **METHODS[method], **settings})


def play(played, steps, f=height):
    points = []
    for _ in range(steps):
        points.append(played.ask())
        played.tell(points[-1], f(points[-1]))
    return np.array(points)
