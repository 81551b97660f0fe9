from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import base, dummy, metrics

from river_amf.evaluation import EvaluationError, load_stream, prequential
from river_amf.evaluation.prequential import TestThenTrain
from river_amf.evaluation.scores import Scores

TABLE = """\
size,colour,code,seen,target
1.5,red,2,True,0
,NA,10,,1
-3,None,,False,0
1e-12,,2,True,1
"""


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


def run(model, stream, measures=(), checkpoints=(), on_prediction=None):
    """Return the results at each checkpoint, with the metrics named after their classes."""
    scores = Scores({type(measure).__name__: measure for measure in measures})
    loop = TestThenTrain(model, scores, on_prediction)
    return [{"n_samples": n, **loop.figures()} for n in loop.run(stream, checkpoints)]


# Streams


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "TABLE.CSV.GZ"])
def test_csv_gives_plain_values_and_leaves_out_what_is_missing(tmp_path, name):
    data = gzip.compress(TABLE.encode()) if name.endswith("GZ") else TABLE
    stream = load_stream(write(tmp_path, data, name), categorical=["code"])
    expected = [
        ({"size": 1.5, "colour": "red", "code": "2", "seen": True}, 0),
        ({"colour": "NA", "code": "10"}, 1),
        ({"size": -3.0, "colour": "None", "seen": False}, 0),
        ({"size": 1e-12, "code": "2", "seen": True}, 1),
    ]
    assert (stream.name, stream.n_samples) == (name, 4)
    assert (stream.n_numeric, stream.n_categorical) == (2, 2)
    assert list(stream) == expected
    assert list(stream) == expected  # a second time
    for (x, y), (expected_x, _) in zip(stream, expected, strict=True):
        assert type(y) is int
        assert [type(x[name]) for name in x] == [type(expected_x[name]) for name in x]


def test_default_target_is_the_column_target_else_the_last(tmp_path):
    named = load_stream(write(tmp_path, "target,a\nyes,1\nno,2\n"))
    last = load_stream(write(tmp_path, "a,b\n1,True\n2,False\n"))
    chosen = load_stream(write(tmp_path, "a,b\n1,True\n2,False\n"), target="a")
    assert list(named) == [({"a": 1}, "yes"), ({"a": 2}, "no")]
    assert [(x, y is True) for x, y in last] == [({"a": 1}, True), ({"a": 2}, False)]
    assert list(chosen) == [({"b": True}, 1), ({"b": False}, 2)]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "No columns"),
        ("a,target\n", {}, "header but no rows"),
        ("a|target\n1|2\n", {}, "one column, 'a.target': are its fields separated by commas"),
        ("a,a,target\n1,2,3\n", {}, "more than one column named 'a'"),
        ("a,target\n1,\n3,\n", {}, "no row of .* has a label: its column 'target' is empty"),
        ("a,target\n1,2\n-inf,3\n", {}, "row 2 .* an infinite value in 'a'"),
        ("a,target\n1,2\n2,inf\n", {}, "row 2 .* an infinite value in 'target'"),
        ("a,target\n1,2\n1,2,3\n", {}, "line 3"),
        ("a,target\n1,2,3\n", {}, "more fields than its header"),
        ('a,target\n"1,2\n', {}, "EOF inside string"),
        ("1.0,1.0,setosa\n4.9,3.0,setosa\n", {}, r"column named '1\.0'; no_header"),
        (f"a,target\n1,x\n1{400 * '0'},y\n", {}, r"row 2 .* in 'a', or one that is too large"),
        ("a,target\n1,p\n2,\ninf,p\n", {}, "row 3 .* infinite"),
        ("a|target\n1|2\n", {"separator": "||"}, "separator must be a single character"),
        (b"\x89PNG,\r\n\x1a\n\xff,\xfe", {}, "cannot read .* as CSV"),
        ("a,target\n1,2\n", {"target": "targte"}, "no target column 'targte' .* mean 'target'"),
        ("a,target\n1,2\n", {"categorical": ["z"]}, r"no feature column 'z' \(available: 'a'\)"),
        ("a,target\n1,2\n", {"categorical": ["target"]}, "'target' is the target"),
    ],
)
def test_a_bad_table_is_reported_in_one_line(tmp_path, text, options, message):
    with pytest.raises(EvaluationError, match=message) as raised:
        load_stream(write(tmp_path, text), **options)
    assert "table.csv" in str(raised.value) or "separator must" in message


def test_a_bad_path_is_reported(tmp_path):
    whole = gzip.compress(b"a,target\n1,2\n" * 1000)
    damaged = whole[:30] + b"\xff\xff\xff" + whole[33:]
    for name, data in [("plain", b"a,b\n1,2\n"), ("cut", whole[:40]), ("damaged", damaged)]:
        (tmp_path / f"{name}.gz").write_bytes(data)
        with pytest.raises(EvaluationError, match=f"cannot read .*{name}.gz as CSV"):
            load_stream(str(tmp_path / f"{name}.gz"))
    with pytest.raises(EvaluationError, match="is not a regular file"):
        load_stream(str(tmp_path))
    with pytest.raises(EvaluationError, match="did you mean 'Bananas'"):
        load_stream("Banana")
    with pytest.raises(EvaluationError, match="did you mean 'rbf_moving'"):
        load_stream("rbf_movin")


# The loop


@given(st.integers(1, 10**9))
def test_checkpoints_are_about_ten_and_round(n_samples):
    checkpoints = prequential.even_checkpoints(n_samples)
    assert str(checkpoints.step).rstrip("0") in {"1", "2", "5"}
    assert checkpoints[0] == checkpoints.step
    assert min(n_samples, 6) <= len(checkpoints) <= 15


class Clocked(base.Classifier):
    """A model that moves its own clock: 1 us to predict, 1 s to do so again, 2 us to learn."""

    def __init__(self):
        self.now = 0.0

    def predict_proba_one(self, x, **kwargs):
        self.now += 1e-6
        return {True: 1.0}

    def predict_one(self, x, **kwargs):
        self.now += 1.0
        return True

    def learn_one(self, x, y):
        self.now += 2e-6


def test_only_the_model_is_timed(monkeypatch):
    model = Clocked()

    def pass_time(*_):
        model.now += 1.0

    def samples():
        for _ in range(10):
            pass_time()
            yield {"a": 1.0}, True

    monkeypatch.setattr(prequential.time, "perf_counter", lambda: model.now)
    rows = run(model, samples(), [metrics.Accuracy()], {5}, on_prediction=pass_time)
    assert [row["us_per_sample"] for row in rows] == pytest.approx([3.0, 3.0], rel=1e-6)


class Mute(ValueError):
    """An error that cannot be converted to text."""

    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("a"), "^sample 1: KeyError: 'a'$"),
        (ValueError("odd"), "^sample 1: odd$"),
        (MemoryError(), "^sample 1: not enough memory for the model$"),
        (ValueError(), "^sample 1: ValueError$"),
        (Mute(), "^sample 1: Mute$"),
        (SystemExit(2), "^sample 1: SystemExit: 2$"),
        (GeneratorExit(), "^sample 1: GeneratorExit$"),
    ],
)
def test_whatever_a_model_raises_is_an_evaluation_error(error, message):
    class Raising(dummy.PriorClassifier):
        def learn_one(self, x, y):
            raise error

    with pytest.raises(EvaluationError, match=message) as raised:
        run(Raising(), [({"a": 1.0}, 0)])
    assert raised.value.__cause__ is error
