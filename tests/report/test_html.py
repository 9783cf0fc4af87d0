"""The report as a file; what it does in a browser is in test_browser."""

import base64
import hashlib
import json
import re
import shlex
from html.parser import HTMLParser

import made_up
import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lbbench import cli
from lbbench.errors import UsageError
from lbbench.plan.sweeps import plan
from lbbench.records import traces
from lbbench.report import html, interactive, sections
from lbbench.report.collection import Collection
from lbbench.report.tables import Estimate, Table


class Page(HTMLParser):
    """What a browser would see: the text of each tag that matters here, the ids, and all that could load something."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.ids, self.links, self.sources, self.cells, self.text = [], [], [], [], [], ""
        self.policy = self.open = self.kind = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        self.open = tag
        self.ids += [own["id"]] if "id" in own else []
        self.links += [own["href"]] if "href" in own else []
        self.sources += [own[key] for key in ("src", "srcset", "action", "data") if key in own]
        self.sources += [tag] if tag in ("link", "iframe", "object", "embed", "base") else []
        if tag == "script":
            self.scripts.append([own.get("type"), ""])
        if tag == "td":
            self.cells.append("")
        if own.get("http-equiv") == "Content-Security-Policy":
            self.policy = own["content"]

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open == "script":
            self.scripts[-1][1] += data
        elif self.open != "style":
            self.text += data
            if self.open == "td":
                self.cells[-1] += data


def write(out, **wanted):
    collection = Collection.at(out, {key: (value,) for key, value in wanted.items()})
    html.write(out, collection, collection.usual(), out / "report.html")
    text = (out / "report.html").read_text(encoding="utf-8")
    return Page(text), text


def fail(out, method, problem, seed, g="sqrt(t)", **told):
    """Write what is kept of a run that failed."""
    own = made_up.settings(method, problem, **({"g": g} if method == "lb" else {}))
    path = out / "failures" / problem / method / f"seed={seed}-{own.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"settings": dict(own.tree), "seed": seed, "traceback": "a\nb", **told}))


def charts(page):
    (data,) = [json.loads(text) for kind, text in page.scripts if kind == "application/json"]
    return data


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    made_up.study(out)
    return out


@pytest.fixture(scope="module")
def page(out):
    return write(out)[0]


def test_nothing_is_loaded_and_only_two_scripts_may_run(page):
    assert page.sources == []
    assert all(link.startswith("#") for link in page.links)
    scripts = [text for kind, text in page.scripts if kind is None]
    assert len(scripts) == 2
    assert "plotly.js" in scripts[0][:200]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    assert rules.pop("script-src").split() == [f"'sha256-{digest}'" for digest in hashes]
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_contents_lead_to_every_section(page):
    assert set(page.links) <= {f"#{name}" for name in page.ids}
    for section in ("curves", "finals", "ranks", "lengthscales", "times", "coverage", "settings", "provenance"):
        assert f"#{section}" in page.links


def test_curves_are_the_statistics_of_the_traces(page):
    data = charts(page)
    assert [series["label"] for series in data["series"]] == ["LB", "MLE", "Random"]
    assert [problem["name"] for problem in data["problems"]] == ["berkenkamp", "toy"]
    t = np.arange(1, 9)
    (mle,) = [curve for curve in data["problems"][1]["curves"] if data["series"][curve["series"]]["label"] == "MLE"]
    levels = np.array([1, 2, 3])
    np.testing.assert_allclose(mle["regret"]["mean"], 2 / np.sqrt(t), rtol=1e-5)
    np.testing.assert_allclose(mle["regret"]["se"], levels.std(ddof=1) / np.sqrt(3) / np.sqrt(t), rtol=1e-5)
    np.testing.assert_allclose(mle["cumulative_regret"]["median"], 2 * np.cumsum(1 / np.sqrt(t)), rtol=1e-5)
    np.testing.assert_allclose(mle["simple_regret"]["upper"], 2.5 / np.sqrt(t), rtol=1e-5)
    np.testing.assert_allclose(mle["regret"]["by_seed"], levels[:, None] / np.sqrt(t), rtol=1e-5)
    assert mle["seeds"] == [0, 1, 2]
    np.testing.assert_allclose(mle["seconds"], 0.3)


def test_length_scales_are_binned_with_the_optimum_where_it_is_known(page):
    berkenkamp, toy = charts(page)["problems"]
    assert berkenkamp["optimum"] == pytest.approx(0.005, rel=0.01)  # the shortest that the likelihood is searched from
    assert toy["optimum"] is None
    lb, _, random = toy["curves"]
    assert random["lengthscales"] == []
    assert sum(lb["lengthscales"]) == pytest.approx(1, abs=1e-4)
    for step in range(8):
        (place,) = np.flatnonzero(np.diff(np.asarray(toy["edges"]) <= 0.1 / 2**step))
        assert lb["lengthscales"][place] == pytest.approx(1 / 8)


def test_numbers_are_short_and_finite():
    assert interactive.rounded([1 / 3, 2e-9 / 3, np.nan, np.inf, 5]) == [0.333333, 6.66667e-10, None, None, 5.0]


def test_tables_hold_final_regrets_ranks_tests_times_and_memory(page):
    assert "0.250 ± 0.072" in page.cells  # LB on any problem: (1, 2, 3) / 8
    assert page.text.count("Wilcoxon") == 1
    ranks = page.cells[page.cells.index("1.00") - 1 :][:2]
    assert ranks == ["LB", "1.00"]
    assert "250" in page.cells  # ms per step
    assert "102" in page.cells  # MB, of the last seed
    for circumstance in ("Abacus", "1.2.3", "abc"):
        assert circumstance in page.cells
    assert "configs, but iterations=8;" in page.text  # and so no label says it


def test_hostile_names_are_text(tmp_path):
    name = "<script>alert(1)</script>\"'&amp;{{ 7 * 7 }}"
    for method in ("lb", "mle"):
        made_up.write(tmp_path, method, name, 0, [1.0, 0.5], cpu=name, g=name)
    fail(tmp_path, "lb", "toy", 0, status=name, error=name)
    page, text = write(tmp_path)
    assert "<script>alert" not in text
    assert [kind for kind, _ in page.scripts] == ["application/json", None, None]
    assert charts(page)["problems"][0]["name"] == name
    assert name in page.cells
    assert page.cells.count(name) > 2  # status and error among them


def test_failures_unreadable_traces_and_missing_seeds_are_listed(tmp_path):
    made_up.study(tmp_path, problems=("toy",))
    made_up.write(tmp_path, "lb", "toy", 7, [1.0] * 8)
    (tmp_path / "traces/toy/lb/seed=9-broken.parquet").write_bytes(b"PAR1 and no more")
    fail(tmp_path, "lb", "toy", 4, status="failed", error="no finite mean", t=12, g="t^0.25")
    fail(tmp_path, "mle", "toy", 5, status="timeout", error="600 s are over", t=None)
    (tmp_path / "failures/toy/lb/two.json").write_text("{")
    (tmp_path / "failures/toy/lb/three.json").write_text('{"status": "failed", "error": "?", "seed": 1}')
    page, _ = write(tmp_path)
    place = page.cells.index("no finite mean") - 5
    assert page.cells[place : place + 6] == ["toy", "LB (g=t^0.25)", "4", "failed", "12", "no finite mean"]
    place = page.cells.index("600 s are over") - 5
    assert page.cells[place : place + 6] == ["toy", "MLE", "5", "timeout", "", "600 s are over"]
    assert re.search(r"two\.json tells of no failure", page.text)
    assert re.search(r"three\.json tells of no failure", page.text)
    assert re.search(r"seed=9-broken\.parquet is no trace", page.text)
    assert "5 failures" in page.text
    assert "3 of 4, without 7" in page.cells


@pytest.mark.parametrize(("methods", "seeds"), [(("lb",), 1), (("mle", "random"), 2)])
def test_a_few_runs_make_a_report_that_says_what_it_lacks(methods, seeds, tmp_path):
    made_up.study(tmp_path, methods=methods, problems=("toy",), seeds=seeds, steps=1)
    page, text = write(tmp_path)
    assert "no tests: LB shares no problem and seed with another method" in page.text
    assert "NaN" not in text[: text.index("plotly.js")]


def test_runs_on_different_data_are_warned_of(tmp_path):
    made_up.study(tmp_path, methods=("lb", "mle"), problems=("toy", "agnp"), seeds=2)
    for i, path in enumerate(sorted((tmp_path / "traces/toy").rglob("*.parquet"))):
        signature = {"x": [[0.0], [0.5], [1.0]], "f": [1.0, 2.0, 3.0 + 0.5 * (i == 3)]}
        traces.write_table(path, pq.read_table(path), traces.read_metadata(path) | {"signature": signature})
    text = write(tmp_path)[0].text
    assert text.count("different data or libraries") == 1
    assert "by up to 0.5: 3 runs with f = 1, 2, 3; 1 run with f = 1, 2, 3.5" in text


def test_settings_show_what_was_changed(tmp_path):
    made_up.write(tmp_path, "lb", "toy", 0, [1.0, 0.5])
    made_up.write(tmp_path, "lb", "toy", 0, [1.0, 0.5], g="t^0.25")
    collection = Collection.at(tmp_path)
    changed = sections.settings(collection.variants[1])
    assert ("g", "t^0.25", "sqrt(t)") in changed.rows
    assert ("kernel", "matern52", "") in changed.rows
    page, _ = write(tmp_path)
    data = charts(page)
    assert [(series["label"], series["shown"]) for series in data["series"]] == [("LB", True), ("LB (g=t^0.25)", False)]
    assert len({series["dash"] for series in data["series"]}) == 2
    assert len({series["colour"] for series in data["series"]}) == 1


def test_commands_make_exactly_the_runs_at_hand(tmp_path):
    for problem, method, seeds, changed in (
        ("berkenkamp", "lb", (0, 1), {}),
        ("agnp", "lb", (0, 1), {}),
        ("agnp", "mle", (0, 1), {}),
        ("agnp", "lb", (3, 5), {"g": "max(2,t^0.25)"}),
    ):
        for seed in seeds:
            made_up.write(tmp_path, method, problem, seed, [1.0], **changed)
    collection = Collection.at(tmp_path)
    planned = [plan(shlex.split(line)[2:]) for line in sections.commands(collection.variants)]
    made = {
        (found.problem, found.method, found.values.get("method.g"), seed, found.values["iterations"])
        for one in planned
        for found in one.combinations
        for seed in found.seeds
    }
    expected = {(v.problem, v.method, v.changed.get("g"), seed, "1") for v in collection.variants for seed in v.seeds}
    assert made == expected
    assert len(made) == sum(len(one.combinations) * len(one.combinations[0].seeds) for one in planned)


def test_the_lowest_and_the_significant_are_marked():
    means = Table("pm", [("a", Estimate(2, 1)), ("a", Estimate(1, 1)), ("b", Estimate(3, 1)), ("b", Estimate(3, 2))])
    assert sections.lowest(means) == {(1, 1), (2, 1), (3, 1)}
    assert sections.significant(Table("xp", [("a", 0.05), ("b", 0.049)])) == {(1, 1)}


def lbbench(*arguments):
    return CliRunner().invoke(cli.app, arguments)


def test_the_command_filters_and_names_its_file(out, tmp_path):
    file = tmp_path / "deep" / "er.html"
    result = lbbench("report", f"out={out}", "problem=berkenkamp", "method=LB,mle", f"to={file}")
    assert result.exit_code == 0, result.output
    assert re.fullmatch(rf"wrote {re.escape(str(file))} \(\d\.\d MB\)\n", result.stdout)
    data = charts(Page(file.read_text(encoding="utf-8")))
    assert [series["label"] for series in data["series"]] == ["LB", "MLE"]
    assert [problem["name"] for problem in data["problems"]] == ["berkenkamp"]


def test_without_traces_there_is_a_helpful_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = lbbench("report")
    assert isinstance(result.exception, UsageError)  # which main() makes one line and exit code 2
    assert re.fullmatch("no traces in results/traces; make some: lbbench run .*", str(result.exception))
    assert list(tmp_path.iterdir()) == []
