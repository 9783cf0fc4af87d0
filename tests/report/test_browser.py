"""The report in headless Chromium: its switches, its console, and that it asks for nothing beyond itself."""

import importlib.util
import os
import shutil

import made_up
import pytest

from lbbench.records import thinning
from lbbench.report import html
from lbbench.report.collection import Collection

NAMES = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = "<img src=https://example.org/x onerror=alert(1)>"
DESKTOP = {"width": 1300, "height": 900}
CHARTS = "[...document.querySelectorAll('.chart')]"
REGRET = ".chart[data-kind=regret][data-problem='1'][data-regret=simple_regret]"


@pytest.fixture(scope="module")
def chromium():
    """A browser; where there is none these tests are skipped, but fail in CI."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    missing = [] if program else [f"no {', '.join(NAMES)} on the path"]
    missing += [] if importlib.util.find_spec("playwright") else ["the package playwright is not installed"]
    if missing:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("; ".join(missing))
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments, headless=True)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    made_up.study(out, problems=("berkenkamp", HOSTILE))
    made_up.write(out, "lb", "berkenkamp", 0, [3.0, 1.0, 0.5, *[0.0] * 5], g="t^0.25")
    made_up.write(out, "lb", "berkenkamp", 0, [2.0] * 8, g="<b>t</b>")
    collection = Collection.at(out)
    html.write(out, collection, collection.usual(), out / "report.html")
    return out / "report.html"


@pytest.fixture(scope="module")
def opened(chromium, report):
    """The report in a tab, and what went wrong in it or was asked for by it so far."""
    page = chromium.new_page(viewport=DESKTOP, color_scheme="light")
    troubles, requests = [], []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    yield page, troubles, requests
    page.close()


@pytest.fixture
def page(opened, report):
    """The report with its switches as at first; in the end nothing may have gone wrong, and nothing been asked for."""
    page, troubles, requests = opened
    page.set_viewport_size(DESKTOP)
    page.evaluate("controls.reset(); controls.dispatchEvent(new Event('change'))")
    yield page
    assert troubles == []
    assert requests == [report.as_uri()]


def test_long_runs_are_drawn_over_their_steps(chromium, tmp_path, monkeypatch):
    monkeypatch.setattr(thinning, "LONG", 99)
    monkeypatch.setattr(thinning, "DRAWN", 2)
    for seed in range(2):
        made_up.write(tmp_path, "lb", "toy", seed, [1.0] * 100)
        made_up.write(tmp_path, "mle", "toy", seed, [1.0] * 5)
    collection = Collection.at(tmp_path)
    html.write(tmp_path, collection, collection.usual(), tmp_path / "report.html")
    troubles = []
    page = chromium.new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    page.evaluate("controls.elements.by_seed.click()")
    kept = [1, 3, 10, 32, 100]
    for kind in ("regret", "seconds"):
        drawn = page.evaluate(f"document.querySelector('.chart[data-kind={kind}]').data.map(t => [t.name, t.x])")
        for label, steps in (("LB (iterations=100)", kept), ("MLE (iterations=5)", [1, 2, 3, 4, 5])):
            own = [x for name, x in drawn if name == label]
            lines = [[*steps, *steps[::-1]], [*steps, None, *steps, None], steps]
            assert own == (lines if kind == "regret" else [steps])
    assert troubles == []
    page.close()


def eventually(page, script):
    """Wait until a script is true. (Playwright's own way is against the report's security policy.)"""
    for _ in range(100):
        if page.evaluate(script):
            return
        page.wait_for_timeout(50)
    raise AssertionError(script)


def evaluate(page, script):
    """The value of a script about `chart`, the simple regret on berkenkamp."""
    return page.evaluate(f'() => {{ const chart = document.querySelector("{REGRET}"); return {script}; }}')


def drawn(page):
    """The lines as paths, `d` and stroke, that are really in the picture."""
    return evaluate(page, "[...chart.querySelectorAll('.js-line')].map(line => line.getAttribute('d'))")


def names(page, chart=REGRET):
    return page.evaluate("chart => [...new Set(document.querySelector(chart).data.map(trace => trace.name))]", chart)


def switch(page, label):
    page.locator("#controls label").filter(has_text=label).first.click()


def test_toggling_a_method_changes_every_chart(page):
    count = len(drawn(page))
    assert names(page) == ["LB", "MLE", "Random"]
    switch(page, "MLE")
    assert names(page) == ["LB", "Random"]
    assert len(drawn(page)) < count
    everywhere = page.evaluate(f"{CHARTS}.map(chart => chart.data.some(trace => trace.name === 'MLE'))")
    assert len(everywhere) == 10
    assert not any(everywhere)
    page.get_by_role("checkbox", name="MLE").press("Space")  # by keyboard
    assert names(page) == ["LB", "MLE", "Random"]
    assert len(drawn(page)) == count


def test_variants_are_off_at_first_and_all_and_none_are_a_click(page):
    switch(page, "g=t^0.25")
    assert "LB (g=t^0.25)" in names(page)
    page.get_by_role("button", name="none").click()
    assert drawn(page) == []
    page.get_by_role("button", name="all").click()
    assert len(names(page)) == 5


def test_the_log_switch_changes_the_axis(page):
    before = drawn(page)
    assert evaluate(page, "chart._fullLayout.yaxis.type") == "linear"
    switch(page, "log")
    types = page.evaluate(
        "[...document.querySelectorAll('.chart[data-kind=regret]')].map(c => c._fullLayout.yaxis.type)"
    )
    assert types == ["log"] * 6
    assert drawn(page) != before
    switch(page, "linear")
    assert drawn(page) == before


def test_a_log_axis_bears_zeros(page):
    switch(page, "g=t^0.25")  # ends at regret 0
    switch(page, "log")
    assert evaluate(page, "chart.data.every(trace => !trace.hoverinfo || trace.y.every(y => y > 0))")
    low, high = evaluate(page, "chart._fullLayout.yaxis.range")
    assert -3 < low < high < 2


def test_mean_and_median_are_those_of_the_seeds(page):
    middle = "chart.data.filter(trace => trace.name === 'LB' && trace.line.width === 2)[0].y"
    band = "chart.data.filter(trace => trace.name === 'LB' && trace.fill)[0].y"
    before = drawn(page)
    assert evaluate(page, middle)[0] == pytest.approx(2)  # of 1, 2, 3
    assert evaluate(page, band)[0] == pytest.approx(2 - 1 / 3**0.5, rel=1e-4)
    switch(page, "median")
    assert evaluate(page, middle)[0] == pytest.approx(2)
    assert evaluate(page, band)[0] == pytest.approx(1.5)
    assert evaluate(page, f"{band}.at(-1)") == pytest.approx(2.5)
    assert drawn(page) != before


def test_each_seed_adds_a_line(page):
    count, lines = len(drawn(page)), evaluate(page, "chart.data.length")
    switch(page, "each seed")
    assert evaluate(page, "chart.data.length") == lines + 3
    assert len(drawn(page)) == count + 9  # each seed of three methods
    seeds = "chart.data.filter(trace => trace.name === 'LB' && trace.line.width === 0.8)[0]"
    assert evaluate(page, f"{seeds}.y.filter(y => y !== null).length") == 3 * 8
    assert sorted(set(evaluate(page, f"{seeds}.customdata"))) == [0, 1, 2]


def test_hovering_shows_the_values_at_a_step(page):
    page.locator(REGRET).locator(".nsewdrag").first.hover()
    eventually(page, f"document.querySelector(\"{REGRET} .hoverlayer\").textContent.includes('±')")
    text = page.locator(REGRET).locator(".hoverlayer").text_content()
    for name in ("LB", "MLE", "Random"):
        assert name in text


def test_hostile_names_are_read_as_they_are(page):
    assert page.locator("h3").all_text_contents() == [HOSTILE, "berkenkamp"]
    assert page.locator("img").count() == 0
    switch(page, "<b>t</b>")
    ticks = page.locator(".chart[data-kind=lengthscales][data-problem='1'] .ytick").all_text_contents()
    assert sorted(ticks) == ["LB", "LB (g=<b>t</b>)", "MLE"]


def test_a_phone_does_not_scroll_sideways(page):
    page.set_viewport_size({"width": 390, "height": 844})
    eventually(page, "document.documentElement.scrollWidth <= innerWidth")


def test_a_dark_screen_gets_dark_charts_and_a_print_light_ones(page):
    red = f'parseInt(document.querySelector("{REGRET}")._fullLayout.xaxis.gridcolor.slice(1, 3), 16)'
    eventually(page, f"{red} > 128")
    page.emulate_media(color_scheme="dark")
    eventually(page, f"{red} < 128")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    eventually(page, f"{red} > 128")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    eventually(page, f"{red} < 128")
    page.emulate_media(color_scheme="light")
