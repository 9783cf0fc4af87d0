"""Numbers over seeds, against SciPy and by hand."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from lbbench.report import stats


def trace(problem, method, seed, regrets):
    n = len(regrets)
    return pd.DataFrame(
        {
            "problem": problem,
            "method": method,
            "run_id": f"{method}1",
            "seed": seed,
            "t": np.arange(n),
            "simple_regret": np.minimum.accumulate(regrets),
            "cumulative_regret": np.cumsum(regrets),
            "suggest_s": 0.5,
            "evaluate_s": 0.25,
        }
    )


FRAME = pd.concat(
    [
        trace("p", "mle", 0, [3.0, 2.0, 4.0]),
        trace("p", "lb", 0, [3.0, 1.0]),
        trace("p", "lb", 1, [5.0, 2.0]),
        trace("p", "lb", 2, [3.0, 6.0]),
    ]
)


def ends(problem, method, finals):
    """Runs of one step, by seed."""
    return pd.concat([trace(problem, method, seed, [final]) for seed, final in finals.items()])


def test_summary_is_over_the_last_rows():
    table = stats.summary(FRAME)
    assert table["method"].tolist() == ["mle", "lb"]  # in the order of the table
    lb = table.iloc[1]
    assert lb["runs"] == 3
    assert lb["simple_regret"] == pytest.approx(2)
    assert lb["simple_regret_se"] == pytest.approx(np.std([1, 2, 3], ddof=1) / math.sqrt(3))
    assert lb["cumulative_regret"] == pytest.approx(np.mean([4, 7, 9]))
    assert lb["seconds"] == pytest.approx(1.5)
    assert np.isnan(table.iloc[0]["simple_regret_se"])


def test_paired_differences_are_over_common_seeds():
    last = stats.final(FRAME)
    lb, mle = (last[last["method"] == method] for method in ("lb", "mle"))
    mean, _, count = stats.paired(lb, mle, "simple_regret")
    assert (mean, count) == (-1.0, 1)


def test_curves_are_the_moments_and_quartiles_of_each_step():
    values = np.random.default_rng(0).lognormal(size=(7, 5))
    frame = pd.concat([trace("p", "lb", seed, row) for seed, row in enumerate(values)])
    shuffled = frame.sample(frac=1, random_state=1)
    table = stats.curves(shuffled, "cumulative_regret")
    sums = np.cumsum(values, axis=1)
    assert table["t"].tolist() == [0, 1, 2, 3, 4]
    assert table["n"].tolist() == [7] * 5
    np.testing.assert_allclose(table["mean"], sums.mean(axis=0))
    np.testing.assert_allclose(table["se"], scipy_stats.sem(sums, axis=0))
    np.testing.assert_allclose(table["median"], np.median(sums, axis=0))
    np.testing.assert_allclose(table[["lower", "upper"]].T, np.quantile(sums, [0.25, 0.75], axis=0))


def test_curves_of_no_rows_are_none_with_the_same_columns():
    table = stats.curves(FRAME, "simple_regret")
    assert stats.curves(FRAME[:0], "simple_regret").columns.tolist() == table.columns.tolist()


def test_curves_count_the_seeds_that_a_step_has():
    table = stats.curves(FRAME, "simple_regret", by=["method"])
    assert table["method"].tolist() == ["mle"] * 3 + ["lb"] * 2  # in order of appearance
    assert table["n"].tolist() == [1, 1, 1, 3, 3]
    assert table["se"].isna().tolist() == [True] * 3 + [False] * 2


def test_ranks_share_ties_and_skip_what_not_all_have():
    frame = pd.concat(
        [
            ends("p", "a", {0: 1.0, 1: 2.0, 2: 5.0}),
            ends("p", "b", {0: 1.0, 1: 1.0, 2: 5.0}),
            ends("p", "c", {0: 3.0, 1: 3.0}),  # seed 2 is missing, and so is not ranked
        ]
    )
    table = stats.ranks(frame).set_index("method")
    assert table.index.tolist() == ["b", "a", "c"]
    assert table["simple_regret"].tolist() == [1.25, 1.75, 3.0]  # b: 1.5 and 1; a: 1.5 and 2
    assert table["blocks"].tolist() == [2, 2, 2]


def test_ranks_agree_with_scipy_over_problems_and_seeds():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 4, size=(12, 3)).astype(float)  # many ties
    frame = pd.concat(
        ends(f"p{i % 2}", method, {i // 2: values[i, j]}) for i in range(12) for j, method in enumerate("abc")
    )
    table = stats.ranks(frame).set_index("method").loc[list("abc")]
    np.testing.assert_allclose(table["simple_regret"], scipy_stats.rankdata(values, axis=1).mean(axis=0))


def test_there_are_no_ranks_without_a_common_seed():
    table = stats.ranks(pd.concat([ends("p", "a", {0: 1.0}), ends("p", "b", {1: 1.0})]))
    assert table["blocks"].tolist() == [0, 0]
    assert table["simple_regret"].isna().all()


def test_holm_by_hand():
    # ascending 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04; the last may not fall below 0.06
    corrected = stats.holm(pd.Series([0.01, 0.04, 0.03, 0.005]))
    np.testing.assert_allclose(corrected, [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(stats.holm(pd.Series([0.9, 0.8])), [1, 1])


def test_wilcoxon_is_scipys_on_common_seeds():
    rng = np.random.default_rng(5)
    lb, mle, mcmc = rng.normal(size=12), rng.normal(1, 1, size=12), rng.normal(0.3, 1, size=12)
    frame = pd.concat(
        [
            ends("p", "lb", dict(enumerate(lb))),
            ends("p", "mle", dict(enumerate(mle))),
            ends("p", "mcmc", dict(enumerate(mcmc[:9]))),  # fewer seeds
        ]
    )
    table = stats.wilcoxon(frame).set_index(["method", "regret"])
    raw = {"mle": scipy_stats.wilcoxon(lb, mle).pvalue, "mcmc": scipy_stats.wilcoxon(lb[:9], mcmc[:9]).pvalue}
    assert raw["mle"] < raw["mcmc"]
    mle, mcmc = table.loc[("mle", "simple_regret")], table.loc[("mcmc", "simple_regret")]
    assert (mle["n"], mcmc["n"]) == (12, 9)
    assert mle["median"] < 0
    # two regrets that are the same for runs of one step: the family has four tests
    assert mle["p"] == pytest.approx(min(1, 4 * raw["mle"]))
    assert mcmc["p"] == pytest.approx(min(1, max(2 * raw["mcmc"], 3 * raw["mle"])))


def test_wilcoxon_of_equal_runs_is_1_without_a_warning():
    frame = pd.concat([ends("p", method, {0: 0.0, 1: 2.0, 2: 0.0}) for method in ("lb", "mle")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = stats.wilcoxon(frame)
    assert table["p"].tolist() == [1.0, 1.0]
    assert table["median"].tolist() == [0.0, 0.0]


def test_wilcoxon_of_one_seed_and_of_a_few_zeros_warns_of_nothing():
    frame = pd.concat(
        [
            ends("p", "lb", {0: 0.0, 1: 0.0, 2: 1.0, 3: 2.0}),
            ends("p", "mle", {0: 0.0, 1: 0.0, 2: 2.0, 3: 4.0}),
            ends("p", "mcmc", {3: 4.0}),
        ]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = stats.wilcoxon(frame)
    assert table["p"].tolist() == [1.0] * 4
    assert table["n"].tolist() == [4, 1, 4, 1]


@pytest.mark.parametrize("other", [{5: 1.0}, {}])
def test_there_are_no_tests_without_lb_or_a_common_seed(other):
    runs = [ends("p", "mle", {0: 1.0}), ends("p", "mcmc", {0: 2.0})]
    table = stats.wilcoxon(pd.concat(runs + ([ends("p", "lb", other)] if other else [])))
    assert len(table) == 0
    assert table.columns.tolist() == ["problem", "method", "regret", "n", "median", "p"]


def test_wilcoxon_is_problem_by_problem():
    frame = pd.concat(
        [ends("p", "lb", {0: 1.0}), ends("p", "mle", {0: 2.0}), ends("q", "mle", {0: 2.0}), ends("q", "mcmc", {0: 2.0})]
    )
    assert set(stats.wilcoxon(frame)["problem"]) == {"p"}
