"""No text of any figure is cut, and none lies on another."""

import itertools

import made_up
import pytest
from matplotlib import style as styles
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf, PdfFile, RendererPdf
from matplotlib.text import Text

from lbbench.plan import registry
from lbbench.records.thinning import LONG
from lbbench.report import views
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.report.figures import Options, canvas
from lbbench.report.figures.fitting import width, wrapped

METHODS = ("lb", "lnb", "agpucb", "mle", "mcmc", "igpucb", "gpucb", "oracle")
LONG_NAME = "somebodys_laboratory.campaigns.autumn:yield_of_the_second_reactor"
CHANGED = {"kernel": "matern32", "norm": 12345.678, "raw_samples": 1024, "restarts": 20, "regulariser": 0.00012345,
           "beta": "theory", "delta": 0.012345}  # fmt: skip


def study(out, problems, steps=12, seeds=2, scale=1.0, methods=METHODS):
    """Each method with its own changes on problems whose names are long, and other changes on one of them."""
    for (pace, method), place, seed in itertools.product(enumerate(methods, 1), range(problems), range(seeds)):
        regrets = [scale * (1 + seed) / t ** (1 / pace) for t in range(1, steps + 1)]
        few = {key: value for key, value in list(CHANGED.items())[: 1 + (pace + place) % len(CHANGED)]}
        made_up.write(out, method, f"{LONG_NAME}_{place}", seed, regrets, lengthscale=0.1 * pace, **few)
        if place == 0:
            made_up.write(out, method, f"{LONG_NAME}_{place}", seed, regrets, **(few | {"delta": 0.31}))


def one_problem(out):
    study(out, 1)


def four_problems(out):
    study(out, 4)


def nine_problems(out):
    study(out, 9, seeds=1)


def tiny(out):
    study(out, 4, scale=1e-13)


def huge(out):
    study(out, 4, scale=1e13)


def long_runs(out):
    study(out, 4, steps=2 * LONG, seeds=1, methods=METHODS[:2])


def thinned(out):
    study(out / "whole", 4, steps=300)
    export(Collection.at(out / "whole"), out, thin=3)


def ours(out):
    """Names and settings as in configs/, under a value that all share."""
    made_up.study(out, methods=("lb", "lnb", "mle"), problems=("berkenkamp", "michalewicz", "agnp", "crossedbarrel"))
    for method, kernel in itertools.product(("lb", "agpucb"), ("rbf", "matern32")):
        made_up.write(out, method, "michalewicz", 0, [1.0] * 250, kernel=kernel)


def own_methods(out):
    for method in ("somebody:a_method_whose_name_is_long_and_does_not_end_soon_after_this_word", "other:Best"):
        settings = {"kernel": "rbf", "norm": 2.5}
        made_up.write(out, method, LONG_NAME, 0, [3.0, 2.0, 1.0], **settings)


def dollars(out):
    made_up.write(out, "lb", "costs_$a_and_$b", 0, [3.0, 2.0, 1.0])
    made_up.write(out, "lb", "$", 0, [3.0, 2.0, 1.0])


STUDIES = (one_problem, four_problems, nine_problems, tiny, huge, long_runs, thinned, ours, own_methods, dollars)


@pytest.fixture(scope="module", params=STUDIES, ids=lambda make: make.__name__)
def collection(request, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param.__name__)
    request.param(out)
    return Collection.at(out)


def pdf_renderer(figure, file):
    FigureCanvasPdf(figure)
    figure.set_dpi(72)
    return RendererPdf(PdfFile(file), 72, figure.get_figheight(), figure.get_figwidth())


def texts(figure, renderer):
    """Each text that is seen with its box, in pixels."""
    beside = [text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in axis.findobj(Text)]
    seen = [text for text in figure.findobj(Text) if text not in beside]
    seen += [text for axes in figure.axes if axes.axison for axis in (axes.xaxis, axes.yaxis) for text in of(axis)]
    return {text: text.get_window_extent(renderer) for text in seen if text.get_visible() and text.get_text().strip()}


def of(axis):
    """What stands beside an axis; ticks beyond its ends are not drawn."""
    low, high = sorted(axis.get_transform().transform(axis.get_view_interval()))
    slack = 1e-9 * (high - low)
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        if low - slack <= axis.get_transform().transform([tick.get_loc()])[0] <= high + slack:
            yield from (tick.label1, tick.label2)
    yield from (axis.label, axis.offsetText)


def assert_fits(figure, renderer):
    boxes = texts(figure, renderer)
    assert boxes
    for text, box in boxes.items():
        inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height
        assert inside, f"{text.get_text()!r} is cut: {box} in {figure.bbox}"
    for (one, box), (other, its) in itertools.combinations(boxes.items(), 2):
        shared = min(box.x1, its.x1) - max(box.x0, its.x0), min(box.y1, its.y1) - max(box.y0, its.y0)
        assert min(shared) <= 0.5, f"{one.get_text()!r} lies on {other.get_text()!r}: {box}, {its}"


@pytest.mark.parametrize("name", [name for name in views.figures()])
def test_no_text_is_cut_or_lies_on_another(name, collection, tmp_path):
    _, figure = views.figures()[name]
    with styles.context(["default", canvas.STYLE]):
        for sheet in registry.find(figure.draw)(collection, Options()):
            FigureCanvasAgg(sheet.figure)
            sheet.figure.set_dpi(canvas.STYLE["savefig.dpi"])
            sheet.figure.draw_without_rendering()
            assert_fits(sheet.figure, sheet.figure.canvas.get_renderer())
            canvas.save(sheet, tmp_path, ("png", "pdf"), "")
            with (tmp_path / "a.pdf").open("wb") as file:
                assert_fits(sheet.figure, pdf_renderer(sheet.figure, file))


@pytest.mark.parametrize("text", ["a b c", "one_word_alone:that=is,long", "x" * 50, "short", "two\nlines of words", ""])
@pytest.mark.parametrize("room", [0.3, 0.7, 9.0])
def test_wrapped_text_is_whole_and_as_narrow_as_asked(text, room):
    found = wrapped(text, room, 8)
    assert all(width(line, 8) <= room for line in found.split("\n"))
    assert "".join(found.split()) == "".join(text.split())
    if room == 9.0:
        assert found == text
