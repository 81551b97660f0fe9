"""Progressive validation over dataframes: exactly river's metrics, dicts, lines and models."""

import datetime as dt
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
from river_amf.evaluation import compare, progressive
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


def test_the_labels_are_the_column_target_else_the_last():
    rows = {"a": [1.0, 2.0, 3.0], "target": ["x", "y", "y"], "b": [True, False, False]}
    named = pd.DataFrame(rows)
    last = named.rename(columns={"target": "size"})
    X, y = {"a": rows["a"], "b": rows["b"]}, {"a": rows["a"], "size": rows["target"]}
    for options in ({}, {"delay": 1}):
        assert_like_river(named, samples(X, rows["target"]), yield_predictions=True, **options)
        assert_like_river(last, samples(y, rows["b"]), yield_predictions=True, **options)


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


# Checkpoints


@pytest.mark.parametrize(
    ("step", "make_metrics"),
    [
        *((step, [metrics.Accuracy, metrics.CrossEntropy]) for step in (None, 7, 100, 350)),
        *((step, [metrics.Accuracy]) for step in (0, 70, 351, 2.5, np.int64(9))),
        *((step, [metrics.CrossEntropy]) for step in (300, 349, -3, 50.0)),
    ],
)
def test_checkpoints_are_those_of_river(step, make_metrics):
    frame = pd.DataFrame(COLUMNS | {"target": LABELS})
    for make_metric in make_metrics:
        assert_like_river(frame, samples(), make_metric, step=step, yield_predictions=True)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize(
    ("step", "delay"), [(0, None), (1, None), (2, None), (1, 0), (1, 1), (1, 5)]
)
def test_short_streams(n, step, delay):
    X, y = pd.DataFrame(COLUMNS).head(n), LABELS[:n]
    stream = itertools.islice(samples(), n)
    options = {"step": step, "yield_predictions": True, "delay": delay}
    assert_like_river((X, y), stream, metrics.CrossEntropy, **options)


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by more than an hour whenever it is read; a call resets it."""

    def reset():
        times = itertools.count(0.0, 4567.8)
        monkeypatch.setattr(time, "perf_counter", lambda: next(times))

    return reset


# Printed lines


@pytest.mark.parametrize(
    ("print_every", "show_time", "show_memory", "make_metric"),
    [
        *((every, True, True, metrics.CrossEntropy) for every in (0, 60, 175, 1000)),
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
def test_late_labels_are_those_of_river(options, make_metric):
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


def outputs_by(call, *args, **kwargs):
    """Return what a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    assert {warning.category for warning in caught} <= {MismatchWarning}
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("options", [{}, *(LATE[name] for name in ("5", "both", "never"))], ids=str)
def test_dirty_values_count_as_missing_as_in_river(options):
    columns = spoilt(timed(), random.Random(6))
    metric, expected = Recorder(True), Recorder(True)
    model, twin = (fresh(on_mismatch="missing") for _ in range(2))
    frame = (pd.DataFrame(columns), LABELS)
    reported = outputs_by(progressive_val_score, frame, model, metric, **options)
    rest = samples(columns), twin, expected
    assert sorted(reported) == sorted(outputs_by(evaluate.progressive_val_score, *rest, **options))
    assert metric.seen == expected.seen
    assert_twins(model, twin)
    assert len(reported) == len({*reported}) > 1


def test_labels_that_never_come_go_to_river(block_sizes):
    labels = [None if i % 7 == 3 else label for i, label in enumerate(LABELS)]
    for y in (labels, pd.Series(labels, dtype=object)):
        assert_like_river((pd.DataFrame(COLUMNS), y), samples(labels=labels), delay=5)
    assert block_sizes == []


# What goes to river


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


def test_a_metric_that_does_not_suit_is_reported_as_by_river(block_sizes):
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


def test_a_binary_metric_asks_for_the_positive_label(block_sizes):
    columns, labels = STREAMS["bool"]
    words = ["Yes" if y else "No" for y in labels]
    for dataset in ((pd.DataFrame(columns), words), [*samples(columns, words)]):
        for metric in (metrics.ROCAUC(), metrics.Accuracy() + metrics.F1(), BINARY["rolling F1"]()):
            model = fresh()
            with pytest.raises(ValueError, match=r"labels True/False .* which label is positive"):
                progressive_val_score(dataset, model, metric)
            assert model.n_samples == 0
        own = progressive_val_score(dataset, fresh(), metrics.MacroF1())
        assert own.get() > 0.5


# Invalid input


def test_a_bad_row_raises_before_its_block_is_learnt():
    lengths = [*COLUMNS["length"][:230], float("inf"), *COLUMNS["length"][231:]]
    X = pd.DataFrame(COLUMNS | {"length": lengths})
    with pytest.raises(ValueError, match=r"feature 'length'"):
        progressive_val_score((X, LABELS), fresh(), metrics.Accuracy(), delay=5)
    weighted = (pd.DataFrame(COLUMNS), LABELS, [*WEIGHTS[:240], -1.0, *WEIGHTS[241:]])
    with pytest.raises(ValueError, match=r"^row 240: w must be"):
        progressive_val_score(weighted, fresh(), metrics.Accuracy())
    for step, n_learnt in [(0, 200), (90, 180), (1, 230)]:
        model, twin, metric, expected = fresh(), fresh(), metrics.MacroF1(), metrics.MacroF1()
        named = "'length'.*inf" if step == 1 else "^row 230: feature 'length'.*inf"
        with pytest.raises(ValueError, match=named):
            for _ in iter_progressive_val_score((X, LABELS), model, metric, step=step):
                pass
        evaluate.progressive_val_score(itertools.islice(samples(), n_learnt), twin, expected)
        assert metric.get() == expected.get()
        assert_twins(model, twin)


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
def test_bad_data_is_reported(dataset, error, message):
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
    triples = [(x, label, {"w": weight}) for x, label, weight in zip(rows, y, w, strict=True)]
    for model in (AdaptiveAMFClassifier(2, absent="zero", seed=1), naive_bayes.MultinomialNB()):
        for matrix in (X, X.tocoo(), scipy.sparse.csc_matrix(X)):
            ours, theirs = model.clone(), model.clone()
            metric = progressive_val_score((matrix, y), ours, metrics.CrossEntropy())
            expected = metrics.CrossEntropy()
            evaluate.progressive_val_score(zip(rows, y, strict=True), theirs, expected)
            assert metric.get() == expected.get()
    weighted, twin = (AdaptiveAMFClassifier(2, absent="zero", seed=1) for _ in range(2))
    progressive_val_score((X, pd.Series(y), w), weighted, metrics.Accuracy())
    evaluate.progressive_val_score(triples, twin, metrics.Accuracy())
    assert_twins(weighted, twin)
    assert compare((X, y), {"words": model}).table["n_samples"].item() == 80
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
    model = AMFClassifier(n_estimators=2, seed=1)
    for values, such in (([i + 0.5 for i in range(300)], "0.5"), ([*range(300)], "0")):
        frame = make_frame({"a": [*range(300)], name: values})
        question = f"300 distinct labels in 300 rows: is '{name}' the target.* such as {such}; pass"
        with pytest.raises(ValueError, match=question):
            compare(frame, [model])
        with pytest.raises(ValueError, match=question):
            progressive_val_score(frame, model, metrics.Accuracy())
    few = make_frame({"a": [*range(300)], name: [i % 50 for i in range(300)]})
    assert progressive_val_score(few, model, metrics.Accuracy()).get() < 0.1
    pair = make_frame({"a": [*range(300)]}), [*range(300)]
    assert progressive_val_score(pair, model.clone(), metrics.Accuracy()).get() == 0.0
