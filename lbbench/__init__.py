"""Bayesian optimisation with an unknown length scale: methods, problems and a benchmark harness."""

__version__ = "0.1.0"
