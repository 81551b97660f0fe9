"""The page of a report: its verdict, its tables, the scales of its figures; and pages as files."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from river_amf import evaluation
from river_amf.pages import along, predictions
from river_amf.pages.charts import Look, rows_layout
from river_amf.pages.document import Figure, Page, Section, table_html
from river_amf.pages.report_page import Report, verdict

N = 300
MODELS = ["ours", "other", "third", "last"]


def report(task="classification", scores=(0.9, 0.8, 0.7, 0.6), n_samples=(N,) * 4, **tables):
    """Return a report of four models, the last of which looks at no features."""
    measure = "MAE" if task == "regression" else "accuracy"
    table = pd.DataFrame(
        {
            "n_samples": n_samples,
            measure: scores,
            "log-loss": [0.3, 0.2, 0.4, 30.0],
            "us_per_sample": [30.0, 20.0, 10.0, 1.0],
            "memory": [2e6, 1e6, 3e6, 400.0],
            "status": tables.pop("status", "ok"),
        },
        index=pd.Index(MODELS, name="model"),
    )
    steps = pd.DataFrame({"n_samples": range(1, N + 1), "memory": 1e6, measure: 0.5})
    curves = pd.concat(steps.assign(model=name, **columns(name)) for name in MODELS)
    kinds = ("relevance", "contributions", "reliability", "labels", "confusion", "points", "latest")
    facts = {"name": "stream", "task": task, "window": 10, "drifts": []}
    facts |= {"naive_baselines": ("last",), "errors": ["MAE", "log-loss"]}
    return Report(
        table=table, curves=curves, **facts, **{kind: tables.get(kind, {}) for kind in kinds}
    )


def columns(name):
    """Return curves: the losses are high at first, those of the last label always."""
    k = MODELS.index(name)
    loss = np.linspace(0.5, 0.3, N) + 0.1 * k
    loss[:5] = 20.0
    residual = {f"residual {q:g}": (q - 0.5) * (k + 1.0) for q in (0.05, 0.5, 0.95)}
    special = {0: {"coverage": np.linspace(0.95, 1.0, N)}, 1: {"drifts": np.arange(N) == 100}}
    return {"log-loss": loss if k < 3 else 4.0 * loss, **residual, **special.get(k, {})}


def section(records, title):
    return next(section for section in records.page.sections if section.title == title)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ("0.1 0.2 0.3 0.9", "last is the best, with an accuracy of 90.0%."),
        ("0.5 0.5 0.4 0.4", "ours and other are the best, with an accuracy of 50.0%."),
        ("nan nan nan nan", "No model has a result."),
        ("0.9 nan nan nan", "ours is the best, with an accuracy of 90.0%."),
        ("MAE 2 1.5 3 4", "other is the best, with a mean absolute error of 1.5."),
    ],
)
def test_verdict_names_best_model(scores, expected):
    *task, a, b, c, d = scores.split()
    records = report("regression" if task else "classification", [*map(float, (a, b, c, d))])
    assert verdict(records).startswith(expected)
    behind = "third is not ahead of last" if expected.startswith("last") else verdict(records)
    assert records.page.text.startswith(behind) and verdict(records) in records.page.text


def test_verdict_is_about_complete_runs():
    assert verdict(report(n_samples=(1, 9, 9, 9))).startswith("other is the best")


def cells(html, tag):
    return [
        re.sub("<(?!/?b>)[^>]+>", "", cell) for cell in re.findall(f"<{tag}>(.*?)</{tag}>", html)
    ]


def test_results_have_bold_bests_and_failures():
    html = section(report(), "Results").body
    titles = cells(html.partition("</thead>")[0], "th")
    assert titles[:5] == ["model", "samples", "accuracy", "log-loss", "us/sample"]
    rows = [cells(row, "td") for row in html.partition("<tbody>")[2].split("</tr>")[:4]]
    bold = [[cell.startswith("<b>") for cell in row].index(True) for row in rows[:2]]
    assert bold == [1, 2] and html.count("<b>") == 2
    html = section(report(status=["ok", "sample 5: <b>", "ok", "ok"]), "Results").body
    assert cells(html.partition("</thead>")[0], "th")[-1] == "status"
    assert "<td>sample 5: &lt;b&gt;</td>" in html


def test_scale_ignores_naive_baselines_and_beginning():
    losses = along.curves(report(), "log-loss", "", is_clipped=True)
    low, high = losses.layout["yaxis"]["range"]
    assert low == 0.0 and 0.69 < high < 1.0
    assert "range" not in along.curves(report(), "log-loss", "").layout["yaxis"]


def test_last_window_of_few_samples_is_not_drawn():
    records = report()
    assert records.curve("ours", "accuracy").index[-1] == N  # a window of 10 samples has 1
    (line, *_) = along.curves(records, "accuracy", "").traces
    assert line["x"][-1] == N - 1


def test_dates_are_on_the_axis(tmp_path):
    path = tmp_path / "days.csv"
    days = [f"2024-{1 + i // 28:02}-{1 + i % 28:02},{i % 3},{i % 2}\n" for i in range(84)]
    path.write_text("day,a,y\n" + "".join(days))
    axis = along.curves(evaluation.report(path, "amf"), "accuracy", "").layout["xaxis"]
    assert (axis["title"], axis["tickvals"][::5]) == ({"text": "day"}, [1, 84])
    assert axis["ticktext"][::5] == ["2024-01-01", "2024-03-28"]


def test_coverage_has_a_line_at_the_level():
    *_, level = section(report("regression"), "Prediction intervals").figures[0].traces
    assert (level["x"], level["y"]) == ([0, N], [0.9, 0.9])


def test_drift_is_marked_or_its_absence_stated():
    drift = section(report(), "Drift")
    (events,) = drift.figures
    assert (drift.text, events.layout["yaxis"]["ticktext"]) == ("", MODELS)
    (legend, diamonds) = events.traces
    assert legend["name"] == "ADWIN found that errors had grown"
    assert (diamonds["x"], diamonds["y"]) == ([101], [1.0])
    steady = report()
    steady.curves["drifts"] = 0.0
    assert section(steady, "Drift").text.startswith("No drift seen")
    assert "No drift seen" in steady.page.html


def test_relevance_scale_ignores_warm_up():
    table = pd.DataFrame({"b": np.full(100, 0.1), "<a>": 0.2})
    table.iloc[:5] = 1.0
    figure = along.relevance(report(), "ours", table, 0)
    (heat,) = figure.traces
    assert (heat["zmin"], heat["zmax"]) == (0.0, 0.2)
    assert figure.layout["yaxis"]["ticktext"] == ["&lt;a&gt;", "b"] and heat["z"][0][-1] == 0.2
    assert figure.text == "The strongest color is a relevance of 0.20."


def test_contributions_are_bars_of_features():
    table = pd.DataFrame({"a": [1.0, np.nan], "<b>": [3.0, -1.0]}, [100, 200])
    table.columns.name = "contribution (log-odds)"
    records = report(contributions={"ours": table})
    (figure,) = section(records, "Contributions of features").figures
    sizes, last = figure.traces
    assert (sizes["x"], last["x"]) == ([2.0, 0.5], [-1.0, 0.0])
    assert figure.layout["yaxis"]["ticktext"] == ["&lt;b&gt;", "a"]
    assert "sample 200" in figure.text and figure.x == "contribution (log-odds)"


def test_reliability_leaves_out_small_bins():
    bins = {"n_samples": [19, 20, 80], "confidence": [0.5, 0.7, 0.9], "accuracy": [1.0, 0.6, 0.9]}
    few = {"n_samples": [3], "confidence": [0.5], "accuracy": [1.0]}
    records = report(reliability={"ours": pd.DataFrame(bins), "other": pd.DataFrame(few)})
    calibration = section(records, "Calibration")
    (_, right) = calibration.figures[0].traces
    assert (right["x"], right["customdata"]) == ([0.7, 0.9], [20, 80])
    assert "ours 0.097" in calibration.text


def test_labels_have_a_report_and_a_matrix():
    matrix = pd.DataFrame([[3, 1], [0, 1234]], ["a<", "b"], ["a<", "b"])
    rows = {"precision": [1.0, 0.9], "recall": [0.75, 1.0], "F1": [0.86, 0.9], "support": [4, 1234]}
    labels = dict.fromkeys(MODELS, pd.DataFrame(rows, pd.Index(["a<", "b"], name="label")))
    records = report(labels=labels, confusion=dict.fromkeys(MODELS, matrix))
    figures = section(records, "Labels").figures
    assert [figure.title for figure in figures] == MODELS[:3]
    html = figures[0].body
    heads = ["label", "precision", "recall", "F1", "support", "a&lt;", "b", "", "a&lt;", "b"]
    assert cells(html, "th") == [*heads, "a&lt;", "b"]
    assert cells(html, "td")[:4] == ["1.000", "0.750", "0.860", "4"]
    assert cells(html, "td")[-4:] == ["3", "1", "0", "1,234"]
    assert '<div style="--share: 0.75">3</div>' in html


def test_residuals_and_intervals_are_drawn():
    figure = section(report("regression"), "Residuals").figures[0]
    names = [trace["name"] for trace in figure.traces]
    assert names == [name for name in MODELS[:3] for _ in range(3)]
    rows = {"sample": range(200), "target": 1.0, "prediction": 0.0, "lower": -1.0, "upper": 2.0}
    prediction, target = predictions.intervals(report(), "ours", pd.DataFrame(rows), 0).traces
    assert (prediction["x"], {*target["y"]}) == ([*range(100, 200)], {1.0})
    bars = prediction["error_y"]
    assert ({*bars["array"]}, {*bars["arrayminus"]}) == ({2.0}, {1.0})
    rows["lower"] = None
    assert predictions.intervals(report(), "ours", pd.DataFrame(rows), 0) is None


EVIL = '</script><script>alert("x")</script><!-- & \x1b[31m\x00\u202e\ud800 "quotes" \''
SEEN = EVIL.replace("\x1b", "\\x1b").replace("\x00", "\\x00")
SEEN = SEEN.replace("\u202e", "\\u202e").replace("\ud800", "\\ud800")


class Texts(HTMLParser):
    """The texts of a page by the tag in which they are, and all attributes, as a browser reads."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.attributes, self._open = {}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        self._open.pop()

    def handle_data(self, data):
        for tag in {*self._open}:
            self.texts[tag][-1] += data


def page_of(text="a"):
    traces = [{"type": "scatter", "x": [1, 2], "y": [3, None]}]
    layout = rows_layout([text])
    figures = [
        Figure("first", text, traces, "x", layout=layout, text=text),
        Figure("b", "", traces),
    ]
    names = pd.Index([text], dtype=object, name=text)
    table = pd.DataFrame([["1"]], names, names)
    sections = [Section(text, text, figures, table_html(table))]
    return Page(text, sections, text, {text: text}, {text: Look("red")})


def test_text_of_any_kind_is_shown_as_text():
    parsed = Texts(page_of(EVIL).html)
    assert len(parsed.texts["script"]) == 3  # plotly, and two figures
    assert not any(EVIL[:17] in script for script in parsed.texts["script"][1:])
    for tag in ("h1", "title", "h2", "h3", "th", "p", "dt", "dd", "nav", "figcaption"):
        assert parsed.texts[tag][0].strip() == SEEN, tag
    assert rows_layout(["<b>"])["yaxis"]["ticktext"] == ["&lt;b&gt;"]


def test_only_plotly_may_run_and_nothing_is_fetched():
    text = page_of().html
    parsed = Texts(text)
    (nonce,) = {value for name, value in parsed.attributes if name == "nonce"}
    assert text.count("<script") == text.count(f'<script nonce="{nonce}"')
    (policy,) = (v for n, v in parsed.attributes if n == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    names = {name for name, _ in parsed.attributes}
    assert not names & {"src", "href", "srcset", "data", "action", "poster", "onclick"}
    assert not re.search(r"url\(|@import", parsed.texts["style"][0])
    assert text.count("plotly.js v") == 1
    assert re.findall('<div id="([^"]+)" class="plotly-graph-div"', text) == ["first", "b"]
    assert len(Page("none", [Section("a", "b")]).html) < 20_000  # without plotly


def test_pages_need_plotly(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.io", None)
    page = Page("a", [Section("b", figures=[Figure("c", "d", [{"type": "scatter"}])])])
    with pytest.raises(ImportError, match=r'pages need plotly .* pip install "plotly>=6"'):
        page.html  # noqa: B018


def test_page_is_saved_as_text(tmp_path):
    Page("half a pair: \ud800 äß", []).save(tmp_path / "page.html")
    assert "<title>half a pair: \\ud800 äß</title>" in (tmp_path / "page.html").read_text("utf-8")
