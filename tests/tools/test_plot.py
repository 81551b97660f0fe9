import dataclasses

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from river.preprocessing import StandardScaler

from river_amf import AMFClassifier, inspection, plot
from river_amf.evaluation import Comparison, DriftHistory
from river_amf.pages import palette
from river_amf.plot import axes as canvas

pytestmark = pytest.mark.usefixtures("no_figures")

SAMPLES = [({"a": k, "b": k % 3}, k % 2) for k in range(9)]
HISTORY = pd.DataFrame(
    {
        "target": [0.0, 3.0, 1.0, np.nan, 2.0, 0.5],
        "prediction": [0.5, 1.0, np.nan, 1.0, 1.0, 1.5],
        "lower": [0.0, 0.5, 0.5, 0.5, 0.0, 1.0],
        "upper": [1.0, 2.0, 1.5, 1.5, 2.0, 2.0],
    },
    index=pd.RangeIndex(11, 17, name="sample"),
)
PLACES = pd.Index([100, 200, 300, 350], name="n_samples")


def make_history(relevance=None, **curve):
    curve = {"accuracy": [0.5, 0.9, 0.4, 0.8], "fading_share": [0.5, 0.1, 0.6, 0.7]} | curve
    if relevance is None:
        relevance = {"size": [0.1, 0.2, 0.0, 0.0], ("late", 1): [np.nan, np.nan, 0.4, 0.6]}
    columns = pd.Index(np.array([*relevance, None], object)[:-1], tupleize_cols=False)
    values = np.array(list(relevance.values())).T if relevance else np.empty((len(PLACES), 0))
    return DriftHistory(pd.DataFrame(curve, PLACES), pd.DataFrame(values, PLACES, columns))


def line_of(ax, label):
    (line,) = (line for line in ax.lines if line.get_label() == label)
    return line


def assert_shows(line, values):
    """Check that the line shows the values, all of them within the view."""
    np.testing.assert_array_equal(line.get_xdata(), PLACES)
    np.testing.assert_array_equal(line.get_ydata(), values)
    bottom, top = line.axes.get_ylim()
    assert all(bottom < value < top for value in values if value == value)
    assert line.axes.get_xlim() == (100, 350)


def names(ax):
    return [text.get_text() for text in ax.texts]


def test_lines_of_a_history_are_its_columns():
    (line,) = plot.fading_share(make_history(fading_share=[0.0, 1.0, 0.5, 0.5])).lines
    assert_shows(line, [0.0, 1.0, 0.5, 0.5])
    assert (line.axes.get_xlabel(), line.axes.get_ylabel()) == ("samples", "fading share")
    ax = plot.relevance(make_history())
    assert_shows(line_of(ax, "size"), [0.1, 0.2, 0.0, 0.0])
    assert_shows(line_of(ax, "('late', 1)"), [np.nan, np.nan, 0.4, 0.6])
    assert len(ax.lines) == 2
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("samples", "relevance")
    history = make_history()
    curve = history.curve.rename(columns={"accuracy": "MAE"})  # of a regressor
    axes = plot.drift(dataclasses.replace(history, curve=curve))
    assert_shows(line_of(axes[0], "MAE"), curve["MAE"])
    assert axes[0].get_ylabel() == "MAE"


@pytest.mark.parametrize("end", [0.0, 0.3])
def test_names_are_not_written_over_each_other(end):
    relevance = {f"f{k}": [0.0, 0.1, 0.3, end] for k in range(8)}
    ax = plot.relevance(make_history(relevance))
    ax.figure.canvas.draw()
    middles = sorted(text.get_window_extent().get_points()[:, 1].mean() for text in ax.texts)
    assert len(middles) == 8
    assert min(np.diff(middles)) > plt.rcParams["font.size"] * ax.figure.dpi / 72


def test_drift_has_a_panel_for_each_and_marks_the_drifts_in_all():
    history = make_history()
    axes = plot.drift(history, drifts=(150, 250))
    assert [ax.get_ylabel() for ax in axes] == ["accuracy", "fading share", "relevance"]
    assert_shows(line_of(axes[0], "accuracy"), history.curve["accuracy"])
    assert_shows(line_of(axes[1], "fading share"), history.curve["fading_share"])
    assert_shows(line_of(axes[2], "size"), history.relevance["size"])
    for ax in axes:
        marks = [line.get_xdata() for line in ax.lines if line.get_label() == "drift"]
        assert marks == [[150, 150], [250, 250]]
    assert names(axes[0]) == ["drift"]
    assert axes[0].texts[0].xy[0] == 150
    assert [ax.get_xlabel() for ax in axes] == ["", "", "samples"]


def make_comparison(names=("knn", "perceptron", "failed"), n_windows=4):
    """Make a comparison: the perceptron has no probabilities, and the last model has failed."""
    rows = []
    for k, name in enumerate(names[:-1]):
        for place in range(1, n_windows + 1):
            loss = np.nan if name == "perceptron" else 0.1 * (k + place)
            rows.append((name, 100 * place, 0.5 + 0.1 * place + 0.01 * k, loss))
    curves = pd.DataFrame(rows, columns=["model", "n_samples", "accuracy", "log-loss"])
    table = pd.DataFrame(
        {
            "accuracy": [*(0.7 + 0.02 * k for k in range(len(names) - 1)), np.nan],
            "us_per_sample": [*(10.0 ** (k % 3) for k in range(len(names) - 1)), np.nan],
        },
        index=pd.Index(names, name="model"),
    )
    return Comparison("toy", table, curves)


@pytest.mark.parametrize("metric", ["accuracy", "log-loss"])
@pytest.mark.parametrize("take", [lambda c: c, lambda c: c.curves], ids=["comparison", "curves"])
def test_learning_curves_are_those_of_the_table(metric, take):
    comparison = make_comparison()
    ax = plot.learning_curves(take(comparison), metric=metric)
    drawn = ["knn", "perceptron"] if metric == "accuracy" else ["knn"]
    assert [line.get_label() for line in ax.lines] == drawn
    for name in drawn:
        curve = comparison.curves[comparison.curves["model"] == name]
        np.testing.assert_array_equal(line_of(ax, name).get_xdata(), curve["n_samples"])
        np.testing.assert_array_equal(line_of(ax, name).get_ydata(), curve[metric])
    assert sorted(names(ax)) == drawn
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("samples", metric)


def make_regression():
    """Make a comparison of regressors, with the errors of two models and a failed one."""
    comparison = make_comparison()
    curves = comparison.curves.rename(columns={"accuracy": "MAE", "log-loss": "R2"})
    return Comparison("toy", comparison.table.rename(columns={"accuracy": "MAE"}), curves)


def test_the_first_metric_of_the_tables_is_drawn_by_default():
    comparison = make_regression()
    ax = plot.learning_curves(comparison)
    np.testing.assert_array_equal(
        line_of(ax, "knn").get_ydata(),
        comparison.curves["MAE"][comparison.curves["model"] == "knn"],
    )
    assert ax.get_ylabel() == "MAE (lower is better)"
    assert plot.learning_curves(comparison, metric="R2").get_ylabel() == "R2 (higher is better)"
    assert plot.learning_curves(comparison.curves).get_ylabel() == "MAE (lower is better)"
    assert plot.learning_curves({"a": make_history().curve}).get_ylabel() == "accuracy"
    assert plot.learning_curves({"a": pd.Series([1.0])}).get_ylabel() == "accuracy"
    curves, times = plot.comparison(comparison)
    assert curves.get_ylabel() == times.get_ylabel() == "MAE (lower is better)"


def test_accuracy_and_time_are_those_of_the_table():
    comparison = make_comparison()
    ax = plot.accuracy_and_time(comparison)
    assert [point.get_label() for point in ax.lines] == ["knn", "perceptron"]  # not the failed
    for point in ax.lines:
        row = comparison.table.loc[point.get_label()]
        assert point.get_xydata().tolist() == [[row["us_per_sample"], row["accuracy"]]]
    assert sorted(names(ax)) == ["knn", "perceptron"]
    assert ax.get_xscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("microseconds a sample", "accuracy")


ROLES = {"model 2": palette.AMF, "model 5": palette.ADAPTIVE, "model 9": palette.LAST}


def colored(lines):
    """Return the colors of lines or points that are not grey, by their labels."""
    colors = {line.get_label(): line.get_color() for line in lines}
    return {label: color for label, color in colors.items() if color != palette.GREY}


def test_of_nineteen_models_ours_the_best_three_and_the_last_label_are_named():
    comparison = make_comparison([f"model {k}" for k in range(20)])
    comparison.table.loc["model 0", "accuracy"] = 2.0  # although its curve is the lowest
    curves, times = plot.comparison(dataclasses.replace(comparison, roles=ROLES))
    best = ["model 0", "model 17", "model 18"]
    assert colored(curves.lines).keys() == {*ROLES, *best}
    assert sorted(names(curves)) == ["13 others", *sorted([*ROLES, *best])]
    assert sorted(names(times)) == sorted(f"model {k}" for k in range(19))
    for line in curves.lines:
        is_named = line.get_label() in {*ROLES, *best}
        assert line.get_zorder() == (2 if is_named else 1)
        assert (line.get_linestyle() == "--") == (line.get_label() == "model 9")
    for text in curves.texts:
        if text.get_text() == "13 others":
            assert text.get_color() != palette.GREY  # which is too light to be read
            assert text.arrow_patch.get_edgecolor()[:3] == canvas.to_rgb(palette.GREY)


EVIL = "$\\foo$ <b> \x1b[31m"  # a formula that is none, markup, and an escape of terminals


def test_names_of_streams_models_features_labels_and_metrics_are_text():
    comparison = make_comparison((EVIL, "other", "failed"))
    named = {"accuracy": EVIL}
    tables = (table.rename(columns=named) for table in (comparison.table, comparison.curves))
    comparison = Comparison(EVIL, *tables)
    history = make_history({EVIL: [0.0, 0.1, 0.2, 0.3]})
    history = dataclasses.replace(history, curve=history.curve.rename(columns={"accuracy": EVIL}))
    model = AMFClassifier(seed=1)
    for k in range(9):
        model.learn_one({EVIL: k, "b": k}, EVIL if k % 2 else "other")
    plot.comparison(comparison)
    plot.drift(history)
    plot.tree(model)
    plot.decision_surface(model, resolution=3)
    plot.importance(inspection.feature_importance(model)["splits"])
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        texts = {text.get_text(): text for text in figure.findobj(matplotlib.text.Text)}
        evil = {text: each for text, each in texts.items() if "foo" in text}
        assert evil and all(text.replace("\n", "").isprintable() for text in texts)
        assert not any(text.get_parse_math() for text in evil.values())


# Weighted depth


def depths(values, places=PLACES):
    table = pd.DataFrame(values, index=places)
    return table.rename_axis("n_samples").rename_axis("tree", axis=1)


def test_weighted_depth_has_a_line_for_each_tree_and_their_mean():
    history = depths({0: [1.0, 2.0, 3.0, 4.0], 1: [np.nan, 4.0, 5.0, 5.0]})
    ax = plot.weighted_depth(history)
    assert [line.get_label() for line in ax.lines] == ["tree 0", "tree 1", "mean"]
    assert_shows(line_of(ax, "tree 0"), history[0])
    assert_shows(line_of(ax, "tree 1"), history[1])
    assert_shows(line_of(ax, "mean"), [1.0, 3.0, 4.0, 4.5])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("samples", "weighted depth")
    assert ax.get_ylim()[0] == 0.0
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["mean", "each tree"]
    colors = [line.get_color() for line in legend.get_lines()]
    assert colors == [line_of(ax, "mean").get_color(), line_of(ax, "tree 0").get_color()]


# Importances


def test_importances_are_bars_with_the_largest_on_top():
    values = pd.Series(
        {"low": 0.1, ("late", 1): -0.2, "x$_1$": 0.9, "gone": np.nan}, name="impurity"
    )
    ax = plot.importance(values)
    assert [bar.get_width() for bar in ax.patches] == [0.9, 0.1, -0.2]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x$_1$", "low", "('late', 1)"]
    heights = [bar.get_y() for bar in ax.patches]
    bottom, top = ax.get_ylim()
    assert heights == sorted(heights) and bottom > top
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("share of the decrease in impurity", "")
    ax.figure.canvas.draw()


@pytest.mark.parametrize("of_scikit_learn", [False, True])
def test_a_forest_has_bars_of_its_impurity(of_scikit_learn):
    X, y = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0, 1.0]}), [0, 0, 1, 1]
    if of_scikit_learn:
        estimators = pytest.importorskip("river_amf.sklearn")
        model = estimators.AMFClassifier(random_state=1).fit(X, y)
    else:
        model = AMFClassifier(seed=1)
        model.learn_many(X, y)
    expected = inspection.feature_importance(model)["impurity"].sort_values(ascending=False)
    ax = plot.importance(model)
    assert [bar.get_width() for bar in ax.patches] == expected.tolist()
    assert ax.get_xlabel() == "share of the decrease in impurity"
    with pytest.raises(TypeError, match="for a pipeline, pass its last step"):
        plot.importance(StandardScaler() | AMFClassifier())


@pytest.mark.parametrize("name", ["splits", "mass", "relevance", "$my$ own\x1b"])
def test_the_axis_of_importances_says_what_they_are(name):
    ax = plot.importance(pd.Series({"a": 1.0}, name=name))
    known = {"splits": "share of the splits", "mass": "share of the mass passed on"}
    known["relevance"] = "relevance: from 0, for none, to 1"
    assert ax.get_xlabel() == known.get(name, "$my$ own\\x1b")
    top = plot.importance(pd.Series(np.arange(30.0), [f"f{k}" for k in range(30)]), n_features=3)
    assert [label.get_text() for label in top.get_yticklabels()] == ["f29", "f28", "f27"]
    assert top.get_xlabel() == "importance"


# Intervals


def test_the_picture_shows_band_prediction_targets_and_misses():
    ax = plot.intervals(HISTORY)
    np.testing.assert_array_equal(line_of(ax, "prediction").get_ydata(), HISTORY["prediction"])
    np.testing.assert_array_equal(line_of(ax, "prediction").get_xdata(), HISTORY.index)
    # a target at the end of its interval is in it, and a missing one is not missed
    missed = line_of(ax, "missed: 33.3 %")
    assert missed.get_xydata().tolist() == [[12, 3.0], [16, 0.5]]
    assert line_of(ax, "target").get_xydata()[[0, 1, 3]].tolist() == [[11, 0], [13, 1], [15, 2]]
    assert missed.get_color() != line_of(ax, "target").get_color()
    (band,) = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    for end in ("lower", "upper"):
        assert corners >= set(zip(HISTORY.index, HISTORY[end], strict=True))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("samples", "target")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["interval", "prediction", "target", "missed: 33.3 %"]


def test_of_many_rows_three_hundred_are_drawn_and_the_share_is_that_of_all():
    many = pd.concat([HISTORY[:1]] * 9_999 + [HISTORY[1:2]], ignore_index=True)
    ax = plot.intervals(many)
    places = line_of(ax, "prediction").get_xdata()
    assert len(places) == 300 and (places[0], places[-1]) == (0, 9_999)
    assert {*np.diff(places)} <= {33, 34}
    assert ax.get_legend().get_texts()[-1].get_text() == "missed: 0.0 %"
    half = pd.concat([HISTORY[:2]] * 500, ignore_index=True)
    assert plot.intervals(half).get_legend().get_texts()[-1].get_text() == "missed: 50.0 %"


# Arguments of all


def learnt(kind=AMFClassifier):
    model = kind(seed=1)
    for x, y in SAMPLES:
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize(
    ("draw", "make"),
    [
        (plot.fading_share, make_history),
        (plot.relevance, make_history),
        (plot.learning_curves, make_comparison),
        (plot.accuracy_and_time, make_comparison),
        (plot.weighted_depth, lambda: depths({0: [1.0, 2.0, 3.0, 4.0]})),
        (plot.intervals, lambda: HISTORY),
        (plot.importance, learnt),
        (plot.tree, learnt),
    ],
)
def test_axes_that_are_given_are_drawn_on_and_else_those_of_a_new_figure(draw, make):
    given = plt.figure().add_subplot()
    assert draw(make(), ax=given) is given
    assert plt.get_fignums() == [1]
    assert draw(make()).figure is plt.figure(2)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got int"):
        draw(make(), ax=5)
    assert plt.get_fignums() == [1, 2]


@pytest.mark.parametrize(
    ("draw", "make", "n_panels"),
    [(plot.drift, make_history, 3), (plot.comparison, make_comparison, 2)],
)
def test_panels_are_drawn_on_the_axes_that_are_given(draw, make, n_panels):
    for shape in ((n_panels, 1), (1, n_panels)):
        given = plt.subplots(*shape)[1]
        assert all(a is b for a, b in zip(draw(make(), ax=given), given, strict=True))
    assert plt.get_fignums() == [1, 2]
    with pytest.raises(ValueError, match=rf"ax must hold {n_panels} axes, one .*; got 4"):
        draw(make(), ax=plt.subplots(4)[1])
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got NoneType"):
        draw(make(), ax=[*given[:-1], None])


FAILED = make_comparison(["failed"])
NO_SHARE, NO_RELEVANCE = make_history(fading_share=[np.nan] * 4), make_history(relevance={})


@pytest.mark.parametrize(
    ("draw", "data", "error", "message"),
    [
        (plot.fading_share, make_history().curve, TypeError, "from .*drift_history, got DataFrame"),
        (plot.drift, make_history().curve, TypeError, "from .*drift_history, got DataFrame"),
        (plot.fading_share, NO_SHARE, ValueError, "no fading share: .*fading_factor"),
        (plot.relevance, NO_RELEVANCE, ValueError, "no relevance: .*split_intensity"),
        (plot.accuracy_and_time, FAILED.table, TypeError, "from .*compare, got DataFrame"),
        (plot.comparison, FAILED, ValueError, "comparison has no accuracy to draw"),
        (plot.learning_curves, FAILED, ValueError, "runs have no accuracy to draw"),
        (plot.learning_curves, 5, TypeError, "runs must be comparisons .* or dicts .* got int"),
        (plot.learning_curves, make_history().curve, TypeError, "runs must be .* got DataFrame"),
        (plot.learning_curves, {"a": [1, 2]}, TypeError, "a curve must be a Series .* got list"),
        (plot.weighted_depth, make_history(), TypeError, "depth_history.* got DriftHistory"),
        (
            plot.weighted_depth,
            pd.DataFrame({"a": [1.0]}),
            ValueError,
            "index None and columns None",
        ),
        (plot.weighted_depth, depths({0: []}, []), ValueError, "samples, got an empty DataFrame"),
        (plot.intervals, 5, TypeError, "from evaluation.interval_history, got int"),
        (plot.intervals, HISTORY[["target", "lower"]], ValueError, "it has no prediction, upper"),
        (plot.intervals, HISTORY[:0], ValueError, "samples, got an empty DataFrame"),
        (plot.importance, {"a": 1.0}, TypeError, "must be a pandas Series .*, got dict"),
        (plot.importance, FAILED.table, TypeError, "got DataFrame; choose a column"),
        (plot.importance, pd.Series([], dtype=float), ValueError, "no features to draw"),
        (plot.importance, pd.Series({"a": np.nan}), ValueError, "no features to draw"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_and_makes_no_figure(draw, data, error, message):
    with pytest.raises(error, match=message):
        draw(data)
    assert not plt.get_fignums()


@pytest.mark.parametrize("n_features", [0, 2.5, None, True])
def test_options_are_checked(n_features):
    for draw, data in ((plot.relevance, make_history()), (plot.importance, pd.Series({"a": 1.0}))):
        with pytest.raises(ValueError, match="n_features must be an integer >= 1, got"):
            draw(data, n_features=n_features)
    with pytest.raises(ValueError, match=r"no metric 'acuracy' .* mean 'accuracy'"):
        plot.learning_curves(make_comparison(), metric="acuracy")
    with pytest.raises(ValueError, match="runs have no log-loss to draw"):
        plot.learning_curves(metric="log-loss")
