"""An Optuna sampler that asks an optimizer."""

import logging
import math
import secrets
import threading
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from lbbench.asktell.optimizer import Optimizer
from lbbench.domain import Array
from lbbench.gp.data import LARGEST

try:
    from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise ImportError("LBSampler needs the package 'optuna': pip install 'lbbench[optuna]'") from error

Numeric: TypeAlias = FloatDistribution | IntDistribution

ASKED = "lbbench:asked"  # the attribute of a trial that holds the parameters which the optimizer chose for it
TRIES = 8  # how many further points are asked for if the first has, once rounded, been evaluated already
TURN = threading.Lock()  # threads choose one after the other, so that each knows of the others' points


class LBSampler(BaseSampler):
    """Choose the float and integer parameters of an Optuna study by any method and setting of `Optimizer`.

    Parameters that are categorical, or not in all completed trials with the same range, are left to the
    `independent_sampler` (a `RandomSampler` if none is given), and so is the first trial, before which no parameter is
    known. It counts towards the initial design of `n_startup_trials`. The same seed gives the same trials, one at a
    time; without a `seed` each sampler has its own. Raises `UsageError` for settings that cannot be, and `ValueError`
    in a study of several objectives.

    All is learned from the trials in the study's storage, which other processes and samplers may share, in the order of
    their numbers: points of this sampler are steps of its method, others are told beside them. A pruned trial has its
    last intermediate value. Running trials are pending, and so are, forever, those that failed or were pruned without a
    value: their points are not asked for again, but not taken for bad, since trials fail for other reasons too. To have
    a point taken for as bad as the worst, return an infinite value; of the other sign, it is taken for the best.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        method: str = "lb",
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        **settings: Any,
    ) -> None:
        self._seed = _new_seed() if seed is None else seed
        self._settings = {"method": method, "initial": n_startup_trials, **settings}
        self._independent = independent_sampler or RandomSampler(seed)
        self._warn = warn_independent_sampling
        Optimizer([(0.0, 1.0)], seed=self._seed, **self._settings)  # raises what is wrong with the settings

    def reseed_rng(self) -> None:
        self._seed = _new_seed()
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        if len(study.directions) > 1:
            raise ValueError(f"LBSampler optimises one objective; this study has {len(study.directions)}")
        space = intersection_search_space(study.get_trials(deepcopy=False))
        return {name: one for name, one in space.items() if isinstance(one, Numeric) and not one.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        space = {name: one for name, one in search_space.items() if isinstance(one, Numeric)}
        if not space:
            return {}
        with TURN:
            chosen = self._chosen(study, trial, space)
            study._storage.set_trial_system_attr(trial._trial_id, ASKED, chosen)
        return chosen

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        if self._warn and study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            logging.getLogger(__name__).warning(
                f"The parameter {param_name!r} of trial {trial.number} is sampled by {self._independent}, since it is "
                "categorical or not in all completed trials with the same range; "
                "LBSampler(warn_independent_sampling=False) does not warn."
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._independent.after_trial(study, trial, state, values)

    def _chosen(self, study: Study, trial: FrozenTrial, space: Mapping[str, Numeric]) -> dict[str, float]:
        """The parameters to evaluate next."""
        trials = [one for one in study.get_trials(deepcopy=False) if one.number != trial.number]
        known = [(one, params) for one in trials if (params := _known(one, space)) is not None]
        optimizer = self._replayed(known, space, study.direction)
        last = max((one.number for one, _ in known if one.number < trial.number), default=-1)
        for one in trials:
            if one.state == TrialState.RUNNING and last < one.number < trial.number:
                optimizer.ask()  # as that trial is about to
        asked = (_params(optimizer.ask(), space) for _ in range(1 + TRIES))
        first = next(asked)
        seen = [params for _, params in known]
        return next((params for params in chain([first], asked) if params not in seen), first)

    def _replayed(
        self,
        known: Sequence[tuple[FrozenTrial, dict[str, float]]],
        space: Mapping[str, Numeric],
        direction: StudyDirection,
    ) -> Optimizer:
        """An optimizer that has been told of all trials that have a value and waits for the others."""
        bounds = [_bounds(one) for one in space.values()]
        minimise = direction == StudyDirection.MINIMIZE
        optimizer = Optimizer(bounds, minimise=minimise, seed=self._seed, **self._settings)
        values = [_value(one) for one, _ in known]
        finite = [value for value in values if abs(value) <= LARGEST] or [0.0]
        pending = []
        for (one, params), value in zip(known, np.clip(values, min(finite), max(finite)), strict=True):
            x = _point(params, space)
            if math.isnan(value):
                pending.append(x)
                continue
            if params.items() <= one.system_attrs.get(ASKED, {}).items():
                optimizer.ask(x)
            optimizer.tell(x, value)
        for x in pending:
            optimizer.ask(x)
        return optimizer


def _new_seed() -> int:
    return secrets.randbelow(10**9)


def _known(trial: FrozenTrial, space: Mapping[str, Numeric]) -> dict[str, float] | None:
    """The parameters of a trial in the space; None if one is missing, outside, or of another range."""
    params = {**trial.system_attrs.get(ASKED, {}), **trial.params}
    for name, one in space.items():
        if trial.distributions.get(name, one) != one or not one.low <= params.get(name, math.nan) <= one.high:
            return None
    return {name: params[name] for name in space}


def _value(trial: FrozenTrial) -> float:
    """The value of a complete trial, the last intermediate one of a pruned trial; NaN if there is none."""
    if trial.state == TrialState.COMPLETE:
        return float(trial.values[0])
    if trial.state == TrialState.PRUNED and trial.last_step is not None:
        return trial.intermediate_values[trial.last_step]
    return math.nan


def _bounds(one: Numeric) -> tuple[float, float]:
    """A parameter's range inside the optimizer: of the logarithm, with half a step of room on both sides."""
    half = (one.step or 0) / 2
    low, high = one.low - half, one.high + half
    return (math.log(low), math.log(high)) if one.log else (low, high)


def _point(params: Mapping[str, float], space: Mapping[str, Numeric]) -> Array:
    """Where the optimizer has the parameters, `(d,)`."""
    return np.array([math.log(params[name]) if one.log else params[name] for name, one in space.items()], dtype=float)


def _params(x: Array, space: Mapping[str, Numeric]) -> dict[str, float]:
    """The parameters nearest to a point of the optimizer, `(d,)`."""
    return {name: _param(value, one) for (name, one), value in zip(space.items(), x.tolist(), strict=True)}


def _param(value: float, one: Numeric) -> float:
    value = math.exp(value) if one.log else value
    if one.step is not None:
        value = one.low + one.step * round((value - one.low) / one.step)
    return min(max(value, one.low), one.high)
