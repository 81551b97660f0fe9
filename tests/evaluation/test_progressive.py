"""Progressive validation over dataframes: exactly river's metrics, dicts, lines and models."""

import datetime as dt
import io
import itertools
import pickle
import random
import time
import warnings

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from river import (
    base,
    datasets,
    evaluate,
    feature_extraction,
    linear_model,
    metrics,
    naive_bayes,
    preprocessing,
    utils,
)

from river_amf import AdaptiveAMFClassifier, AMFClassifier, MismatchWarning
from river_amf.evaluation import compare, drift_history, progressive
from river_amf.evaluation.progressive import iter_progressive_val_score, progressive_val_score

N_BLOCK = 100  # rows


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def polars_series(values):
    return pytest.importorskip("polars").Series(values)


def pyarrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


LIBRARIES = {"pandas": pd.DataFrame, "polars": polars, "pyarrow": pyarrow}
libraries = pytest.mark.parametrize("make_frame", LIBRARIES.values(), ids=LIBRARIES)


def bundled(dataset, n_samples):
    samples = list(dataset)[:n_samples]
    columns = {name: [x[name] for x, _ in samples] for name in samples[0][0]}
    return columns, [y for _, y in samples]


def mixed(n_samples):
    """Numbers, categories, gaps, and a feature and labels that come late; labels are numbers."""
    rng = random.Random(3)
    columns = {name: [] for name in ("length", "color", "grade", "alive", "late")}
    labels = []
    for i in range(n_samples):
        length = rng.gauss(0, 1)
        columns["length"].append(None if rng.random() < 0.2 else length)
        columns["color"].append(rng.choice(["red", "tan", f"shade {rng.randrange(i + 1)}", None]))
        columns["grade"].append(rng.randrange(4))
        columns["alive"].append(rng.choice([True, False]))
        columns["late"].append(rng.random() if i > n_samples // 2 else None)
        labels.append(rng.randrange(2 + 3 * i // n_samples) if rng.random() < 0.2 else length > 0)
    return columns, [int(label) for label in labels]


STREAMS = {
    "bool": bundled(datasets.Phishing(), 350),
    "str": bundled(datasets.ImageSegments(), 350),
    "int": mixed(350),
}
COLUMNS, LABELS = STREAMS["int"]
WEIGHTS = [0.0, 0.0, *random.Random(1).choices([1.0, 1.0, 2.0, 0.3, 0.0], k=len(LABELS) - 2)]
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
BINARY = {
    "F1": metrics.F1,
    "LogLoss": metrics.LogLoss,
    "ROCAUC": metrics.ROCAUC,
    "RollingROCAUC": lambda: metrics.RollingROCAUC(window_size=70),
    "rolling F1": lambda: utils.Rolling(metrics.F1, 70),
    "sum": lambda: metrics.Accuracy() + metrics.F1(),
    "sum with probabilities": lambda: metrics.F1() + metrics.LogLoss() + metrics.Accuracy(),
}
MULTICLASS = {
    "Accuracy": metrics.Accuracy,
    "MacroF1": metrics.MacroF1,
    "CohenKappa": metrics.CohenKappa,
    "CrossEntropy": metrics.CrossEntropy,
    "rolling Accuracy": lambda: utils.Rolling(metrics.Accuracy, 70),
    "rolling CrossEntropy": lambda: utils.Rolling(metrics.CrossEntropy, 70),
    "sum": lambda: metrics.Accuracy() + metrics.MacroF1(),
    "sum with probabilities": lambda: metrics.CrossEntropy() + metrics.Accuracy(),
}
# Each metric on labels of one type, and labels of each type with a metric of either kind.
CASES = [
    *(("int", name, make_metric) for name, make_metric in MULTICLASS.items()),
    *(("bool", name, make_metric) for name, make_metric in BINARY.items()),
    *(("bool", name, MULTICLASS[name]) for name in ("Accuracy", "CrossEntropy")),
    *(("str", name, MULTICLASS[name]) for name in ("MacroF1", "CrossEntropy")),
]
cases = pytest.mark.parametrize(
    ("stream", "make_metric"),
    [
        pytest.param(STREAMS[labels], make_metric, id=f"{labels}, {name}")
        for labels, name, make_metric in CASES
    ],
)


@pytest.fixture(autouse=True)
def block_sizes(monkeypatch):
    """Use small blocks, and return the sizes of those that a forest is given."""
    sizes = []
    test_then_train = AMFClassifier._test_then_train

    def spy(model, X, y, w):
        assert not isinstance(X, nw.DataFrame)
        assert len(X) == len(y) == (len(y) if w is None else len(w))
        sizes.append(len(y))
        return test_then_train(model, X, y, w)

    monkeypatch.setattr(progressive, "_BLOCK_ROWS", N_BLOCK)
    monkeypatch.setattr(progressive, "_LEAST_STEP", 1)
    monkeypatch.setattr(AMFClassifier, "_test_then_train", spy)
    return sizes


@pytest.fixture
def size_of_state(monkeypatch):
    """Use the length of its pickle, which depends only on its state, as the memory of a forest."""
    size = property(lambda model: len(pickle.dumps(model)))
    monkeypatch.setattr(AMFClassifier, "_raw_memory_usage", size)


def fresh(**parameters):
    return AMFClassifier(**({"n_estimators": 2, "seed": 7} | parameters))


def samples(columns=COLUMNS, labels=LABELS, weights=None):
    """Return fresh samples, because river removes the weights from them."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if weights is None:
        return zip(rows, labels, strict=True)
    return ((x, y, {"w": w}) for x, y, w in zip(rows, labels, weights, strict=True))


def is_metric(value):
    return isinstance(value, metrics.base.Metric | utils.Rolling)


def shot(state):
    """Return a state as plain values, because the metric in it is updated further on."""
    return [
        (key, type(value), repr(value), value.get() if is_metric(value) else value)
        for key, value in state.items()
    ]


def walk(states):
    return [shot(state) for state in states]


def assert_twins(model, twin):
    assert pickle.dumps(model) == pickle.dumps(twin)


def assert_like_river(dataset, stream, make_metric=metrics.Accuracy, make_model=fresh, **options):
    """Check for the same states, metric and forest as in river; return the states."""
    model, twin, metric, expected = make_model(), make_model(), make_metric(), make_metric()
    states = walk(iter_progressive_val_score(dataset, model, metric, **options))
    assert states == walk(evaluate.iter_progressive_val_score(stream, twin, expected, **options))
    assert pickle.dumps(metric.get()) == pickle.dumps(expected.get())
    assert repr(metric) == repr(expected)
    if type(model) is AMFClassifier:  # pickles of others depend on the identity of strings
        assert_twins(model, twin)
    return states


# The metrics


@cases
def test_metrics_are_those_of_river(stream, make_metric, block_sizes):
    columns, labels = stream
    model, twin, metric, expected = fresh(), fresh(), make_metric(), make_metric()
    returned = progressive_val_score(pd.DataFrame(columns | {"target": labels}), model, metric)
    evaluate.progressive_val_score(samples(*stream), twin, expected)
    assert returned is metric
    assert metric.get() == expected.get()
    assert repr(metric) == repr(expected)
    assert_twins(model, twin)
    assert block_sizes == [100, 100, 100, 50]


@cases
def test_metrics_on_the_way_are_those_of_river(stream, make_metric, block_sizes):
    columns, labels = stream
    states = assert_like_river(
        (pd.DataFrame(columns), labels),
        samples(*stream),
        make_metric,
        step=150,
        yield_predictions=True,
    )
    assert len(states) == 3
    assert block_sizes == [100, 50, 100, 50, 50]


@libraries
def test_dataframes_of_all_libraries(make_frame):
    frame = make_frame(COLUMNS | {"target": LABELS})
    for make_metric in (metrics.MacroF1, metrics.CrossEntropy):
        assert_like_river(frame, samples(), make_metric, step=60, yield_predictions=True)


COLUMNS_OF_LABELS = {
    "list": list,
    "array": np.array,
    "array of objects": lambda ys: np.array(ys, dtype=object),
    # the order of the rows counts, not their index
    "pandas": lambda ys: pd.Series(ys, index=random.Random(1).sample(range(len(ys)), len(ys))),
    "categories": lambda ys: pd.Series(ys, dtype="category"),
    "polars": lambda ys: pytest.importorskip("polars").Series(ys),
    "pyarrow": lambda ys: pytest.importorskip("pyarrow").chunked_array([ys[:7], ys[7:]]),
    "narwhals": lambda ys: nw.from_native(pd.Series(ys), series_only=True),
}


# Each column with labels of one type, and those whose items are numpy's with all types.
TYPES_OF_LABELS = [
    *zip(COLUMNS_OF_LABELS, itertools.cycle(STREAMS), strict=False),
    *(("array", labels) for labels in ("bool", "int")),
    *(("pandas", labels) for labels in ("str", "int")),
]


@pytest.mark.parametrize(("kind", "labels"), TYPES_OF_LABELS)
def test_labels_in_series_arrays_and_lists(kind, labels, block_sizes):
    columns, ys = STREAMS[labels]
    X, y = pd.DataFrame(columns), COLUMNS_OF_LABELS[kind](ys)
    stream = samples(columns, ys)
    assert_like_river((X, y), stream, metrics.CrossEntropy, step=90, yield_predictions=True)
    assert sum(block_sizes) == len(ys)


@pytest.mark.parametrize(
    ("make_frame", "make_w", "make_metric"),
    [
        (pd.DataFrame, list, metrics.CrossEntropy),
        (pd.DataFrame, np.array, metrics.MacroF1),
        (pd.DataFrame, pd.Series, metrics.CrossEntropy),
        (polars, list, metrics.MacroF1),
        (pyarrow, np.array, metrics.CrossEntropy),
    ],
)
def test_weights(make_frame, make_w, make_metric, block_sizes):
    X, w, stream = make_frame(COLUMNS), make_w(WEIGHTS), samples(weights=WEIGHTS)
    assert_like_river((X, LABELS, w), stream, make_metric, step=13, yield_predictions=True)
    assert sum(block_sizes) == len(LABELS)
    assert_like_river((X, LABELS, None), samples(), make_metric, step=200)


def test_the_smallest_steps_take_the_loop_over_samples(block_sizes, monkeypatch):
    monkeypatch.setattr(progressive, "_LEAST_STEP", 8)
    for step in (1, 7):
        assert_like_river(pd.DataFrame(COLUMNS | {"target": LABELS}), samples(), step=step)
    assert block_sizes == []
    assert_like_river(pd.DataFrame(COLUMNS | {"target": LABELS}), samples(), step=8)
    assert sum(block_sizes) == len(LABELS)


def test_weights_of_zero_teach_nothing():
    columns, labels = {name: values[:110] for name, values in COLUMNS.items()}, LABELS[:110]
    X = pd.DataFrame(columns)
    for w in ([0.0] * 110, [0.0] * 103 + [1.0] * 7):
        for make_metric in (metrics.MacroF1, metrics.CrossEntropy):
            for step in (4, 105):
                stream = samples(columns, labels, w)
                options = {"step": step, "yield_predictions": True}
                assert_like_river((X, labels, w), stream, make_metric, **options)


def test_categories_of_pandas():
    frame = pd.DataFrame(COLUMNS | {"target": LABELS})
    frame["color"] = frame["color"].astype("category")
    frame["target"] = frame["target"].astype("category")
    assert_like_river(frame, samples(), metrics.CrossEntropy, step=70, yield_predictions=True)


def test_numbers_of_dtype_category_are_categories_in_blocks_and_row_by_row():
    codes = [30 + i % 4 for i in range(len(LABELS))]
    frame = pd.DataFrame(COLUMNS | {"code": codes, "target": LABELS})
    frame["code"] = frame["code"].astype("category")
    stream = list(samples(COLUMNS | {"code": [str(code) for code in codes]}))
    for options in ({"step": 100}, {"step": 2}, {"step": 100, "delay": 1}):
        assert_like_river(frame, stream, yield_predictions=True, **options)


def test_names_of_columns_need_not_be_strings():
    columns = dict(zip([5, "5", 3, 2.5, ("a", 1)], COLUMNS.values(), strict=True))
    frame = pd.DataFrame(columns | {0: LABELS})
    assert_like_river(frame, samples(columns), step=100)


def test_the_labels_are_the_column_target_else_the_last():
    rows = {"a": [1.0, 2.0, 3.0], "target": ["x", "y", "y"], "b": [True, False, False]}
    named = pd.DataFrame(rows)
    last = named.rename(columns={"target": "size"})
    X, y = {"a": rows["a"], "b": rows["b"]}, {"a": rows["a"], "size": rows["target"]}
    for options in ({}, {"delay": 1}):
        assert_like_river(named, samples(X, rows["target"]), yield_predictions=True, **options)
        assert_like_river(last, samples(y, rows["b"]), yield_predictions=True, **options)


@pytest.mark.parametrize(
    "parameters", [{"n_classes": 9}, {"n_estimators": 1, "max_nodes": 31}, {"split_pure": True}]
)
def test_parameters_of_the_forest(parameters):
    assert_like_river(
        (pd.DataFrame(COLUMNS), LABELS),
        samples(),
        metrics.CrossEntropy,
        lambda: fresh(**parameters),
        step=110,
        yield_predictions=True,
    )


def test_a_tie_goes_to_the_label_seen_first():
    columns, labels = {"a": [1.0] * 240}, ["yes", "no", "no", "yes"] * 60
    X, stream = pd.DataFrame(columns), samples(columns, labels)
    states = assert_like_river((X, labels), stream, step=1, yield_predictions=True)
    predicted = [value for state in states for key, *_, value in state if key == "Prediction"]
    assert predicted[:5] == [None, "yes", "yes", "no", "yes"]


def test_a_model_may_have_learnt_before():
    def trained():
        model = fresh()
        for x, y in reversed([*samples()][:200]):
            model.learn_one(x, y)
        return model

    for make_metric in (metrics.Accuracy, metrics.CrossEntropy):
        frame = pd.DataFrame(COLUMNS | {"target": LABELS})
        assert_like_river(frame, samples(), make_metric, trained, step=120, yield_predictions=True)


def test_blocks_of_the_usual_size(monkeypatch, block_sizes):
    monkeypatch.undo()
    stream = bundled(datasets.Bananas(), 5300)
    model, twin, metric, expected = fresh(), fresh(), metrics.CrossEntropy(), metrics.CrossEntropy()
    progressive_val_score((pd.DataFrame(stream[0]), stream[1]), model, metric)
    evaluate.progressive_val_score(samples(*stream), twin, expected)
    assert len(stream[1]) > progressive._BLOCK_ROWS
    assert metric.get() == expected.get()
    assert_twins(model, twin)


class Recorder(metrics.base.ClassificationMetric):
    """Record what a metric is updated with."""

    def __init__(self, requires_labels):
        self.seen = []
        self._requires_labels = requires_labels

    @property
    def requires_labels(self):
        return self._requires_labels

    def update(self, y_true, y_pred):
        self.seen.append((y_true, type(y_true), y_pred, repr(y_pred)))

    def get(self):
        return 0.0


@pytest.mark.parametrize("requires_labels", [True, False])
@pytest.mark.parametrize(
    ("make_frame", "labels"),
    [*((pd.DataFrame, labels) for labels in STREAMS), (polars, "str"), (pyarrow, "int")],
)
def test_metrics_are_told_the_same_objects(make_frame, labels, requires_labels):
    columns, ys = STREAMS[labels]
    metric, expected = Recorder(requires_labels), Recorder(requires_labels)
    progressive_val_score(make_frame(columns | {"target": ys}), fresh(), metric)
    evaluate.progressive_val_score(samples(columns, ys), fresh(), expected)
    assert metric.seen == expected.seen
    assert len(metric.seen) == len(ys) - 1  # a new model cannot predict its first sample


# Checkpoints


@pytest.mark.parametrize(
    ("step", "make_metrics"),
    [
        *((step, [metrics.Accuracy, metrics.CrossEntropy]) for step in (None, 7, 100, 350)),
        *((step, [metrics.Accuracy]) for step in (0, 70, 351, 2.5, np.int64(9))),
        pytest.param(1, [metrics.CrossEntropy], marks=pytest.mark.slow),
        *((step, [metrics.CrossEntropy]) for step in (300, 349, -3, 50.0)),
    ],
)
def test_checkpoints_are_those_of_river(step, make_metrics):
    frame = pd.DataFrame(COLUMNS | {"target": LABELS})
    for make_metric in make_metrics:
        assert_like_river(frame, samples(), make_metric, step=step, yield_predictions=True)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_short_streams(n, step):
    X, y = pd.DataFrame(COLUMNS).head(n), LABELS[:n]
    stream = itertools.islice(samples(), n)
    assert_like_river((X, y), stream, metrics.CrossEntropy, step=step, yield_predictions=True)


@pytest.mark.parametrize("step", [1, 30, 170])
def test_the_model_has_learnt_just_as_many_at_each_yield(step, size_of_state, block_sizes):
    model, twin, metric, expected = fresh(), fresh(), metrics.MacroF1(), metrics.MacroF1()
    options = {"step": step, "measure_memory": True, "yield_predictions": True}
    ours = iter_progressive_val_score((pd.DataFrame(COLUMNS), LABELS), model, metric, **options)
    theirs = evaluate.iter_progressive_val_score(samples(), twin, expected, **options)
    for state, expected_state in itertools.islice(zip(ours, theirs, strict=True), 60):
        assert shot(state) == shot(expected_state)
        assert state["MacroF1"] is metric
        assert type(state["Memory"]) is int
        assert sum(block_sizes) == state["Step"]
        assert_twins(model, twin)


def test_memory_is_that_of_the_model_at_the_time():
    model, twin = fresh(), fresh()
    options = {"metric": metrics.Accuracy(), "step": 90, "measure_memory": True}
    ours = iter_progressive_val_score((pd.DataFrame(COLUMNS), LABELS), model, **options)
    theirs = evaluate.iter_progressive_val_score(samples(), twin, **options)
    for state, expected in zip(ours, theirs, strict=True):
        assert state["Memory"] == model.memory_usage
        assert set(state) == set(expected)  # with blocks, arrays may have other room to grow


def test_nothing_happens_before_the_first_state_is_asked_for(block_sizes):
    iter_progressive_val_score(pd.DataFrame(COLUMNS), fresh(), metrics.Accuracy())
    iter_progressive_val_score((pd.DataFrame(COLUMNS), []), fresh(), metrics.Accuracy())
    assert block_sizes == []


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by more than an hour whenever it is read; a call resets it."""

    def reset():
        times = itertools.count(0.0, 4567.8)
        monkeypatch.setattr(time, "perf_counter", lambda: next(times))

    return reset


def test_times_are_those_of_river(clock, size_of_state):
    states = []
    for run, dataset in [
        (iter_progressive_val_score, pd.DataFrame(COLUMNS | {"target": LABELS})),
        (evaluate.iter_progressive_val_score, samples()),
    ]:
        clock()
        options = {"step": 100, "measure_time": True, "measure_memory": True}
        states.append(walk(run(dataset, fresh(), metrics.Accuracy(), **options)))
    assert states[0] == states[1]
    times = [value for state in states[0] for key, *_, value in state if key == "Time"]
    assert times == [dt.timedelta(seconds=4567.8 * i) for i in (1, 2, 3, 4)]


# Printed lines


@pytest.mark.parametrize(
    ("print_every", "show_time", "show_memory", "make_metric"),
    [
        *((every, True, True, metrics.CrossEntropy) for every in (0, 60, 175, 1000)),
        pytest.param(1, True, True, metrics.CrossEntropy, marks=pytest.mark.slow),
        *((every, False, False, MULTICLASS["sum"]) for every in (0, 1, 60, 175, 1000)),
        (60, True, False, metrics.CrossEntropy),
        (60, False, True, metrics.CrossEntropy),
        (175, True, True, MULTICLASS["sum"]),
    ],
)
def test_lines_are_those_of_river(
    print_every, show_time, show_memory, make_metric, clock, size_of_state, capsys, block_sizes
):
    options = {"print_every": print_every, "show_time": show_time, "show_memory": show_memory}
    clock()
    progressive_val_score((pd.DataFrame(COLUMNS), LABELS), fresh(), make_metric(), **options)
    lines = capsys.readouterr().out
    clock()
    evaluate.progressive_val_score(samples(), fresh(), make_metric(), **options)
    assert lines == capsys.readouterr().out
    assert bool(lines) == (0 < print_every < 1000)
    # block after block, unless the model is inspected along the way
    watched = bool(lines) and (show_time or show_memory)
    assert (block_sizes == [100, 100, 100, 50]) == (not watched)


def test_long_counts_have_their_commas_and_print_takes_its_arguments(monkeypatch):
    monkeypatch.undo()
    columns, labels = bundled(datasets.Bananas(), 2500)
    texts = []
    for run, dataset in [
        (progressive_val_score, (pd.DataFrame(columns), np.array(labels))),
        (evaluate.progressive_val_score, samples(columns, labels)),
    ]:
        file = io.StringIO()
        options = {"print_every": 1000, "file": file, "end": "|"}
        run(dataset, fresh(n_estimators=1), metrics.Accuracy(), **options)
        texts.append(file.getvalue())
    assert texts[0] == texts[1]
    assert texts[0].startswith("[1,000] Accuracy: ")
    assert texts[0].count("|") == 3


# Labels that come late


def of_time(x):
    """Return a time that is neither sorted nor without ties."""
    return dt.datetime(2020, 1, 1) + dt.timedelta(hours=x["grade"])


LATE = {
    "0": {"delay": 0},
    "5": {"delay": 5},
    "half": {"delay": 2.5},
    "before": {"delay": -3},
    "never": {"delay": 10**9},
    "feature": {"delay": "wait"},
    "function": {"delay": lambda x, y: x["wait"] if y else 20},
    "moments": {"moment": "when", "delay": 20},
    "days": {"moment": "day", "delay": 1},
    "both": {"moment": "when", "delay": "wait"},
    "unsorted": {"moment": "grade", "delay": 1},
    "times": {"moment": of_time, "delay": dt.timedelta(hours=2)},
    "time of label": {"moment": of_time, "delay": lambda x, y: dt.timedelta(hours=y)},
}
late = pytest.mark.parametrize("options", LATE.values(), ids=LATE)


def timed(columns=COLUMNS):
    """Return columns with features that say when a sample comes, and how late its label."""
    n = len(columns["grade"])
    rng = random.Random(2)
    return columns | {
        "when": [float(i) for i in range(n)],
        "day": [i // 40 for i in range(n)],
        "wait": [rng.choice([0, 1, 2, 60]) for _ in range(n)],
    }


@late
@pytest.mark.parametrize("make_metric", [metrics.MacroF1, metrics.CrossEntropy])
def test_late_labels_are_those_of_river(options, make_metric, block_sizes):
    columns = timed()
    states = assert_like_river(
        (pd.DataFrame(columns), LABELS),
        samples(columns),
        make_metric,
        step=80,
        yield_predictions=True,
        **options,
    )
    assert len(states) == 5
    assert sum(block_sizes) > len(LABELS)  # and the rest is predicted alone


@pytest.mark.parametrize(
    "options", [LATE[name] for name in ("5", "days", "function")], ids=["5", "days", "function"]
)
@pytest.mark.parametrize(
    "make_model",
    [
        lambda: AdaptiveAMFClassifier(n_estimators=3, seed=7),
        lambda: fresh(max_bytes=150_000),
        lambda: fresh(max_categories=9),
        lambda: fresh(n_classes=8, split_pure=True),
        lambda: fresh(n_jobs=2, max_nodes=31),
    ],
    ids=["adaptive", "max_bytes", "max_categories", "n_classes", "max_nodes"],
)
def test_late_labels_for_all_kinds_of_forests(options, make_model):
    columns = timed()
    stream, X = samples(columns), pd.DataFrame(columns)
    model, twin, metric, expected = make_model(), make_model(), Recorder(False), Recorder(False)
    progressive_val_score((X, LABELS), model, metric, **options)
    evaluate.progressive_val_score(stream, twin, expected, **options)
    assert metric.seen == expected.seen
    twin.n_jobs = model.n_jobs
    assert_twins(model, twin)


@libraries
@pytest.mark.parametrize(
    "options", [LATE[name] for name in ("5", "both", "times")], ids=["5", "both", "times"]
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
def test_late_labels_in_dataframes_of_all_libraries(make_frame, options, weights):
    columns = timed()
    assert_like_river(
        (make_frame(columns), LABELS, weights),
        samples(columns, weights=weights),
        metrics.CrossEntropy,
        step=130,
        yield_predictions=True,
        **options,
    )


def spoilt(columns, rng):
    """Return columns with text among the numbers, and numbers among the text."""
    dirty = {"when": 0.0, "wait": 0.0, "day": 0.0, "grade": 0.0}
    return {
        name: [
            rng.choice(["N/A", "?", 3, None]) if rng.random() < dirty.get(name, 0.1) else value
            for value in values
        ]
        for name, values in columns.items()
    }


def told_by(call, *args, **kwargs):
    """Return what a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    assert {warning.category for warning in caught} <= {MismatchWarning}
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("options", [{}, *(LATE[name] for name in ("5", "both", "never"))], ids=str)
def test_dirty_values_count_as_missing_as_in_river(options, block_sizes):
    columns = spoilt(timed(), random.Random(6))
    metric, expected = Recorder(True), Recorder(True)
    model, twin = (fresh(on_mismatch="missing") for _ in range(2))
    frame = (pd.DataFrame(columns), LABELS)
    told = told_by(progressive_val_score, frame, model, metric, **options)
    assert sum(block_sizes) >= len(LABELS)
    rest = samples(columns), twin, expected
    assert sorted(told) == sorted(told_by(evaluate.progressive_val_score, *rest, **options))
    assert metric.seen == expected.seen
    assert_twins(model, twin)
    assert len(told) == len({*told}) > 1


@pytest.mark.parametrize("step", [1, 30, 170])
def test_the_model_has_learnt_just_as_many_late_labels_at_each_yield(step, size_of_state):
    columns = timed()
    model, twin, metric, expected = fresh(), fresh(), metrics.MacroF1(), metrics.MacroF1()
    options = {"step": step, "measure_memory": True, "yield_predictions": True} | LATE["days"]
    X = pd.DataFrame(columns)
    ours = iter_progressive_val_score((X, LABELS), model, metric, **options)
    theirs = evaluate.iter_progressive_val_score(samples(columns), twin, expected, **options)
    for state, expected_state in itertools.islice(zip(ours, theirs, strict=True), 60):
        assert shot(state) == shot(expected_state)
        assert_twins(model, twin)


def draw(rng):
    """Return columns, labels and weights of a random stream, and options and a forest for it."""
    n = rng.choice([1, 5, 40, 150, 300])
    columns = {
        "when": [rng.choice([float(i), i // 7, rng.randrange(5)]) for i in range(n)],
        "wait": rng.choices([0, 1, 3, 30], k=n),
        "size": [rng.choice([rng.random(), None]) for _ in range(n)],
        "user": [rng.choice([None, "x", f"user {rng.randrange(1 + i // 3)}"]) for i in range(n)],
        "late": [rng.random() if i > n // 2 else None for i in range(n)],
    }
    labels = [f"label {rng.randrange(1 + min(7, i // 20))}" for i in range(n)]
    weights = rng.choice([None, rng.choices([0.0, 1.0, 2.5], k=n)])
    delays = ["0", "5", "never", "feature", "moments", "both"]
    options = rng.choice([{"delay": rng.randrange(20)}, *(LATE[name] for name in delays)])
    parameters = {"n_estimators": rng.choice([1, 2, 3]), "seed": rng.randrange(99)}
    for name, values in [
        ("max_categories", [1, 2, 7]),
        ("max_bytes", [90_000, 150_000]),
        ("n_classes", [8]),
        ("max_nodes", [5, 31]),
        ("split_pure", [True]),
    ]:
        if rng.random() < 0.25:
            parameters[name] = rng.choice(values)
    if rng.random() < 0.25:
        columns, parameters["on_mismatch"] = spoilt(columns, rng), "missing"
    return columns, labels, weights, options, parameters


def content(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::river_amf.MismatchWarning")
@pytest.mark.parametrize("seed", range(200))
def test_late_labels_in_random_streams_are_those_of_river(seed, monkeypatch):
    rng = random.Random(seed)
    columns, labels, weights, options, parameters = draw(rng)
    monkeypatch.setattr(progressive, "_BLOCK_ROWS", rng.choice([1, 3, 17, 64, 500]))
    kind, step = rng.choice([AMFClassifier, AdaptiveAMFClassifier]), rng.choice([0, 1, 7, 100])
    model, twin = kind(**parameters), kind(**parameters)
    options = {"step": step, "yield_predictions": True} | options
    X, metric, expected = pd.DataFrame(columns), metrics.CrossEntropy(), metrics.CrossEntropy()
    stream = samples(columns, labels, weights)
    ours = walk(iter_progressive_val_score((X, labels, weights), model, metric, **options))
    assert ours == walk(evaluate.iter_progressive_val_score(stream, twin, expected, **options))
    assert metric.get() == expected.get()
    assert content(model) == content(twin)


@late
def test_lines_about_late_labels_are_those_of_river(options, size_of_state, capsys):
    columns, lines = timed(), []
    for run, dataset in [
        (progressive_val_score, (pd.DataFrame(columns), LABELS)),
        (evaluate.progressive_val_score, samples(columns)),
    ]:
        run(dataset, fresh(), metrics.Accuracy(), print_every=80, show_memory=True, **options)
        lines.append(capsys.readouterr().out)
    assert lines[0] == lines[1] != ""


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_short_streams_with_late_labels(n):
    X, y = pd.DataFrame(COLUMNS).head(n), LABELS[:n]
    for delay in (0, 1, 5):
        stream = itertools.islice(samples(), n)
        options = {"step": 1, "yield_predictions": True, "delay": delay}
        assert_like_river((X, y), stream, metrics.CrossEntropy, **options)


def test_labels_that_never_come_go_to_river(block_sizes):
    labels = [None if i % 7 == 3 else label for i, label in enumerate(LABELS)]
    for y in (labels, pd.Series(labels, dtype=object)):
        assert_like_river((pd.DataFrame(COLUMNS), y), samples(labels=labels), delay=5)
    assert block_sizes == []


@pytest.mark.parametrize(
    ("options", "error"),
    [({"moment": "never", "delay": 1}, KeyError), ({"moment": "day"}, TypeError)],
)
def test_moments_and_delays_that_do_not_suit_raise_as_in_river(options, error):
    columns, texts = timed(), []
    for run, dataset in [
        (progressive_val_score, (pd.DataFrame(columns), LABELS)),
        (evaluate.progressive_val_score, samples(columns)),
    ]:
        with pytest.raises(error) as raised:
            run(dataset, fresh(), metrics.Accuracy(), **options)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("options", [{}, {"delay": 5}])
def test_an_error_names_the_row_of_the_data_rather_than_of_the_block(options):
    lengths = [*COLUMNS["length"][:230], float("inf"), *COLUMNS["length"][231:]]
    X = pd.DataFrame(COLUMNS | {"length": lengths})
    with pytest.raises(ValueError, match=r"^row 230: feature 'length'"):
        progressive_val_score((X, LABELS), fresh(), metrics.Accuracy(), **options)
    weights = [*WEIGHTS[:240], -1.0, *WEIGHTS[241:]]
    with pytest.raises(ValueError, match=r"^row 240: w must be"):
        progressive_val_score(
            (pd.DataFrame(COLUMNS), LABELS, weights), fresh(), metrics.Accuracy(), **options
        )


# What goes to river


class Diary(base.Classifier):
    """Record what a model is given."""

    def __init__(self):
        self.seen = []

    def learn_one(self, x, y, w=None):
        self.seen.append((x, y, w))

    def predict_one(self, x, **kwargs):
        return True


@libraries
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
def test_other_models_are_told_the_rows(make_frame, weights):
    model = Diary()
    progressive_val_score((make_frame(COLUMNS), LABELS, weights), model, metrics.Accuracy())
    expected = zip(ROWS, LABELS, weights or itertools.repeat(None), strict=False)
    for (x, y, w), (expected_x, expected_y, expected_w) in zip(model.seen, expected, strict=True):
        assert list(x) == list(COLUMNS)
        # missing values are None or NaN, depending on the library
        assert {name: None if pd.isna(value) else value for name, value in x.items()} == expected_x
        assert (y, type(y), w) == (expected_y, int, expected_w)


@pytest.mark.parametrize(
    ("make_frame", "make_model"),
    [
        (pd.DataFrame, lambda: preprocessing.StandardScaler() | fresh()),
        (pyarrow, lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression()),
        (pd.DataFrame, naive_bayes.GaussianNB),
        (polars, naive_bayes.GaussianNB),
    ],
    ids=["pandas, forest in a pipeline", "pyarrow, pipeline", "pandas, bayes", "polars, bayes"],
)
def test_other_models_go_to_river(make_frame, make_model, block_sizes):
    columns, labels = STREAMS["bool"]
    weights = WEIGHTS[: len(labels)]
    for dataset, stream in [
        (make_frame(columns | {"target": labels}), samples(columns, labels)),
        ((make_frame(columns), labels), samples(columns, labels)),
        ((make_frame(columns), labels, weights), samples(columns, labels, weights)),
    ]:
        options = {"step": 60, "yield_predictions": True}
        assert_like_river(dataset, stream, metrics.LogLoss, make_model, **options)
    assert block_sizes == []


@pytest.mark.parametrize("make", [list, tuple, iter, lambda pairs: pairs])
def test_iterables_of_samples_go_to_river(make, block_sizes):
    for weights in (None, WEIGHTS):
        dataset = make(samples(weights=weights))
        assert_like_river(dataset, samples(weights=weights), step=80, yield_predictions=True)
    assert block_sizes == []


def test_no_samples_at_all():
    for dataset in ([], (), iter(())):
        assert assert_like_river(dataset, []) == []


def test_data_sets_of_river_go_to_river(block_sizes, capsys):
    dataset = datasets.Phishing()
    metric = progressive_val_score(dataset, fresh(), metrics.Accuracy(), print_every=1000)
    lines = capsys.readouterr().out
    expected = metrics.Accuracy()
    evaluate.progressive_val_score(dataset, fresh(), expected, print_every=1000)
    assert metric.get() == expected.get()
    assert lines == capsys.readouterr().out != ""
    assert block_sizes == []


def test_a_metric_that_does_not_suit_is_told_as_by_river(block_sizes):
    frame = pd.DataFrame(COLUMNS | {"target": LABELS})
    for model in (fresh(), naive_bayes.GaussianNB()):
        for ours, theirs in [
            (progressive_val_score, evaluate.progressive_val_score),
            (iter_progressive_val_score, evaluate.iter_progressive_val_score),
        ]:
            with pytest.raises(ValueError) as expected:
                list(theirs(samples(), model, metrics.MAE()))
            with pytest.raises(ValueError, match="MAE metric is not compatible") as raised:
                list(ours(frame, model, metrics.MAE()))
            assert str(raised.value) == str(expected.value)
    assert block_sizes == []


# Invalid input


def test_a_bad_row_raises_before_its_block_is_learnt():
    lengths = [*COLUMNS["length"][:230], float("inf"), *COLUMNS["length"][231:]]
    X = pd.DataFrame(COLUMNS | {"length": lengths})
    for step, n_learnt in [(0, 200), (90, 180), (1, 230)]:
        model, twin, metric, expected = fresh(), fresh(), metrics.MacroF1(), metrics.MacroF1()
        with pytest.raises(ValueError, match=r"'length'.*inf"):
            for _ in iter_progressive_val_score((X, LABELS), model, metric, step=step):
                pass
        evaluate.progressive_val_score(itertools.islice(samples(), n_learnt), twin, expected)
        assert metric.get() == expected.get()
        assert_twins(model, twin)


def test_a_bad_label_or_weight_raises():
    X = pd.DataFrame(COLUMNS)
    with pytest.raises(ValueError, match="missing"):
        progressive_val_score((X, [*LABELS[:-1], None]), fresh(), metrics.Accuracy())
    with pytest.raises(ValueError, match="-1"):
        progressive_val_score((X, LABELS, [*WEIGHTS[:-1], -1.0]), fresh(), metrics.Accuracy())


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [True, False]})


@pytest.mark.parametrize(
    ("dataset", "error", "message"),
    [
        (FRAME[["a"]], ValueError, r"at least one feature column, got the columns \['a'\]"),
        (FRAME[[]], ValueError, r"got the columns \[\]"),
        ((FRAME[[]], [1, 2]), ValueError, "X must have at least one feature"),
        ((FRAME, [1]), ValueError, "y must have one value per row of X: X has 2 rows, y has 1"),
        (
            (FRAME, [1, 2], [1.0] * 3),
            ValueError,
            "w must have one value per row of X: X has 2 rows, w has 3",
        ),
        ((FRAME,), ValueError, "got 1 elements"),
        ((FRAME, [1, 2], [1.0, 1.0], 3), ValueError, "got 4 elements"),
        ((FRAME, np.ones((2, 1))), ValueError, r"y must be one-dimensional.* \(2, 1\)"),
        ((FRAME, FRAME[["b"]]), TypeError, "y must be a series, (?s:.*) of type DataFrame"),
        ((FRAME, "xy"), TypeError, "y must be a series, an array or a list, got .xy. of type str"),
        ((FRAME, None), TypeError, "y must be .* of type NoneType"),
        ((FRAME, [1, 2], 2.0), TypeError, "w must be .* of type float"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"]), ValueError, "unique column names"),
    ],
)
def test_bad_data_is_told(dataset, error, message):
    for run, make_model in itertools.product(
        (progressive_val_score, iter_progressive_val_score), (fresh, naive_bayes.GaussianNB)
    ):
        model, twin = make_model(), make_model()
        with pytest.raises(error, match=message):
            list(run(dataset, model, metrics.Accuracy()))
        assert_twins(model, twin)


def test_a_lazy_dataframe_must_be_collected():
    lazy = pytest.importorskip("polars").DataFrame(COLUMNS | {"target": LABELS}).lazy()
    for dataset in (lazy, (lazy, LABELS)):
        with pytest.raises(TypeError, match="lazy one of type LazyFrame; collect it first"):
            progressive_val_score(dataset, fresh(), metrics.Accuracy())


class Doubting(AMFClassifier):
    def predict_proba_one(self, x, **kwargs):
        return dict.fromkeys(super().predict_proba_one(x), 1 / 2)


def test_a_forest_that_predicts_in_its_own_way_is_asked_sample_by_sample(block_sizes):
    for kind in (Doubting, AMFClassifier):
        ours, rivers = (kind(n_estimators=2, seed=7) for _ in range(2))
        frame = pd.DataFrame(COLUMNS | {"target": LABELS})
        metric = progressive_val_score(frame, ours, metrics.CrossEntropy())
        expected = evaluate.progressive_val_score(samples(), rivers, metrics.CrossEntropy())
        assert metric.get() == expected.get()
        assert bool(block_sizes) == (kind is AMFClassifier)


def test_labels_and_weights_in_whatever_learn_many_takes():
    X = pd.DataFrame(COLUMNS)
    weights = np.array(WEIGHTS)
    expected = evaluate.progressive_val_score(
        samples(weights=WEIGHTS), fresh(), metrics.CrossEntropy()
    )
    for y, w in (
        (tuple(LABELS), tuple(WEIGHTS)),
        (pd.Index(LABELS), pd.Index(WEIGHTS)),
        (pd.Series(LABELS).array, pd.array(weights)),
    ):
        metric = progressive_val_score((X, y, w), fresh(), metrics.CrossEntropy())
        assert metric.get() == expected.get()


# What is taken for a table


def test_an_array_of_rows_is_a_table_with_numbered_columns():
    columns, y = bundled(datasets.Bananas(), 300)
    X = pd.DataFrame(columns).set_axis([0, 1], axis="columns")
    results = []
    for rows in (X, X.to_numpy(), X.to_numpy().astype(object)):
        model = AMFClassifier(n_estimators=2, seed=1)
        metric = progressive_val_score((rows, np.array(y)), model, metrics.LogLoss())
        comparison = compare((rows, y), {"forest": model.clone()})
        row = comparison.table.iloc[0]
        results.append((metric.get(), model.predict_proba_one({0: 0.5, 1: 0.5}), row["accuracy"]))
        assert row["n_samples"] == 300
    assert results[0] == results[1] == results[2]
    with pytest.raises(ValueError, match=r"dataframe or a two-dimensional array, got shape \(4,\)"):
        progressive_val_score((np.zeros(4), y[:4]), AMFClassifier(), metrics.Accuracy())


def test_a_sparse_matrix_is_rows_of_what_it_stores():
    rows = [{3: 1.0, 70: 2.0}, {2: 1.0}, {}, {3: 1.0}] * 20
    y, w = ["a", "b", "b", "a"] * 20, [1.0, 2.0, 0.5, 1.0] * 20
    places = [(row, name) for row, x in enumerate(rows) for name in x]
    numbers = [number for x in rows for number in x.values()]
    X = scipy.sparse.csr_array((numbers, np.transpose(places)), shape=(80, 100))
    given = AdaptiveAMFClassifier(2, absent="zero", seed=1), naive_bayes.MultinomialNB()
    for model in given:
        twin, expected = model.clone(), metrics.CrossEntropy()
        evaluate.progressive_val_score(zip(rows, y, strict=True), twin, expected)
        for matrix in (X, X.tocoo(), scipy.sparse.csc_matrix(X)):
            metric = progressive_val_score((matrix, y), model.clone(), metrics.CrossEntropy())
            assert metric.get() == expected.get()
    tables = [
        compare(dataset, {"words": given[1]}).table["accuracy"]
        for dataset in ((X, y), zip(rows, y, strict=True))
    ]
    assert tables[0].equals(tables[1])
    weighted, twin = given[0].clone(), given[0].clone()
    progressive_val_score((X, pd.Series(y), w), weighted, metrics.Accuracy())
    evaluate.progressive_val_score(
        [(x, label, {"w": weight}) for x, label, weight in zip(rows, y, w, strict=True)],
        twin,
        metrics.Accuracy(),
    )
    assert_twins(weighted, twin)
    with pytest.raises(ValueError, match="X has 80 rows, y has 79 values"):
        progressive_val_score((X, y[1:]), weighted, metrics.Accuracy())


@pytest.mark.parametrize("make_series", [pd.Series, polars_series], ids=["pandas", "polars"])
def test_a_series_of_texts_is_for_pipelines_that_read_them(make_series):
    texts, y = ["a fine day", "a dull day"] * 30, [True, False] * 30
    model = feature_extraction.BagOfWords() | AdaptiveAMFClassifier(2, absent="zero", seed=1)
    expected = evaluate.progressive_val_score(
        zip(texts, y, strict=True), model.clone(), metrics.CrossEntropy()
    )
    metric = progressive_val_score((make_series(texts), y), model.clone(), metrics.CrossEntropy())
    assert metric.get() == expected.get()
    comparison = compare((make_series(texts), y), {"words": model})
    assert comparison.table["n_samples"].item() == 60
    with pytest.raises(ValueError, match="X has 60 rows, y has 59 values"):
        progressive_val_score((make_series(texts), y[1:]), model, metrics.Accuracy())


@libraries
@pytest.mark.parametrize("name", ["price", "target"])
def test_a_last_column_that_is_a_quantity_is_asked_about(make_frame, name):
    columns = {"a": [*range(300)], name: [i + 0.5 for i in range(300)]}
    frame, model = make_frame(columns), AMFClassifier(n_estimators=2, seed=1)
    question = f"300 distinct labels in 300 rows: is '{name}' the target.* such as 0.5; pass .X, y."
    with pytest.raises(ValueError, match=question):
        progressive_val_score(frame, model, metrics.Accuracy())
    with pytest.raises(ValueError, match=question):
        compare(frame, [model])
    whole = make_frame({**columns, name: [*range(300)]})
    with pytest.raises(ValueError, match="300 distinct labels"):
        drift_history(whole, model)
    assert model.n_samples == 0
    few = make_frame({**columns, name: [i % 200 for i in range(300)]})
    assert progressive_val_score(few, model, metrics.Accuracy()).get() < 0.1
    pair = (whole[["a"]] if make_frame is pd.DataFrame else whole.select(["a"]), [*range(300)])
    assert progressive_val_score(pair, model.clone(), metrics.Accuracy()).get() == 0.0
