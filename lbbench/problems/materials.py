"""Pools of measured materials (Liang et al. 2021, PV-Lab), read from the installed `bocode` package."""

import importlib.util

import numpy as np

from lbbench.domain import Pool
from lbbench.errors import UsageError
from lbbench.problems.base import Problem
from lbbench.problems.tables import tabulated

DATASETS = {
    "agnp": "AgNP",
    "autoam": "AutoAM",
    "crossedbarrel": "CrossedBarrel",
    "p3ht": "P3HT",
    "perovskite": "Perovskite",
}


def require_data(name: str) -> None:
    """Raises `UsageError` if the problem of that name needs `bocode` and it is not installed."""
    if name in DATASETS and importlib.util.find_spec("bocode") is None:
        raise UsageError(f"problem={name} needs the data of the package 'bocode': pip install 'bocode>=1.0.1'")


def agnp(noise_std: float = 0.0) -> Problem:
    """Silver-nanoparticle synthesis: 164 candidates, 5 flow rates, spectral loss (Mekki-Berrada et al. 2021)."""
    return _pool("agnp", noise_std)


def autoam(noise_std: float = 0.0) -> Problem:
    """Extrusion printing: 100 candidates, 4 process settings, likeness of the line's shape (Deneault et al. 2021)."""
    return _pool("autoam", noise_std)


def crossedbarrel(noise_std: float = 0.0) -> Problem:
    """3-d printed crossed barrels: 600 candidates, 4 dimensions, toughness (Gongora et al. 2020)."""
    return _pool("crossedbarrel", noise_std)


def p3ht(noise_std: float = 0.0) -> Problem:
    """Composites of P3HT and carbon nanotubes: 178 candidates, 5 fractions, conductivity (Bash et al. 2021)."""
    return _pool("p3ht", noise_std)


def perovskite(noise_std: float = 0.0) -> Problem:
    """Perovskites: 94 candidates, 3 fractions, instability index, which is minimised (Sun et al. 2021)."""
    return _pool("perovskite", noise_std)


def _pool(name: str, noise_std: float) -> Problem:
    """A data set with replicates averaged and losses negated for maximisation."""
    require_data(name)
    import bocode

    dataset = getattr(bocode, DATASETS[name])()
    pool = Pool(np.ascontiguousarray(dataset.candidates.numpy(), dtype=float))
    return tabulated(name, pool, np.asarray(dataset.values.numpy(), dtype=float), noise_std)
