"""Reports: each number against the same one computed from all predictions of a plain loop."""

import contextlib
import functools
import math
import random
import re
from collections import Counter

import numpy as np
import pytest
from river import compose, conf, forest, linear_model, metrics, naive_bayes, preprocessing, tree

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    __version__,
    evaluation,
    inspection,
)
from river_amf.evaluation.metrics import LogLoss
from river_amf.evaluation.prequential import most_probable
from river_amf.outputs.formatting import describe


def labeled(n_samples, labels=("a", 1, (2, "b"))):
    """Return samples whose last label appears in the second half."""
    rng = random.Random(0)
    for n in range(n_samples):
        x = {"u": rng.random(), "v": rng.random(), "w": rng.random()}
        k = int(x["u"] * 2 + (rng.random() < 0.1)) if n < n_samples / 2 else int(x["v"] * 3)
        yield x, labels[min(k, len(labels) - 1)]


def numbered(n_samples, sign=lambda n: 1.0):
    """Return samples with a target whose dependence changes in the middle."""
    rng = random.Random(0)
    for n in range(n_samples):
        x = {"u": rng.random(), "v": rng.random()}
        y = 10 * x["u"] + (5 * x["v"] if n > n_samples / 2 else 0) + rng.gauss(0, 0.3)
        yield x, sign(n) * y


def plain_loop(model, samples):
    """Return rows of target, prediction, and probabilities or interval, and the trained model."""
    model, rows = model.clone(), []
    for x, y in samples:
        row = y, model.predict_one(x), None
        if not rows:  # which is not scored
            row = y, None, {}
        elif isinstance(model, AMFRegressor):
            row = y, model.predict_one(x), model.predict_one(x, with_interval=True)
        elif hasattr(model, "predict_proba_one"):
            with contextlib.suppress(NotImplementedError):
                proba = model.predict_proba_one(x)
                row = y, most_probable(proba), proba
        rows.append(row)
        model.learn_one(x, y)
    return rows, model


def score(metric, rows, start, end):
    """Return a metric over rows from start on and before end, NaN without any."""
    seen, n_scored = {y for y, *_ in rows[:start]}, 0
    for y, prediction, beside in rows[start:end]:
        output = prediction if metric.requires_labels else beside
        is_new = y not in seen and isinstance(metric, LogLoss)
        seen.add(y)
        if output is not None and output != {} and (not is_new or y in output):
            metric.update(y, output)
            n_scored += 1
    return metric.get() if n_scored else math.nan


def windows(report, name, n_samples, window):
    """Yield each row of the curve of a model, with the first sample of its window and its last."""
    curve = report.curves[report.curves["model"] == name].set_index("n_samples")
    ends = [*range(window, n_samples, window), n_samples]
    assert report.window == window and curve.index.tolist() == ends
    for start, (end, row) in zip([0, *ends], curve.iterrows(), strict=False):
        yield row, start, end


MODELS = {
    "forest": AMFClassifier(n_estimators=2, seed=1),
    "bayes": naive_bayes.GaussianNB(),
    "no probabilities": linear_model.PAClassifier(),
}


@pytest.mark.parametrize(("n_samples", "window"), [(500, 10), (603, 100), (12, 1), (40, 100)])
def test_curves_equal_plain_loop(n_samples, window):
    samples = list(labeled(n_samples, (False, True)))  # labels that the linear model needs
    report = evaluation.report(samples, MODELS, window=100 if window == 100 else None)
    curves = evaluation.compare(samples, MODELS, window=window).curves.query("model in @MODELS")
    assert report.curves.query("model in @MODELS")[[*curves]].equals(curves)
    for name, model in MODELS.items():
        rows, _ = plain_loop(model, samples)
        for row, start, end in windows(report, name, n_samples, window):
            for column, metric in (("accuracy", metrics.Accuracy), ("log-loss", LogLoss)):
                drawn = [row[column], row[f"cumulative {column}"]]
                expected = [score(metric(), rows, first, end) for first in (start, 0)]
                np.testing.assert_allclose(drawn, expected, rtol=1e-9)
    for column in ("accuracy", "log-loss"):
        last = report.curve("forest", f"cumulative {column}").iloc[-1]
        np.testing.assert_allclose(report.table.loc["forest", column], last)


def test_labels_and_reliability_equal_plain_loop():
    samples = list(labeled(900))
    report = evaluation.report(samples, {"forest": MODELS["forest"]})
    rows, _ = plain_loop(MODELS["forest"], samples)
    scored = [row for row in rows if row[1] is not None]
    pairs = Counter((y, label) for y, label, _ in scored)
    confusion, table = report.confusion["forest"], report.labels["forest"]
    labels = [*confusion.index]
    assert {*labels} == {y for y, *_ in rows}
    assert labels == [*confusion.columns] == [*table.index]
    assert confusion.to_numpy().tolist() == [[pairs[y, z] for z in labels] for y in labels]
    for y, row in zip(labels, table.to_numpy(), strict=True):
        n_predicted = sum(n for (_, label), n in pairs.items() if label == y)
        n_true, hits = sum(n for (label, _), n in pairs.items() if label == y), pairs[y, y]
        expected = hits / n_predicted, hits / n_true, 2 * hits / (n_predicted + n_true), n_true
        assert tuple(row) == pytest.approx(expected)
    bins = {}
    for y, label, proba in scored:
        bins.setdefault(min(int(proba[label] * 20), 19), []).append((proba[label], label == y))
    expected = [(len(bins[k]), *np.mean(bins[k], axis=0)) for k in sorted(bins)]
    np.testing.assert_allclose(report.reliability["forest"].to_numpy(), expected)
    assert report.confusion["majority"].to_numpy().sum() == len(samples) - 1


def test_regression_numbers_equal_plain_loop():
    samples = list(numbered(1000))
    models = {"forest": AMFRegressor(n_estimators=2, seed=1), "tree": tree.HoeffdingTreeRegressor()}
    report = evaluation.report(samples, models, window=100)
    for name, model in models.items():
        rows, _ = plain_loop(model, samples)
        residuals = np.array([math.nan, *(y - prediction for y, prediction, _ in rows[1:])])
        for row, start, end in windows(report, name, 1000, 100):
            residual, expected = residuals[start:end], {}
            expected["MAE"] = np.nanmean(abs(residual))
            expected["RMSE"] = np.nanmean(residual**2) ** 0.5
            expected["cumulative RMSE"] = np.nanmean(residuals[:end] ** 2) ** 0.5
            expected["residual 0.25"] = np.nanquantile(residual, 0.25)
            expected["coverage"] = expected["width"] = math.nan
            if name == "forest":
                pairs = [(y, interval) for y, _, interval in rows[max(start, 1) : end]]
                expected["coverage"] = np.mean([i.lower <= y <= i.upper for y, i in pairs])
                widths = [i.upper - i.lower for _, i in pairs if i.upper < np.inf]
                expected["width"] = np.mean(widths)
            np.testing.assert_allclose(row[[*expected]].astype(float), [*expected.values()])
        for table in (report.points[name], report.latest[name]):
            for n, y, prediction, *ends in table.itertuples(index=False, name=None):
                if n == 1:
                    assert y == rows[0][0] and np.isnan([prediction, *ends]).all()
                    continue
                target, output, interval = rows[n - 1]
                assert (y, prediction) == (target, output)
                if name == "forest" and interval.upper < np.inf:
                    assert ends == [interval.lower, interval.upper]
                else:
                    assert np.isnan(ends).all()
        assert report.latest[name]["sample"].tolist() == list(range(801, 1001))
        assert len(report.points[name]) == 600
        assert report.points[name]["sample"].is_monotonic_increasing
    assert report.points["forest"]["sample"].equals(report.points["tree"]["sample"])


def test_figures_of_forests_are_recorded():
    samples = list(labeled(600, (False, True)))
    model = AdaptiveAMFClassifier(n_estimators=2, seed=1)
    piped = preprocessing.StandardScaler() | model
    report = evaluation.report(samples, {"plain": model, "piped": piped}, window=60)
    curve, piped = (
        report.curves[report.curves["model"] == name].set_index("n_samples")
        for name in ("plain", "piped")
    )
    assert [*report.contributions] == ["plain", "piped"]
    for n in (60, 120, 600):  # the ends of windows
        _, before = plain_loop(model, samples[: n - 1])
        parts = inspection.contributions(before, samples[n - 1][0]).iloc[1:-1]
        assert report.contributions["plain"].loc[n].to_dict() == parts.to_dict()
        _, trained = plain_loop(model, samples[:n])
        assert curve["fading_share"][n] == trained.fading_share
        relevance = inspection.feature_relevance(trained)
        assert report.relevance["plain"].loc[n].to_dict() == relevance.to_dict()
    assert curve["n_nodes"][600] == trained.n_nodes
    assert curve["memory"][600] == trained.memory_usage
    assert curve["restarts"].sum() == trained.n_restarts
    assert piped[["n_nodes", "memory", "fading_share"]].iloc[-1].notna().all()
    _, before = plain_loop(preprocessing.StandardScaler() | model, samples[:-1])
    seen = before["StandardScaler"].transform_one(samples[-1][0])
    parts = inspection.contributions(before["AdaptiveAMFClassifier"], seen).iloc[1:-1]
    assert report.contributions["piped"].loc[600].to_dict() == parts.to_dict()
    assert "piped" in report.relevance


def test_third_label_begins_the_contributions_anew():
    samples = [*labeled(250, ("a", "b")), *labeled(350, ("a", "b", "c"))]
    for limit, first, unit in ((250, 60, "log-odds"), (600, 300, "log P less its mean")):
        model = AdaptiveAMFClassifier(n_estimators=2, seed=1)
        table = evaluation.report(samples[:limit], {"ours": model}, window=60).contributions["ours"]
        assert table.columns.name.startswith(f"contribution ({unit}")
        assert [*table.index] == [*range(first, limit + 1, 60)]


def test_drifts_are_recorded_where_errors_grow():
    report = evaluation.report("stagger_abrupt", ["amf"], limit=6000, seed=1)
    assert report.drifts == (5000,)
    events = report.curve("amf", "drifts")
    assert events.loc[:5000].sum() == 0 < events.loc[5001:5600].sum()
    numbers = list(numbered(3000, lambda n: 1e-6 if n < 2000 else -1e-6))  # in any unit
    report = evaluation.report(numbers, [AMFRegressor(n_estimators=2, seed=1)])
    assert report.curve("AMFRegressor", "drifts").loc[2001:2400].sum() >= 1


def test_labels_beyond_twenty_share_a_row():
    samples = [({"a": n % 150}, f"label {n % 150}") for n in range(600)]
    report = evaluation.report(samples, ["amf"], seed=1)
    confusion = report.confusion["amf"]
    assert confusion.shape == (21, 21) and confusion.to_numpy().sum() == 599
    assert confusion.index[-1] == confusion.columns[-1] == "(others)"
    assert len(report.labels["amf"]) == 100
    assert report.labels["amf"]["support"].max() == 4


class Failing(AMFClassifier):
    def learn_one(self, x, y, *, w=1.0):
        if self.n_samples > 50:
            raise ValueError("enough")
        super().learn_one(x, y, w=w)


def test_failed_model_is_shown_until_then():
    def impossible():
        raise ValueError("never")

    models = {"failing": Failing(n_estimators=1, seed=1), "impossible": impossible}
    report = evaluation.report(list(labeled(90)), models)
    assert report.table["status"]["failing"] == "sample 52: ValueError: enough"
    assert report.curves.query("model == 'failing'")["n_samples"].max() == 50
    assert report.models == ["failing", "last-class", "majority"]
    assert "sample 52: ValueError: enough" in report.page.html


def test_page_has_its_sections():
    models = {"ours": AdaptiveAMFRegressor(n_estimators=2), "line": linear_model.LinearRegression()}
    page = evaluation.report(list(numbered(300)), models, seed=1).page
    assert [section.title for section in page.sections] == [
        *("Results", "Error along the stream", "Drift", "Relevance of features"),
        *(
            "Contributions of features",
            "Prediction intervals",
            "Intervals of the last samples",
            "Residuals",
            "Size",
        ),
    ]
    page = evaluation.report(list(labeled(600))[:300], {"ours": AMFClassifier(seed=1)}).page
    assert [section.title for section in page.sections] == [
        *("Results", "Accuracy along the stream", "Drift", "Contributions of features"),
        *("Calibration", "Labels", "Size"),
    ]
    looks = {name: (look.color, look.dash) for name, look in page.key.items()}
    assert looks.pop("ours") == ("#0072b2", "solid")
    assert looks == {"last-class": ("#707a86", "dash"), "majority": ("#707a86", "dot")}


def test_facts_of_the_run_are_on_the_page(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("a,b,kind\n" + "".join(f"{n},{n % 3},{'xy'[n % 2]}\n" for n in range(40)))
    piped = preprocessing.StandardScaler() | naive_bayes.GaussianNB()
    models = {"ours": AMFClassifier(n_estimators=3, seed=7), "bayes": piped}
    report = evaluation.report(path, models, seed=5)
    assert repr(report).split()[:4] == ["samples", "accuracy", "kappa", "log-loss"]
    facts = dict(report.facts)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", facts.pop("date"))
    assert facts == {
        "stream": "sales.csv",
        "target": "kind",
        "task": "classification",
        "rows": "40",
        "model ours": "AMFClassifier(n_estimators=3, seed=5)",
        "model bayes": "StandardScaler() | GaussianNB()",
        "model last-class": "NoChangeClassifier()",
        "model majority": "OnlineDummyClassifier()",
        "seed": "5",
        "version": f"river_amf {__version__}",
    }
    assert report.columns.equals(evaluation.load_stream(path).columns())
    *_, section = report.page.sections
    assert section.title == "Columns" and section.body.count("<tr") == 4
    assert re.search(r">b</span></th>\s*<td>number</td>\s*<td>0</td>\s*<td>3</td>", section.body)
    top = report.page.html.partition("<nav>")[0]
    for name, fact in report.facts.items():
        html = report.page.html if name.startswith("model ") else top
        assert f"<dt>{name}</dt><dd>{fact}</dd>" in html


def test_model_is_described_by_changed_parameters():
    jackknife = conf.RegressionJackknife(linear_model.LinearRegression(l2=0.5), 0.9)
    expected = "RegressionJackknife(regressor=LinearRegression(l2=0.5), confidence_level=0.9)"
    assert describe(jackknife) == expected
    assert describe(forest.ARFClassifier(seed=1)) == "ARFClassifier(seed=1)"
    assert describe(compose.Select("a") + compose.FuncTransformer(len)).endswith("(func=len))")
    partial = compose.FuncTransformer(functools.partial(plain_loop, samples=object()))
    expected = "FuncTransformer(func=functools.partial(<function plain_loop>, samples=<object>))"
    assert describe(partial) == expected
