import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from river_amf import AMFRegressor, evaluation, plot

pytestmark = pytest.mark.usefixtures("no_figures")

HISTORY = pd.DataFrame(
    {
        "target": [0.0, 3.0, 1.0, np.nan, 2.0, 0.5],
        "prediction": [0.5, 1.0, np.nan, 1.0, 1.0, 1.5],
        "lower": [0.0, 0.5, 0.5, 0.5, 0.0, 1.0],
        "upper": [1.0, 2.0, 1.5, 1.5, 2.0, 2.0],
    },
    index=pd.RangeIndex(11, 17, name="sample"),
)


def line_of(ax, label):
    (line,) = (line for line in ax.lines if line.get_label().startswith(label))
    return line


def test_the_picture_shows_band_prediction_targets_and_misses():
    ax = plot.intervals(HISTORY)
    np.testing.assert_array_equal(line_of(ax, "prediction").get_ydata(), HISTORY["prediction"])
    np.testing.assert_array_equal(line_of(ax, "prediction").get_xdata(), HISTORY.index)
    # a target at the end of its interval is in it, and a missing one is not missed
    missed = line_of(ax, "missed")
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


def test_known_drifts_are_marked():
    ax = plot.intervals(HISTORY, drifts=(12, 14))
    marks = [line.get_xdata() for line in ax.lines if line.get_label() == "drift"]
    assert marks == [[12, 12], [14, 14]]
    assert [text.get_text() for text in ax.texts] == ["drift"]
    assert ax.get_legend() is not None


def test_any_table_with_these_columns_will_do():
    times = pd.date_range("2024-01-01", periods=6, name="$day$")
    ax = plot.intervals(HISTORY.set_index(times)[["upper", "lower", "prediction", "target"]])
    assert ax.get_xlabel() == "$day$"
    assert not ax.xaxis.label.get_parse_math()
    assert len(line_of(ax, "missed").get_xdata()) == 2
    ax.figure.canvas.draw()


def test_the_history_of_a_forest_is_drawn_as_it_is():
    history = evaluation.interval_history("TrumpApproval", AMFRegressor(n_estimators=2, seed=1))
    part = history.loc[501:700]
    ax = plot.intervals(part)
    missed = ~part["target"].between(part["lower"], part["upper"])
    np.testing.assert_array_equal(line_of(ax, "missed").get_ydata(), part["target"][missed])


def test_of_many_rows_three_hundred_are_drawn_and_the_share_is_that_of_all():
    many = pd.concat([HISTORY[:1]] * 9_999 + [HISTORY[1:2]], ignore_index=True)
    ax = plot.intervals(many)
    places = line_of(ax, "prediction").get_xdata()
    assert len(places) == 300 and (places[0], places[-1]) == (0, 9_999)
    assert {*np.diff(places)} <= {33, 34}
    assert ax.get_legend().get_texts()[-1].get_text() == "missed: 0.0 %"
    half = pd.concat([HISTORY[:2]] * 500, ignore_index=True)
    assert plot.intervals(half).get_legend().get_texts()[-1].get_text() == "missed: 50.0 %"


def test_it_draws_on_the_axes_that_it_is_given():
    ax = plt.subplots()[1]
    assert plot.intervals(HISTORY, ax=ax) is ax
    assert plt.get_fignums() == [1]


@pytest.mark.parametrize(
    ("history", "error", "message"),
    [
        (5, TypeError, "history must come from evaluation.interval_history, got int"),
        (HISTORY[["target", "lower"]], ValueError, "lower, upper; it has no prediction, upper"),
        (HISTORY[:0], ValueError, "for a stream with samples, got an empty DataFrame"),
    ],
)
def test_what_is_no_history_is_an_error(history, error, message):
    with pytest.raises(error, match=message):
        plot.intervals(history)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got int"):
        plot.intervals(HISTORY, ax=5)
    assert not plt.get_fignums()
