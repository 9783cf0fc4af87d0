"""The optimizer as Optuna's sampler: all that it knows is in the study's trials."""

import copy
import logging
import math
import pickle
import subprocess
import sys
import threading

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import TrialState, create_trial

from lbbench.errors import UsageError
from lbbench.integrations import optuna as ours
from lbbench.integrations.optuna import LBSampler

QUICK = {"raw_samples": 32, "restarts": 2}
SPACE = {"x": FloatDistribution(-5.0, 5.0), "y": FloatDistribution(1e-3, 10.0, log=True)}
optuna.logging.set_verbosity(optuna.logging.ERROR)


def height(x, y):
    """0 at x = 1, y = 0.1, and negative elsewhere."""
    return -((x - 1.0) ** 2) - (math.log10(y) + 1.0) ** 2


def depth(trial):
    return -height(trial.suggest_float("x", -5.0, 5.0), trial.suggest_float("y", 1e-3, 10.0, log=True))


def sampler(seed=0, **settings):
    return LBSampler(seed=seed, **{**QUICK, "n_startup_trials": 5, **settings})


def studied(objective, n, direction="minimize", storage=None, catch=(), **settings):
    study = optuna.create_study(sampler=sampler(**settings), direction=direction, storage=storage)
    study.optimize(objective, n, catch=catch)
    return study


def params(study):
    return [trial.params for trial in study.trials]


def finished(x, y, value=None, state=TrialState.COMPLETE, **more):
    return create_trial(state=state, value=value, params={"x": x, "y": y}, distributions=SPACE, **more)


def replayed(*trials, direction="minimize", **settings):
    """The optimizer behind a study of these trials."""
    study = optuna.create_study(sampler=sampler(**settings), direction=direction)
    study.add_trials(trials)
    known = [(trial, ours._known(trial, SPACE)) for trial in study.trials]
    return study.sampler._replayed([one for one in known if one[1] is not None], SPACE, study.direction)


def test_two_at_a_time_find_the_optimum_whatever_happens_to_the_trials():
    def objective(trial):
        value = depth(trial)
        if trial.number % 10 == 4:
            raise RuntimeError("no luck")
        trial.report(value, 0)
        if trial.number % 10 == 7:
            raise optuna.TrialPruned
        return value if trial.number % 10 != 9 else math.nan

    study = optuna.create_study(sampler=LBSampler(seed=0))
    study.enqueue_trial({"x": -4.0, "y": 9.0})
    study.optimize(objective, 50, n_jobs=2, catch=(RuntimeError,))
    assert params(study)[0] == {"x": -4.0, "y": 9.0}
    assert [len(study.get_trials(states=(state,))) for state in (TrialState.FAIL, TrialState.PRUNED)] == [10, 5]
    assert len({tuple(one.values()) for one in params(study)}) == 50
    assert study.best_value < 0.5


def test_it_is_better_than_random():
    mine, theirs = [], []
    for seed in range(4):
        mine.append(studied(depth, 40, seed=seed).best_value)
        study = optuna.create_study(sampler=RandomSampler(seed))
        study.optimize(depth, 40)
        theirs.append(study.best_value)
    assert np.mean(mine) < 0.1 * np.mean(theirs), (mine, theirs)


@pytest.mark.parametrize("method", ["lb", "mle"])
def test_a_seed_is_a_sequence_of_trials(method):
    first, second, other = (params(studied(depth, 9, seed=seed, method=method)) for seed in (3, 3, 4))
    assert first == second
    assert first[1:] != other[1:]


def test_copies_that_are_reseeded_differ():
    study = studied(depth, 3)
    asked = []
    for reseed in (False, False, True, True):
        again = copy.deepcopy(study)
        again.sampler = pickle.loads(pickle.dumps(study.sampler))
        if reseed:
            again.sampler.reseed_rng()
        asked.append(tuple(again.ask(SPACE).params.values()))
    assert asked[0] == asked[1]
    assert len(set(asked)) == 3


@pytest.mark.parametrize("n", [3, 9])
def test_a_study_is_taken_up_from_its_storage(tmp_path, n):
    storage = f"sqlite:///{tmp_path}/study.db"
    started = studied(depth, n, storage=storage)
    resumed = optuna.load_study(study_name=started.study_name, storage=storage, sampler=sampler())
    resumed.optimize(depth, 12 - n)
    assert params(resumed) == params(studied(depth, 12))


def test_to_maximise_is_to_minimise_the_negative():
    assert params(studied(depth, 12)) == params(studied(lambda trial: -depth(trial), 12, "maximize"))


def test_steps_are_replayed_as_they_were_played():
    study = studied(depth, 12)
    known = [(trial, trial.params) for trial in study.trials]
    found = study.sampler._replayed(known, SPACE, study.direction)
    played = ours.Optimizer([(-5, 5), (math.log(1e-3), math.log(10))], minimise=True, seed=0, initial=5, **QUICK)
    for trial in study.trials:
        x = np.array([trial.params["x"], math.log(trial.params["y"])])
        if trial.number > 0:
            np.testing.assert_allclose(played.ask(), x, rtol=1e-12)
        played.tell(x, trial.value)
    np.testing.assert_allclose(found.ask(), played.ask(), rtol=1e-6)
    assert found.candidates() == pytest.approx(played.candidates())
    counts = [[record.n for record in one._play.method._balancer.records.values()] for one in (found, played)]
    assert counts[0] == counts[1]
    assert found._play.t == 7


def test_parameters_stay_on_their_grids():
    def objective(trial):
        a = trial.suggest_int("a", 1, 64, log=True)
        b = trial.suggest_int("b", -7, 9, step=4)
        c = trial.suggest_float("c", 0.1, 1.0, step=0.3)
        assert trial.suggest_float("only", 2.0, 2.0) == 2.0
        return (math.log2(a) - 4.0) ** 2 + (b - 1) ** 2 / 16 + (c - 0.7) ** 2

    study = studied(objective, 30)
    grids = {"a": set(range(1, 65)), "b": {-7, -3, 1, 5, 9}, "c": {0.1, 0.4, 0.7, 1.0}, "only": {2.0}}
    for name, grid in grids.items():
        values = [one[name] for one in params(study)]
        assert {round(value, 12) for value in values} <= grid
        assert name == "a" or {round(value, 12) for value in values} == grid
    assert all(type(one["a"]) is type(one["b"]) is int for one in params(study))
    assert study.best_params == pytest.approx({"a": 16, "b": 1, "c": 0.7, "only": 2.0}, abs=2)
    assert len({tuple(one.values()) for one in params(study)[1:]}) > 25


def test_the_ends_of_a_grid_have_as_much_room_as_its_middle():
    ints, logs = IntDistribution(1, 3), IntDistribution(1, 3, log=True)
    for one in (ints, logs):
        low, high = ours._bounds(one)
        found = [ours._param(value, one) for value in np.linspace(low, high, 999)]
        assert sorted(set(found)) == [1, 2, 3]
    assert [[ours._param(value, ints) for value in np.linspace(0.5, 3.5, 999)].count(k) for k in (1, 2, 3)] == [333] * 3
    for one in (*SPACE.values(), FloatDistribution(0.0, 1.0, step=0.1)):
        low, high = ours._bounds(one)
        assert [ours._param(low, one), ours._param(high, one)] == pytest.approx([one.low, one.high], rel=1e-12)
        assert one.low <= ours._param(low, one)
        assert ours._param(high, one) <= one.high


@pytest.mark.parametrize("seed", [0, 2])
def test_points_that_are_rounded_to_known_ones_are_not_asked_for_forever(seed):
    def objective(trial):
        x, y = trial.suggest_int("x", 0, 12), trial.suggest_int("y", 0, 12)
        return math.sin(x) * math.cos(0.9 * y) + 0.1 * x - 0.05 * y

    study = optuna.create_study(sampler=LBSampler(seed=seed), direction="maximize")
    study.optimize(objective, 40)
    highest = max(objective(optuna.trial.FixedTrial({"x": x, "y": y})) for x in range(13) for y in range(13))
    assert study.best_value == highest


def conditional(trial):
    x = trial.suggest_float("x", -5.0, 5.0)
    if trial.suggest_categorical("kind", ["p", "q"]) == "p":
        return x**2 + trial.suggest_float("p", 0.0, 1.0)
    return x**2 + trial.suggest_int("q", 0, 5)


def test_what_it_cannot_choose_is_sampled_independently_and_said_so(caplog):
    with caplog.at_level(logging.WARNING, logger=ours.__name__):
        study = studied(conditional, 15)
    assert study.best_value < 1.5
    assert all(trial.system_attrs[ours.ASKED].keys() == {"x"} for trial in study.trials[5:])
    assert {word for word in ("'kind'", "'p'", "'q'", "RandomSampler") if word in caplog.text} >= {"'kind'", "'p'"}
    assert "'x'" not in caplog.text
    caplog.clear()
    studied(conditional, 6, warn_independent_sampling=False)
    assert not caplog.records


def test_a_sampler_of_ones_own_has_the_rest():
    class Last(RandomSampler):
        def sample_independent(self, study, trial, param_name, param_distribution):
            return param_distribution.choices[-1]

    def objective(trial):
        return trial.suggest_float("x", 0.0, 1.0) if trial.suggest_categorical("kind", "abc") == "c" else math.nan

    study = optuna.create_study(sampler=sampler(independent_sampler=Last(), warn_independent_sampling=False))
    study.enqueue_trial({"x": 0.5})
    study.optimize(objective, 8)
    assert {one["kind"] for one in params(study)} == {"c"}


def test_a_range_that_changes_is_left_to_the_independent_sampler():
    study = studied(lambda trial: trial.suggest_float("x", 0, 1 + trial.number % 2) + trial.suggest_float("z", 0, 1), 9)
    assert study.trials[-1].system_attrs[ours.ASKED].keys() == {"z"}


def test_trials_of_any_state_are_told():
    infinite = [finished(4.0, 1.0, math.inf), finished(3.5, 1.0, -math.inf)]
    pruned = [
        finished(2.0, 1.0, state=TrialState.PRUNED, intermediate_values={1: 9.0, 5: 3.0}),
        finished(2.5, 1.0, state=TrialState.PRUNED),
        finished(2.6, 1.0, state=TrialState.PRUNED, intermediate_values={1: math.nan}),
    ]
    outside = [
        create_trial(value=-9.0, params={"x": 1.0}, distributions={"x": SPACE["x"]}),
        create_trial(value=-9.0, params={"x": 1.0, "y": 5}, distributions={**SPACE, "y": IntDistribution(1, 6)}),
    ]
    others = [finished(3.0, 1.0, state=TrialState.FAIL), finished(0.0, 1.0, 1.0), finished(1.0, 1.0, 2.0)]
    trials = [*infinite, *pruned, *outside, *others]
    found = replayed(*trials)
    assert found.y.tolist() == [3.0, 1.0, 3.0, 1.0, 2.0]
    assert found.pending[:, 0].tolist() == pytest.approx([2.5, 2.6, 3.0])
    assert replayed(*trials, direction="maximize").y.tolist() == [3.0, 1.0, 3.0, 1.0, 2.0]
    assert replayed(*infinite).y.tolist() == [0.0, 0.0]


def test_an_enqueued_value_out_of_range_is_not_learned_from():
    study = studied(depth, 3)
    study.enqueue_trial({"x": 7.0, "y": 0.1})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(depth, 3)
    assert study.trials[3].params["x"] == 7.0
    assert len({tuple(one.values()) for one in params(study)}) == 6


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e308])
def test_values_that_are_all_beyond_reason_do_not_stop_it(value):
    found = params(studied(lambda trial: value + 0 * depth(trial), 12))
    assert len({tuple(one.values()) for one in found}) == 12


def test_a_failing_point_is_not_asked_for_again():
    def objective(trial):
        value = depth(trial)
        if trial.number > 7:
            raise RuntimeError("no luck")
        return value

    found = params(studied(objective, 14, catch=(RuntimeError,)))
    assert len({tuple(one.values()) for one in found}) == 14


@pytest.mark.parametrize("told", [2, 8])
def test_running_trials_are_pending(told):
    study = studied(depth, told)
    several = [study.ask(SPACE) for _ in range(5)]
    assert len({tuple(trial.params.values()) for trial in several}) == 5
    between = study.sampler._replayed([(trial, trial.params) for trial in study.trials], SPACE, study.direction)
    assert len(between.pending) == 5
    for trial in several:
        study.tell(trial, -height(**trial.params))
    study.optimize(depth, 1)


def test_a_point_is_known_before_all_its_parameters_are_suggested():
    study = studied(depth, 8)
    trial = study.ask()
    x = trial.suggest_float("x", -5.0, 5.0)
    known = ours._known(study.trials[-1], SPACE)
    assert known["x"] == x
    assert known["y"] == trial.suggest_float("y", 1e-3, 10.0, log=True)


@pytest.mark.parametrize("told", [2, 8])
def test_trials_that_choose_at_the_same_moment_choose_differently(told):
    study = studied(depth, told)
    trials = [study.ask() for _ in range(3)]
    barrier, chosen = threading.Barrier(3), {}

    def choose(trial):
        snapshot = copy.deepcopy(study)
        barrier.wait()
        chosen[trial.number] = study.sampler.sample_relative(snapshot, snapshot.trials[trial.number], SPACE)

    threads = [threading.Thread(target=choose, args=(trial,)) for trial in trials]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(one.values()) for one in chosen.values()}) == 3


def test_a_trial_that_died_before_it_chose_is_soon_forgotten():
    study, alone = studied(depth, 8), studied(depth, 9)
    study.ask()
    study.optimize(depth, 1)
    assert study.trials[9].params != alone.trials[8].params
    known = [(trial, trial.params) for trial in study.trials if trial.params]
    asked = study.sampler._replayed(known, SPACE, study.direction).ask()
    assert study.ask(SPACE).params == ours._params(asked, SPACE)


@pytest.mark.parametrize("pruner", [optuna.pruners.HyperbandPruner(), optuna.pruners.MedianPruner(2)])
def test_with_a_journal_and_pruners(tmp_path, pruner):
    def objective(trial):
        value = depth(trial)
        for step in range(4):
            trial.report(value + 4 - step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
    study = optuna.create_study(
        sampler=sampler(), pruner=pruner, storage=optuna.storages.JournalStorage(backend), study_name="s"
    )
    study.optimize(objective, 25)
    assert len(study.get_trials(states=(TrialState.PRUNED,))) > 3
    assert study.best_value < 1.0


def test_one_objective_only():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler())
    with pytest.raises(ValueError, match="one objective; this study has 2"):
        study.optimize(lambda trial: (depth(trial), 1.0), 1)


@pytest.mark.parametrize("wrong", [{"method": "bl"}, {"kernal": "rbf"}, {"seed": -1}, {"n_startup_trials": 0}])
def test_settings_are_checked_at_once(wrong):
    with pytest.raises((UsageError, ValueError)):
        sampler(**wrong)


def test_optuna_is_imported_only_for_the_sampler():
    code = """if True:
        import sys, lbbench
        lbbench.Optimizer
        assert "optuna" not in sys.modules
        sys.modules["optuna"] = None
        import lbbench.integrations.optuna
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: LBSampler needs the package 'optuna': pip install 'lbbench[optuna]'" in done.stderr
