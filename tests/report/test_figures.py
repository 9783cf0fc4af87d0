"""What is drawn, against numbers computed here from the traces on disk."""

import itertools
import math
from dataclasses import replace

import made_up
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from lbbench.gp.kernels import KERNELS
from lbbench.methods.oracle import estimate_lengthscale
from lbbench.plan.settings import Settings
from lbbench.plan.sweeps import plan
from lbbench.problems.synthetic import berkenkamp
from lbbench.records.run import runs
from lbbench.records.thinning import DRAWN, steps
from lbbench.report import figures, style, views
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.report.figures import Options, ablation, candidates, canvas, lengthscales, regrets, times, toy
from lbbench.report.lengthscales import BINS
from lbbench.report.stats import curves
from lbbench.study.runner import execute

QUICK = "problem=berkenkamp iterations=20 raw_samples=32 jobs=1"
STUDIES = (
    f"method=lb,mle,random {QUICK} seeds=3",
    f"method=agpucb {QUICK} seeds=2",
    f"method=lb,agpucb {QUICK} seeds=2 g=t^0.25,t^0.5,t^0.75",
)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    for study in STUDIES:
        planned = plan([*study.split(), f"out={folder}"])
        assert not any(outcome.failure for outcome in execute(runs(planned), planned.study, lambda outcome: None))
    return folder


@pytest.fixture(scope="module")
def collection(out):
    return Collection.at(out)


@pytest.fixture(scope="module")
def frame(out):
    return pd.read_parquet(out / "traces")


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def named(axes):
    """The lines of a panel that stand in the legend, by their label."""
    return dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))


def of(frame, method, growth="sqrt(t)"):
    return frame[(frame["method"] == method) & (frame["growth"].isna() | (frame["growth"] == growth))]


def band(axes, colour):
    """The lower and upper edge by t of the band drawn in a colour, without the ends that close it."""
    (found,) = [patch for patch in axes.collections if np.allclose(patch.get_facecolor()[0, :3], colour)]
    vertices = found.get_paths()[0].vertices
    edges = pd.DataFrame(vertices, columns=["t", "y"]).groupby("t")["y"].agg(["min", "max"])
    return edges["min"].to_numpy(), edges["max"].to_numpy()


def rgb(method):
    return [int(style.colour(method)[i : i + 2], 16) / 255 for i in (1, 3, 5)]


# Figure 1


def gp(x, y, at, lengthscale):
    """Posterior mean and standard deviation with the paper's RBF kernel, from its textbook formula."""

    def k(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2) / lengthscale**2)

    scale = y.std(ddof=1)
    inverse = np.linalg.inv(k(x, x) + 1e-4 * np.eye(len(x)))
    mean = k(at, x) @ inverse @ ((y - y.mean()) / scale)
    variance = 1 - np.einsum("ij,jk,ik->i", k(at, x), inverse, k(at, x))
    return y.mean() + scale * mean, scale * np.sqrt(np.maximum(variance, 0))


def test_figure1_shows_the_gp_of_each_length_scale():
    (sheet,) = toy.draw(Collection([], [], []))
    x = np.array(toy.OBSERVED)
    y = berkenkamp().evaluate(x[:, None])
    assert len(x) == 5
    for panel in sheet.figure.axes:
        lengthscale = float(panel.get_title().rpartition("= ")[2])
        line = named(panel)["GP mean"]
        mean, std = gp(x, y, line.get_xdata(), lengthscale)
        assert line.get_ydata() == pytest.approx(mean, abs=5e-3)  # the title rounds θ
        low, high = band(panel, rgb("lb"))
        assert high - low == pytest.approx(2 * std, abs=5e-3)
        assert (panel.get_xlabel(), len(panel.lines)) == ("x", 4)
    assert sheet.figure.axes[0].get_ylabel() == "f(x)"
    assert "objective" in legend(sheet.figure)


def test_figure1_tells_the_papers_story():
    """With the length scale of maximum likelihood UCB stays at x = 1; with the optimal one it spots the hidden peak."""
    lengthscale = toy.fit_likelihood(toy.observed())
    around = [log_likelihood(lengthscale * factor) for factor in (0.9, 1.0, 1.1)]
    assert max(around) == around[1]
    assert toy.choices(toy.fit_likelihood) == [1.0] * toy.STEPS
    chosen = toy.choices(lambda data: toy.OPTIMAL)
    assert max(berkenkamp().evaluate(np.array(chosen)[:, None])) > 0.73  # f* = 0.745, and f(1) = 0.6


def log_likelihood(lengthscale):
    from scipy.stats import multivariate_normal

    x = np.array(toy.OBSERVED)
    y = berkenkamp().evaluate(x[:, None])
    covariance = np.exp(-((x[:, None] - x[None]) ** 2) / lengthscale**2) + 1e-4 * np.eye(len(x))
    return multivariate_normal(np.zeros(len(x)), covariance).logpdf((y - y.mean()) / y.std(ddof=1))


# Figure 2


def test_figure2_has_the_proportions_of_each_method(collection, frame):
    (sheet,) = lengthscales.draw(collection)
    panels = sheet.figure.axes
    assert [panel.texts[0].get_text() for panel in panels] == ["LB", "A-GP-UCB", "MLE"]  # random chooses none
    optimum = estimate_lengthscale(berkenkamp(), KERNELS["matern52"], 1e-4)
    for panel, method in zip(panels, ("lb", "agpucb", "mle"), strict=True):
        chosen = of(frame, method).query("t > 0")["lengthscale"].dropna()
        (polygon,) = panel.patches
        corners = polygon.get_xy()
        bottom_to_top = corners[: 2 * BINS + 1]
        edges, tops = bottom_to_top[::2, 0], bottom_to_top[1::2, 1]
        expected, _ = np.histogram(chosen, edges)
        assert tops == pytest.approx(expected / len(chosen))
        assert tops.sum() == pytest.approx(1)
        assert np.diff(np.log(edges)) == pytest.approx(np.log(edges[1] / edges[0]))
        assert panel.get_xscale() == "log"
        (line,) = panel.lines
        assert line.get_xdata() == [optimum, optimum]
        low, high = panel.get_xlim()
        assert low < optimum < high
    assert panels[0].get_title() == "berkenkamp (n = 2–3)"
    assert panels[-1].get_xlabel() == "length scale θ"
    assert legend(sheet.figure) == [lengthscales.OPTIMUM]


def test_figure2_shows_michalewicz_unless_told_otherwise(collection):
    def elsewhere(variant):
        settings = Settings({**variant.settings.tree, "problem": {"name": "michalewicz", "dim": 5}})
        return replace(variant, problem="michalewicz", settings=settings)

    twice = Collection([*collection.variants, *map(elsewhere, collection.variants)], [], collection.traces)
    assert lengthscales.draw(twice) == []  # no rows of that problem are at hand
    (sheet,) = lengthscales.draw(twice, Options(problems=["berkenkamp"]))
    assert {variant.problem for variant in sheet.variants} == {"berkenkamp"}


# Figure 3


def test_figure3_has_means_and_standard_errors(collection, frame):
    (sheet,) = regrets.draw(collection)
    assert legend(sheet.figure) == ["LB", "A-GP-UCB", "MLE", "Random"]
    note = sheet.figure.legends[0].get_title().get_text().replace("\n", " ")
    assert note.startswith("mean ± standard error over n seeds")
    assert note.endswith("; raw_samples=32, iterations=20")
    simple, cumulative = sheet.figure.axes
    assert simple.get_title() == "berkenkamp (n = 2–3)"
    assert (simple.get_ylabel(), cumulative.get_ylabel()) == ("simple regret", "cumulative regret")
    assert cumulative.get_xlabel() == "iteration t"
    for panel, column in ((simple, "simple_regret"), (cumulative, "cumulative_regret")):
        lines = named(panel)
        assert len(panel.lines) == len(lines) == 4
        for method, name in (("lb", "LB"), ("agpucb", "A-GP-UCB"), ("mle", "MLE"), ("random", "Random")):
            own = of(frame, method).query("t >= 0").pivot(index="t", columns="seed", values=column)
            mean, error = own.mean(axis=1), own.std(axis=1, ddof=1) / math.sqrt(own.shape[1])
            assert lines[name].get_xdata().tolist() == list(range(21))
            assert lines[name].get_ydata() == pytest.approx(mean.to_numpy())
            assert lines[name].get_color() == style.colour(method)
            low, high = band(panel, rgb(method))
            assert low == pytest.approx((mean - error).to_numpy())
            assert high == pytest.approx((mean + error).to_numpy())
            table = curves(of(frame, method).query("t >= 0"), column)
            assert lines[name].get_ydata() == pytest.approx(table["mean"].to_numpy())


@pytest.mark.parametrize(
    ("means", "scale", "floor"),
    [
        ([3.0, 0.5, 0.02], "log", None),
        ([3.0, 0.5, 0.02, 0.0], "symlog", 0.01),
        ([0.09, 1e-9], "symlog", 0.01),
        ([0.0, 0.0], "symlog", 1.0),
    ],
)
def test_simple_regret_is_on_a_log_axis_down_to_a_stated_zero(means, scale, floor):
    axes = Figure().subplots()
    axes.plot(means)
    regrets.scale_simple_regret(axes, pd.Series(means))
    assert axes.get_yscale() == scale
    assert ("linear below" in regrets.note(axes.figure)) == (scale == "symlog")
    if scale == "symlog":
        assert axes.get_ylim()[0] == 0
        assert axes.yaxis.get_transform().linthresh == pytest.approx(floor)


def test_one_seed_has_a_mean_and_no_band(out):
    (sheet,) = regrets.draw(Collection.at(out, {"seeds": ["1"], "method": ["mle"]}))
    simple, _ = sheet.figure.axes
    assert simple.get_title() == "berkenkamp (n = 1)"
    assert len(simple.lines) == 1
    assert not any(len(path.vertices) for patch in simple.collections for path in patch.get_paths())


def test_cumulative_is_the_lower_row_of_figure3(collection):
    (sheet,), (three,) = regrets.draw_cumulative(collection), regrets.draw(collection)
    (panel,), (_, below) = sheet.figure.axes, three.figure.axes
    assert (sheet.name, panel.get_title()) == ("cumulative", "berkenkamp (n = 2–3)")
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("iteration t", "cumulative regret")
    assert legend(sheet.figure) == legend(three.figure)
    for name, line in named(below).items():
        assert named(panel)[name].get_xydata().tolist() == line.get_xydata().tolist()
        assert named(panel)[name].get_markevery() == line.get_markevery()
        assert named(panel)[name].get_color() == line.get_color()


def test_cumulative_regret_of_long_runs_is_on_logarithmic_axes(tmp_path):
    """So that its slope is the power of t with which it grows: here a half."""
    for problem, kernel in (("one", "rbf"), ("two", "matern32")):
        for method in ("lb", "mle"):
            regret = [math.sqrt(t) - math.sqrt(t - 1) for t in range(1, 3_001)]
            made_up.write(tmp_path, method, problem, 0, regret, kernel=kernel, norm=2.0)
    (sheet,) = regrets.draw_cumulative(Collection.at(tmp_path))
    first, second = sheet.figure.axes
    assert first.get_title() == "one (n = 1)\nkernel=rbf"
    assert second.get_title() == "two (n = 1)\nkernel=matern32"
    assert set(legend(sheet.figure)) == {"LB", "MLE"}
    for panel in (first, second):
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert panel.get_xlim() == (1, 3_000)
        t, regret = panel.lines[0].get_xydata()[1:].T
        assert np.diff(np.log(regret)) == pytest.approx(0.5 * np.diff(np.log(t)))
    assert first.get_ylim() == second.get_ylim()


@pytest.mark.parametrize(("count", "rows", "columns"), [(3, 1, 3), (4, 1, 4), (5, 2, 3), (7, 2, 4)])
def test_cumulative_wraps_many_problems(count, rows, columns, tmp_path):
    for problem in range(count):
        made_up.write(tmp_path, "lb", f"problem {problem}", 0, [1.0] * 9)
    (sheet,) = regrets.draw_cumulative(Collection.at(tmp_path))
    axes = sheet.figure.axes
    assert axes[0].get_gridspec().get_geometry() == (rows, columns)
    titles = [panel.get_title().replace("\n", " ") for panel in axes if panel.axison]
    assert titles == [f"problem {i} (n = 1)" for i in range(count)]


def test_bands_of_a_standard_deviation(collection, frame):
    for draw in (regrets.draw, regrets.draw_cumulative):
        (sheet,) = draw(collection, Options(band="sd"))
        assert sheet.figure.legends[0].get_title().get_text().startswith("mean ± standard deviation over n seeds")
        own = of(frame, "lb").query("t >= 0").pivot(index="t", columns="seed", values="cumulative_regret")
        low, high = band(sheet.figure.axes[-1], rgb("lb"))
        assert high - low == pytest.approx(2 * own.std(axis=1, ddof=1).to_numpy())


def test_a_curve_of_few_steps_is_that_of_all_of_them(tmp_path):
    """Ten steps per decade leave the mean within a hundredth of its largest value, and markers that are apart."""
    T = 3_000
    for seed in range(3):
        made_up.write(tmp_path, "random", "toy", seed, [(1 + seed) / math.sqrt(t) for t in range(1, T + 1)])
    export(Collection.at(tmp_path), tmp_path / "paper", thin=10)
    (sheet,) = regrets.draw_cumulative(Collection.at(tmp_path / "paper"))
    (line,) = sheet.figure.axes[0].lines
    every = np.cumsum([2 / math.sqrt(t) for t in range(1, T + 1)])
    drawn = np.interp(np.arange(1, T + 1), line.get_xdata(), line.get_ydata())
    assert len(line.get_xdata()) < 40
    assert np.abs(drawn - every).max() < 0.01 * every[-1]
    marked = np.log10(line.get_xdata()[line.get_markevery()])  # on a logarithmic axis
    assert len(marked) >= canvas.MARKS
    assert np.diff(marked).min() > math.log10(T) / canvas.MARKS / 2
    (line,) = regrets.draw(Collection.at(tmp_path / "paper"))[0].figure.axes[1].lines  # on a linear one
    marked = line.get_xdata()[line.get_markevery()]
    assert len(marked) >= canvas.MARKS
    assert np.diff(marked).min() > T / canvas.MARKS / 2
    whole = Collection.at(tmp_path)
    assert len(regrets.draw(whole)[0].figure.axes[0].lines[0].get_xdata()) == 1 + len(steps(T, DRAWN))


def test_what_thinned_runs_lack_is_not_drawn_of_them(tmp_path):
    made_up.study(tmp_path, steps=50)
    export(Collection.at(tmp_path), tmp_path / "paper", thin=5)
    thinned = Collection.at(tmp_path / "paper")
    assert lengthscales.draw(thinned, Options(problems=["toy"])) == candidates.draw(thinned) == []
    assert regrets.draw(thinned)
    assert times.draw(thinned)


# Figure 4


def test_figure4_finds_the_growth_functions_at_hand(collection, frame):
    (sheet,) = ablation.draw(collection)
    assert sheet.name == "figure4"
    above, below = sheet.figure.axes[:2], sheet.figure.axes[2:]
    assert [panel.get_title() for panel in above] == ["LB (n = 2–3)", "A-GP-UCB (n = 2)"]
    growths = ["sqrt(t)", "t^0.25", "t^0.75"]  # which t^0.5 is as well
    assert [label for label in named(above[0])] == ["g=" + growth for growth in growths]
    for growth in growths:
        means = of(frame, "lb", growth).query("t >= 0").groupby("t")["simple_regret"].mean()
        assert named(above[0])["g=" + growth].get_ydata() == pytest.approx(means.to_numpy())
    assert [label for label in named(above[1])] == ["g=" + growth for growth in growths]
    assert [len(panel.patches) for panel in below] == [3, 3]
    assert lengthscales.OPTIMUM in legend(sheet.figure)


def test_figure4_varies_the_settings_that_it_is_given(collection):
    only = [variant for variant in collection.variants if variant.changed.get("g") in ("t^0.25", "t^0.75")]
    (sheet,) = ablation.draw(replace(collection, variants=only), Options(swept=("g", "theta0")))
    assert sheet.name == "figure4-g-theta0"
    assert legend(sheet.figure)[:2] == ["g=t^0.25, theta0=mle", "g=t^0.75, theta0=mle"]
    same = {label: line.get_color() for label, line in named(sheet.figure.axes[0]).items()}
    assert same == {label: line.get_color() for label, line in named(sheet.figure.axes[1]).items()}


def test_figure4_wraps_many_methods_into_rows_with_the_same_axes(tmp_path):
    methods = ("lb", "lnb", "agpucb", "mle", "mcmc", "oracle", "random")
    for pace, method in enumerate(methods, 1):
        for kernel in ("matern52", "rbf"):
            regrets_ = [1 / t ** (1 / pace) for t in range(1, 40)]
            made_up.write(tmp_path, method, "toy", 0, regrets_, lengthscale=0.5 * pace, kernel=kernel)
    (sheet,) = ablation.draw(Collection.at(tmp_path))
    sheet.figure.draw_without_rendering()
    assert len(sheet.figure.axes) == 16
    titled = [panel for panel in sheet.figure.axes if panel.get_title()]
    assert [panel.get_title() for panel in titled] == [f"{style.label(method)} (n = 1)" for method in methods]
    boxes = [panel.title.get_window_extent() for panel in titled]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert max(box.x1 for box in boxes) <= sheet.figure.bbox.width
    assert len({(panel.get_xlim(), panel.get_ylim(), tuple(panel.get_yticks())) for panel in titled}) == 1
    below = [panel for panel in sheet.figure.axes if panel.patches]
    assert len(below) == len(methods) - 1  # random chooses no length scale
    assert len({(panel.get_xlim(), panel.get_ylim()) for panel in below}) == 1
    assert [panel.axison for panel in sheet.figure.axes].count(False) == 2


def test_an_ablation_differs_in_one_setting_only(collection):
    lb = next(variant for variant in collection.usual() if variant.method == "lb")

    def other(run_id, **changed):
        settings = Settings({**lb.settings.tree, "method": {**lb.settings["method"], **changed}})
        return replace(lb, run_id=run_id, settings=settings, changed=lb.changed | changed)

    both = other("a", theta0=0.2, g="t^0.75")
    assert ablation.varying([lb, both]) == []
    assert ablation.varying([lb, other("b", theta0=10.0), other("c", theta0=0.2)]) == ["theta0"]
    assert ablation.varying([lb, other("b", theta0=0.5), both, other("d", g="t")]) == ["g"]
    found = ablation.ablations([lb, other("b", theta0=10.0), other("c", theta0=0.2), both], ("theta0",), at_least=2)
    assert [variant.settings["method"]["theta0"] for variant in found["lb"]] == [0.2, 10.0, "mle"]


# Time and candidates


def test_time_has_the_median_seconds_per_step(collection, frame):
    (sheet,) = times.draw(collection)
    (panel,) = sheet.figure.axes
    assert (panel.get_xlabel(), panel.get_ylabel(), panel.get_yscale()) == ("iteration t", "seconds per step", "log")
    for method, name in (("lb", "LB"), ("random", "Random")):
        medians = of(frame, method).query("t > 0").groupby("t")["suggest_s"].median()
        assert named(panel)[name].get_ydata() == pytest.approx(medians.to_numpy())


def test_candidates_are_those_of_the_trace(collection, frame):
    (sheet,) = candidates.draw(collection)
    (panel,) = sheet.figure.axes
    assert panel.get_title() == "berkenkamp, seed 0"
    rows = of(frame, "lb").query("t > 0 and seed == 0")
    dots, crosses = named(panel)["chosen"], named(panel)["eliminated"]
    assert dots.get_xdata().tolist() == rows["t"].tolist()
    assert dots.get_ydata().tolist() == rows["lengthscale"].tolist()
    dropped = [(t, theta) for t, gone in zip(rows["t"], rows["eliminated"], strict=True) for theta in gone]
    assert list(zip(crosses.get_xdata(), crosses.get_ydata(), strict=True)) == dropped
    expected: dict[float, list[int]] = {}
    for t, alive in zip(rows["t"], rows["candidates"], strict=True):
        for theta in alive:
            expected.setdefault(theta, []).append(t)
    segments = panel.collections[0].get_segments()
    drawn = {segment[0, 1]: (segment[0, 0], segment[1, 0]) for segment in segments}
    assert drawn == {theta: (min(steps), max(steps)) for theta, steps in expected.items()}


def test_candidates_of_another_seed(out):
    (sheet,) = candidates.draw(Collection.at(out, {"seeds": ["2"]}))
    assert sheet.figure.axes[0].get_title() == "berkenkamp, seed 2"


# Files


def test_the_same_traces_give_the_same_bytes(collection, tmp_path):
    names = ["2", "candidates"]
    first, again = (
        [file for drawn in figures.draw(collection, names, tmp_path / folder) for file in drawn.files]
        for folder in ("a", "b")
    )
    assert [file.name for file in first] == ["figure2.png", "figure2.pdf", "candidates.png", "candidates.pdf"]
    for one, other in zip(first, again, strict=True):
        content = one.read_bytes()
        assert content == other.read_bytes()
        if one.suffix == ".pdf":
            assert b"/CIDFontType2" in content  # TrueType, type 42
            assert b"/Type3" not in content


def test_figures_without_traces_are_named(tmp_path):
    drawn = list(figures.draw(Collection([], [], []), list(views.figures()), tmp_path, ["png"], suffix="-x"))
    assert [file.name for figure in drawn for file in figure.files] == ["figure1.png"]
    assert [figure.name for figure in drawn if not figure.files] == ["2", "3", "4", "time", "candidates", "cumulative"]


# Canvas


def test_markers_of_all_methods_are_apart():
    t = pd.Series(range(251))
    marks = {method: canvas.look(method, t)["markevery"] for method in style.ORDER}
    assert marks["lb"] == [0, 50, 100, 150, 200, 250]
    assert marks["random"] == [42, 92, 142, 192, 242]
    assert len({first for first, *_ in marks.values()}) == len(style.ORDER)
    every = [0, 1, 3, 10, 30, 100, 250]
    assert canvas.look("lb", pd.Series(every))["markevery"] == [0, 5, 6]  # what comes next after 0, 50, 100, …


def test_every_method_has_a_look_of_its_own():
    looks = [style.look(method) for method in style.ORDER] + list(style.SPARE)
    for part in ("colour", "marker"):
        assert len({getattr(look, part) for look in looks if look not in style.SPARE}) == len(style.ORDER)
    assert len({look.colour for look in looks}) == len(looks)


def test_a_long_legend_makes_a_figure_higher_and_no_panel_lower():
    heights = {}
    for entries in (1, 6):
        figure, axes = canvas.grid(1, 1, 4.5, 1.9)
        for i in range(entries):
            axes[0, 0].plot([0, 1], [0, i], label=f"elimination=posterior, theta0={i}")
        canvas.add_legend(figure, "a note", {})
        figure.draw_without_rendering()
        heights[entries] = axes[0, 0].get_position().height * figure.get_figheight()
    assert heights[6] == pytest.approx(heights[1], rel=0.1)


@pytest.mark.parametrize(
    ("limits", "shown"),
    [((0.02, 0.9), ["0.03", "0.1", "0.3"]), ((1e-7, 1e-2), ["$\\mathdefault{10^{-6}}$", "$\\mathdefault{10^{-4}}$"])],
)
def test_labels_of_log_axes_are_plain_numbers_where_they_are_short(limits, shown):
    axes = Figure().subplots()
    axes.set(yscale="log", ylim=limits)
    canvas.label_decades(axes.yaxis)
    axes.figure.draw_without_rendering()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert set(shown) <= set(labels)
    assert not any("e-" in label for label in labels)
