"""The page of a report: its sentence, its table, and the scales of its figures."""

import re

import numpy as np
import pandas as pd
import pytest

from river_amf.evaluation.report import Report
from river_amf.pages import along, predictions
from river_amf.pages.charts import styles_of
from river_amf.pages.palette import Look
from river_amf.pages.report_page import verdict

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
            "status": "ok",
        },
        index=pd.Index(MODELS, name="model"),
    )
    steps = pd.DataFrame({"n_samples": range(1, N + 1), "memory": 1e6, measure: 0.5})
    curves = pd.concat(steps.assign(model=name, **columns(name)) for name in MODELS)
    empty = {"relevance": {}, "reliability": {}, "confusion": {}, "points": {}, "latest": {}}
    facts = {"name": "stream", "task": task, "window": 10, "drifts": [], "floors": ("last",)}
    return Report(table=table, curves=curves, **facts, **{**empty, **tables})


def columns(name):
    """Return curves: the losses are high at first, those of the last label always."""
    k = MODELS.index(name)
    loss = np.linspace(0.5, 0.3, N) + 0.1 * k
    loss[:5] = 20.0
    residual = {f"residual {q:g}": (q - 0.5) * (k + 1.0) for q in (0.05, 0.5, 0.95)}
    return {"log-loss": loss if k < 3 else 4.0 * loss, **residual}


@pytest.mark.parametrize(
    ("task", "scores", "n_samples", "expected"),
    [
        (
            "classification",
            (0.9, 0.85, 0.8, 0.7),
            (9,) * 4,
            "ours is the best: 90.0% right, 5 perc",
        ),
        (
            "classification",
            (0.1, 0.2, 0.3, 0.9),
            (9,) * 4,
            "last is the best: 90.0% right, 60 perc",
        ),
        (
            "classification",
            (0.9, 0.8, 0.7, 0.6),
            (1, 9, 9, 9),
            "other is the best: 80.0% right, 10",
        ),
        ("classification", (0.5, 0.5, 0.4, 0.4), (9,) * 4, "ours and other are the best: 50.0%"),
        ("classification", (np.nan,) * 4, (9,) * 4, "No model has a result."),
        ("classification", (0.9, *(np.nan,) * 3), (9,) * 4, "ours is the only model with a result"),
        (
            "regression",
            (2.0, 1.5, 3.0, 4.0),
            (9,) * 4,
            "other is the best: a mean absolute error of 1.5, 25.0% less than ours, the next.",
        ),
    ],
)
def test_the_page_opens_with_who_is_best_and_by_how_much(task, scores, n_samples, expected):
    records = report(task, scores, n_samples)
    assert verdict(records).startswith(expected)
    assert records.page.text.startswith(expected)


def test_the_best_figures_are_bold_and_memory_has_one_unit():
    html = report().page.parts[0].body
    titles = re.findall(r"<th>([^<]+)</th>", html.partition("</thead>")[0])
    assert titles == ["model", "samples", "accuracy", "log-loss", "us/sample", "MB", "status"]
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in html.split("<tr>")[2:]]
    assert [row[4] for row in rows] == ["2.00", "<b>1.00</b>", "3.00", "0.00"]
    bold = [[cell.startswith("<b>") for cell in row].index(True) for row in rows[:3]]
    assert bold == [1, 2, 3]  # of costs, that of a model that looks at features
    assert html.count("<b>") == 4
    memory = report().page.parts[-1].figures[-1].drawing
    assert memory["layout"]["yaxis"]["title"]["text"] == "MB"
    assert {*memory["data"][0]["y"]} == {1.0}


def test_neither_the_last_label_nor_the_beginning_flattens_curves():
    records = report()
    styles = styles_of(records)
    losses = along.curves(records, styles, "log-loss", "", is_clipped=True)
    low, high = losses.drawing["layout"]["yaxis"]["range"]
    assert low == 0.0 and 0.69 < high < 1.0
    assert "above the top" in losses.text
    free = along.curves(records, styles, "log-loss", "")
    assert "range" not in free.drawing["layout"]["yaxis"]
    alike = along.curves(records, styles, "accuracy", "", is_clipped=True)
    assert "range" not in alike.drawing["layout"]["yaxis"] and alike.text == ""


def test_relevance_has_the_scale_of_what_occurs_after_the_warm_up():
    table = pd.DataFrame({"a": np.full(100, 0.2), "b": 0.1})
    table.iloc[:5] = 1.0
    (heat,) = along.relevance_map("ours", table).drawing["data"]
    assert (heat["zmin"], heat["zmax"]) == (0.0, 0.2)
    assert heat["y"] == ["b", "a"]


def test_reliability_is_that_of_bins_with_enough_samples():
    bins = {"n_samples": [19, 20, 80], "confidence": [0.5, 0.7, 0.9], "accuracy": [1.0, 0.6, 0.9]}
    few = {"n_samples": [3], "confidence": [0.5], "accuracy": [1.0]}
    records = report(reliability={"ours": pd.DataFrame(bins), "other": pd.DataFrame(few)})
    curves, shares = predictions.reliability(records, styles_of(records))
    (_, right) = curves.drawing["data"]
    assert (right["x"], right["customdata"]) == ([0.7, 0.9], [20, 80])
    assert [len(trace["x"]) for trace in shares.drawing["data"]] == [3, 1]
    assert "ours 0.097" in next(p for p in records.page.parts if "hold" in p.title).text


def test_two_matrices_of_confusion_are_unfolded():
    matrix = pd.DataFrame([[3, 1], [0, 6]], ["a", "b"], ["a", "b"])
    records = report(confusion=dict.fromkeys(MODELS, matrix))
    (part,) = (part for part in records.page.parts if part.title.endswith("confused"))
    assert [figure.title for figure in part.figures] == MODELS[:3]
    assert part.n_open == 2
    assert part.figures[0].drawing["data"][0]["z"] == [[0.75, 0.25], [0.0, 1.0]]


def test_residuals_of_all_models_share_axes():
    records = report("regression")
    figure = predictions.residuals(records, styles_of(records))
    names = [trace["name"] for trace in figure.drawing["data"]]
    assert names == [name for name in MODELS[:3] for _ in range(3)]


@pytest.mark.parametrize("is_ordered", [True, False])
def test_intervals_are_bars_where_rows_have_no_order(is_ordered):
    target = np.random.default_rng(0).normal(size=200)
    target = np.sort(target) if is_ordered else target
    rows = {"sample": range(200), "target": target, "prediction": 0.0, "lower": -1.0, "upper": 2.0}
    traces = predictions.intervals("ours", pd.DataFrame(rows), Look("#0072b2")).drawing["data"]
    assert any("fill" in trace for trace in traces) == is_ordered
    bars = [trace for trace in traces if "error_y" in trace]
    assert len(bars) == (not is_ordered)
    for bar in bars:
        assert (bar["mode"], len(bar["x"])) == ("markers", 100)
        assert {*bar["error_y"]["array"]} == {2.0} and {*bar["error_y"]["arrayminus"]} == {1.0}
    steady = pd.DataFrame({**rows, "target": 1.0})
    assert predictions.intervals("ours", steady, Look("#0072b2")) is not None
