"""No text of any figure is cut, and none lies on another."""

import itertools

import made_up
import numpy as np
import pytest
from matplotlib import style as styles
from matplotlib.text import Text

from lbbench.plan import registry
from lbbench.records.thinning import LONG
from lbbench.report import views
from lbbench.report.collection import Collection
from lbbench.report.export import export
from lbbench.report.figures import FORMATS, Options, canvas
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
    study(out, 2, scale=1e-13, methods=METHODS[:3])


def huge(out):
    study(out, 2, scale=1e13, methods=METHODS[:3])


def long_runs(out):
    study(out, 4, steps=2 * LONG, seeds=1, methods=METHODS[:2])


def thinned(out):
    study(out / "whole", 2, steps=300, methods=METHODS[:3])
    export(Collection.at(out / "whole"), out / "few", thin=3)
    (out / "few/traces").rename(out / "traces")


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
    made_up.write(out, "lb", r"$\unheard$", 0, [3.0, 2.0, 1.0])


STUDIES = (one_problem, four_problems, nine_problems, tiny, huge, long_runs, thinned, ours, own_methods, dollars)


@pytest.fixture(scope="module", params=STUDIES, ids=lambda make: make.__name__)
def collection(request, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param.__name__)
    request.param(out)
    return Collection.at(out)


@pytest.fixture
def seen(monkeypatch):
    """Each text as it was drawn last: what it says, its box, and the canvas's width and height."""
    found = {}
    draw = Text.draw

    def noting(text, renderer):
        if text.get_visible() and text.get_text().strip():
            box, whole = text.get_window_extent(renderer), text.get_figure(root=True).bbox
            found[text] = (text.get_text(), box.extents, (whole.width, whole.height))
        draw(text, renderer)

    monkeypatch.setattr(Text, "draw", noting)
    return found


def assert_fits(seen):
    assert seen
    for words, (x0, y0, x1, y1), (right, top) in seen:
        assert 0 <= x0 < x1 <= right, f"{words!r} is cut at a side"
        assert 0 <= y0 < y1 <= top, f"{words!r} is cut at the top or bottom"
    x0, y0, x1, y1 = np.array([box for _, box, _ in seen]).T
    wide = np.minimum.outer(x1, x1) - np.maximum.outer(x0, x0)
    high = np.minimum.outer(y1, y1) - np.maximum.outer(y0, y0)
    pairs = np.argwhere(np.triu(np.minimum(wide, high) > 0.5, k=1))
    assert not len(pairs), [f"{seen[one][0]!r} lies on {seen[other][0]!r}" for one, other in pairs]


@pytest.mark.parametrize("name", list(views.figures()))
def test_no_text_is_cut_or_lies_on_another(name, collection, seen, tmp_path):
    _, figure = views.figures()[name]
    with styles.context(["default", canvas.STYLE]):
        for sheet in registry.find(figure.draw)(collection, Options()):
            for form in FORMATS:
                seen.clear()
                canvas.save(sheet, tmp_path, [form], "")
                assert_fits(list(seen.values()))


@pytest.mark.parametrize("text", ["a b c", "one_word_alone:that=is,long", "x" * 50, "short", "two\nlines of words", ""])
@pytest.mark.parametrize("room", [0.3, 0.7, 9.0])
def test_wrapped_text_is_whole_and_as_narrow_as_asked(text, room):
    found = wrapped(text, room, 8)
    assert all(width(line, 8) <= room for line in found.split("\n"))
    assert "".join(found.split()) == "".join(text.split())
    if room == 9.0:
        assert found == text
