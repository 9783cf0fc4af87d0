"""Sensors as arms, as in "On Kernelized Multi-armed Bandits" (Chowdhury and Gopalan 2017): f is what each of m sensors
reads at one time, which is another one in each trial, a run's seed.

What is known beforehand are readings at other times, the training rows. Their empirical covariance matrix K is that of
the pool; their overall mean is taken off f, since the GP has mean zero; and the noise has variance R² = `noise_share` ×
the mean of the sensors' variances. For kernels of a distance, sensors lie in the plane, at squared distances as near as
`planar` has them to K_ii + K_jj − 2K_ij, and are scaled into the unit square.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from lbbench.domain import Array, Pool
from lbbench.errors import UsageError
from lbbench.problems.base import Problem
from lbbench.problems.tables import complete, ignored, numbers, read, tabulated, unchanged
from lbbench.streams import generator

if TYPE_CHECKING:
    import pandas as pd

LOWEST, HIGHEST = 1e-100, 1e100  # variances that can be computed with
SAME = 1e-6  # the distance of two sensors at which they are one, in standard deviations: rounding makes up to 1e-7
COLUMNS, ROWS = 9, 6  # of the floor of `syntheticsensors`, a sensor in each cell
WIDTH, DEPTH, LENGTH = 40.0, 30.0, 6.0  # of that floor, and l, in metres


def sensors(
    path: str,
    ignore: str = "none",
    training: float = 0.7,
    noise_share: float = 0.05,
    digest: str = "auto",
    seed: int = 0,
) -> Problem:
    """A table of readings: a column for each sensor, named in the first line, and a row for each time, in their order.

    The first rows, a share `training` of them, are the training rows; trial s plays row s of the rest. Raises
    `UsageError`, which names the file, if it cannot be such a table, or has no such row.
    """
    if path == "none":
        raise UsageError("problem=sensors needs problem.path=, such as problem.path=readings.csv")
    readings = _readings(path, ignore, unchanged(path, digest))
    rows = round(training * len(readings))
    left = len(readings) - rows
    if rows < 2 or left < 1:
        raise UsageError(
            f"{path}: training={training:g} makes {rows} of {len(readings)} rows training and leaves {left} to play; "
            "at least 2 and 1 are needed"
        )
    if seed >= left:
        raise UsageError(f"{path} has {left} rows to play, for seeds 0 to {left - 1}, and none for seed {seed}")
    values = readings.to_numpy()
    return _at_one_time("sensors", path, list(map(str, readings)), values[:rows], values[rows + seed], noise_share)


@functools.lru_cache(maxsize=1)  # for the trials, which share it
def _readings(path: str, ignore: str, digest: str) -> pd.DataFrame:
    table = read(Path(os.path.expanduser(path)))
    table = table.drop(columns=ignored(path, table, ignore))
    if len(table.columns) < 2:
        raise UsageError(f"{path} must have a column for each sensor, and at least 2; left are {len(table.columns)}")
    return complete(Path(path), numbers(Path(path), table, advice="; leave it out by problem.ignore="))


def syntheticsensors(rows: int = 400, noise_share: float = 0.05, seed: int = 0) -> Problem:
    """A synthetic stand-in for measured readings: 54 sensors at random places, one in each cell of 9 × 6 that divide a
    floor of 40 m × 30 m.

    What they read at a time, `rows` training rows and the one to play, is a draw of a GP with covariance exp(−r²/2l²),
    l = 6 m, independent of other times. The places and the training rows are the same in all trials.
    """
    cells = np.stack(np.meshgrid(np.arange(COLUMNS), np.arange(ROWS)), axis=-1).reshape(-1, 2)
    within = generator(0, "places", "syntheticsensors").uniform(0.2, 0.8, cells.shape)  # not at a neighbour's
    places = (cells + within) * [WIDTH / COLUMNS, DEPTH / ROWS]
    prior = np.exp(-0.5 * cdist(places, places, "sqeuclidean") / LENGTH**2)
    training, played = (
        generator(trial, purpose, "syntheticsensors").multivariate_normal(
            np.zeros(len(places)), prior, size, method="eigh"
        )
        for trial, purpose, size in ((0, "training", rows), (seed, "function", 1))
    )
    names = [f"sensor {i + 1}" for i in range(len(places))]
    return _at_one_time("syntheticsensors", "syntheticsensors", names, training, played[0], noise_share)


def _at_one_time(
    name: str, source: str, sensors: Sequence[str], training: Array, row: Array, noise_share: float
) -> Problem:
    """The problem of one row of readings, `(m,)`, after training rows `(n, m)`.

    Raises `UsageError`, which begins with the `source`, if they are not those of different sensors that vary.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = np.cov(training, rowvar=False)
        variances = covariance.diagonal()
    varies = (np.ptp(training, axis=0) > 0.0) & (variances >= LOWEST) & (variances <= HIGHEST)
    if not varies.all():
        which = sensors[int(varies.argmin())]
        raise UsageError(
            f"{source}: the sensor {which} is constant in the training rows, or its variance not from {LOWEST:g} to "
            f"{HIGHEST:g}"
        )
    places = planar(variances[:, None] + variances - 2.0 * covariance)
    first, second = np.triu_indices(len(places), 1)
    distances = cdist(places, places)[first, second]
    nearest = int(distances.argmin())
    if distances[nearest] <= SAME * math.sqrt(variances.max()):
        one, other = sensors[first[nearest]], sensors[second[nearest]]
        raise UsageError(
            f"{source}: the sensors {one} and {other} have the same coordinates; leave one out by problem.ignore="
        )
    low = places.min(0)
    pool = Pool(places, limits=(low, low + np.ptp(places, axis=0).max()), covariance=covariance)
    return tabulated(name, pool, row - training.mean(), math.sqrt(noise_share * float(variances.mean())))


def planar(sqdist: Array) -> Array:
    """Coordinates in the plane, `(m, 2)`, of m points from all their squared distances D, `(m, m)`.

    Classical multidimensional scaling (Torgerson 1952): the two longest principal axes of −½JDJ, J = I − 11ᵀ/m, the
    Gram matrix of points around their mean. On each axis the coordinate of largest modulus is positive.
    """
    centred = sqdist - sqdist.mean(0)
    centred = -0.5 * (centred - centred.mean(1, keepdims=True))
    eigenvalues, axes = np.linalg.eigh(centred)
    places: Array = axes[:, :-3:-1] * np.sqrt(np.maximum(eigenvalues[:-3:-1], 0.0))
    return places * np.sign(places[np.abs(places).argmax(0), [0, 1]])
