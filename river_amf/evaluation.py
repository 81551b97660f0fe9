"""Test-then-train evaluation: the streams, the loop and its checkpoints.

Each sample is predicted first and learnt afterwards, so that no prediction has seen its label
(progressive validation). The loop keeps the same figures as `river.evaluate.progressive_val_score`,
several at a time, and counts the time that the model alone takes.
"""

from __future__ import annotations

import difflib
import math
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, compose, datasets, evaluate, metrics
from river.metrics.base import ClassificationMetric

from river_amf.encoding import shown
from river_amf.forest import AMFClassifier
from river_amf.inspection import feature_relevance
from river_amf.parameters import integer
from river_amf.progressive import iter_progressive_val_score, progressive_val_score
from river_amf.tracks import BUNDLED, STREAMS, TRACKS, DriftStream

__all__ = [
    "BUNDLED",
    "STREAMS",
    "TRACKS",
    "Checkpoint",
    "DriftHistory",
    "DriftStream",
    "EvaluationError",
    "Stream",
    "drift_history",
    "even_checkpoints",
    "iter_progressive_val_score",
    "iter_test_then_train",
    "load_stream",
    "load_track",
    "most_probable",
    "progressive_val_score",
    "suggest",
]

Label = base.typing.ClfTarget
Features = dict[base.typing.FeatureName, Any]
Sample = tuple[Features, Label]
OnPrediction = Callable[[int, Label, dict[Label, float]], None]

_MAX_LISTED = 40  # names in an error message, so that it stays one readable line


class EvaluationError(ValueError):
    """A stream, track, column, metric or sample that cannot be used; the message says why."""


@dataclass(frozen=True)
class Stream:
    """Labelled samples in order; iterating yields pairs of a feature dict and a label.

    Parameters
    ----------
    name
        What to call the stream in reports.
    n_samples
        Number of samples.
    n_numeric
        Number of features that are numbers or booleans.
    n_categorical
        Number of features that are strings.
    samples
        The pairs themselves; may be iterated more than once.

    Examples
    --------
    >>> stream = Stream("toy", 2, 1, 0, [({"a": 1.0}, "yes"), ({"a": 2.0}, "no")])
    >>> [y for x, y in stream]
    ['yes', 'no']

    """

    name: str
    n_samples: int
    n_numeric: int
    n_categorical: int
    samples: Iterable[Sample] = field(repr=False)

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples from the first."""
        return iter(self.samples)


def load_stream(
    source: str,
    target: str | None = None,
    categorical: Sequence[str] = (),
    limit: int | None = None,
) -> Stream:
    """Read a CSV file, or open a data set that comes with river or a stream with drift.

    In a CSV file the columns of text are categories, and only an empty field is missing: it is
    left out of the feature dict.

    Parameters
    ----------
    source
        One of `BUNDLED` or `STREAMS` (in any case), or the path of a CSV file in UTF-8; `.gz` is
        unpacked.
    target
        Column of the labels. By default `target` if there is such a column, else the last one.
    categorical
        Columns whose values are codes: they are read as text, whatever they look like.
    limit
        Read that many samples and no more.

    Raises
    ------
    EvaluationError
        If there is no such stream or column, or the file is no table of features and labels.

    Examples
    --------
    >>> stream = load_stream("bananas", limit=100)
    >>> stream.name, stream.n_samples, stream.n_numeric
    ('Bananas', 100, 2)
    >>> x, y = next(iter(stream))
    >>> sorted(x), type(y)
    (['1', '2'], <class 'bool'>)

    """
    dataset = _open_dataset(source)
    if dataset is None:
        return _load_csv(Path(source), target, categorical, limit)
    name = dataset.name if isinstance(dataset, DriftStream) else type(dataset).__name__
    if target is not None or categorical:
        option = "categorical columns" if target is None else "a target column"
        raise EvaluationError(f"{option} can be chosen for a CSV file, not for {name}")
    n_samples = dataset.n_samples if limit is None else min(limit, dataset.n_samples)
    samples: Iterable[Sample] = _First(dataset, n_samples)
    if name in BUNDLED:  # whole, because river closes the file at its last line only
        samples = list(dataset)[:limit]
    return Stream(name, n_samples, dataset.n_features, 0, samples)


def _open_dataset(name: str) -> datasets.base.Dataset | None:
    """Return the stream with drift or the data set of river of that name, if there is one."""
    known = {name.lower(): name for name in (*STREAMS, *BUNDLED)}.get(name.lower())
    if known is None:
        return None
    return STREAMS[known] if known in STREAMS else getattr(datasets, known)()


@dataclass(frozen=True)
class _First:
    """The first samples of a dataset, made anew each time."""

    dataset: datasets.base.Dataset
    n_samples: int

    def __iter__(self) -> Iterator[Sample]:
        yield from self.dataset.take(self.n_samples)


@dataclass(frozen=True)
class _Rows:
    """The samples of a table, one made at a time."""

    frame: pd.DataFrame
    target: str

    def __iter__(self) -> Iterator[Sample]:
        names = list(self.frame.columns)
        for row in self.frame.itertuples(index=False, name=None):
            # What is missing is NaN here, and NaN alone differs from itself.
            x: Features = {
                name: value for name, value in zip(names, row, strict=True) if value == value
            }
            y = x.pop(self.target)
            yield x, y


def _load_csv(
    path: Path, target: str | None, categorical: Sequence[str], limit: int | None
) -> Stream:
    if not path.exists():
        hint = suggest(str(path), (*BUNDLED, *STREAMS))
        raise EvaluationError(f"no file and no stream {str(path)!r} ({hint})")
    if not path.is_file():
        raise EvaluationError(f"{str(path)!r} is not a regular file")
    columns = _read_header(path)
    target = _choose_target(columns, target, path)
    _check_categorical(columns, categorical, target, path)
    types = dict.fromkeys(categorical, str)
    frame = _read_table(path, names=columns, header=0, nrows=limit, dtype=types)
    _check_values(frame, target, path)
    features = [frame[column] for column in columns if column != target]
    kinds = [pd.api.types.infer_dtype(feature, skipna=True) for feature in features]
    n_categorical = kinds.count("string")
    n_numeric = len(kinds) - n_categorical
    return Stream(path.name, len(frame), n_numeric, n_categorical, _Rows(frame, target))


def _read_table(path: Path, **options: Any) -> pd.DataFrame:
    """Read a CSV file; only an empty field is missing, and no field is dropped silently."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table: pd.DataFrame = pd.read_csv(
                path,
                compression="gzip" if path.suffix.lower() == ".gz" else None,
                index_col=False,
                keep_default_na=False,
                na_values=[""],
                low_memory=False,
                **options,
            )
    except pd.errors.ParserWarning as error:
        raise EvaluationError(f"a row of {path} has more fields than its header") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise EvaluationError(f"cannot read {path} as CSV: {reason}") from error
    return table


def _read_header(path: Path) -> list[str]:
    first_row = _read_table(path, header=None, nrows=1, dtype=str).fillna("")
    columns: list[str] = first_row.iloc[0].tolist()
    column, occurrences = Counter(columns).most_common(1)[0]
    if occurrences > 1:
        raise EvaluationError(f"{path} has more than one column {column!r}")
    if len(columns) == 1:
        raise EvaluationError(
            f"{path} has one column, {columns[0]!r}: are its fields separated by commas?"
        )
    return columns


def _choose_target(columns: list[str], target: str | None, path: Path) -> str:
    if target is None:
        return "target" if "target" in columns else columns[-1]
    if target not in columns:
        raise EvaluationError(f"no target column {target!r} in {path} ({suggest(target, columns)})")
    return target


def _check_categorical(
    columns: list[str], categorical: Sequence[str], target: str, path: Path
) -> None:
    features = [column for column in columns if column != target]
    for column in categorical:
        if column == target:
            raise EvaluationError(f"{column!r} is the target of {path}, not a categorical feature")
        if column not in features:
            raise EvaluationError(f"no column {column!r} in {path} ({suggest(column, features)})")


def _check_values(frame: pd.DataFrame, target: str, path: Path) -> None:
    """Raise unless there are rows, each with a label, and every number is finite."""
    if frame.empty:
        raise EvaluationError(f"{path} has a header but no rows")
    row = _first_row(frame[target].isna().to_numpy())
    if row is not None:
        raise EvaluationError(f"row {row} of {path} has no label: its field {target!r} is empty")
    for column in frame.select_dtypes("float"):
        row = _first_row(np.isinf(frame[column].to_numpy()))
        if row is not None:
            raise EvaluationError(f"row {row} of {path} has an infinite value in {column!r}")


def _first_row(holds: NDArray[np.bool_]) -> int | None:
    """Return the number, from 1, of the first row where it holds."""
    return int(holds.argmax()) + 1 if holds.any() else None


def load_track(name: str) -> evaluate.Track:
    """Return a track: streams over which river compares models, here by their accuracy.

    Parameters
    ----------
    name
        One of `TRACKS`, in any case: `"abrupt"`, `"gradual"`, `"moving"` or `"recurring"` drift,
        `"drift"` for all these, or `"bundled"` for the data sets that river brings along.

    Raises
    ------
    EvaluationError
        If there is no such track.

    Examples
    --------
    >>> from river_amf import AMFClassifier
    >>> track, model = load_track("recurring"), AMFClassifier(seed=1)
    >>> for dataset in track:
    ...     for checkpoint in track.run(model, dataset, n_checkpoints=2):
    ...         print(dataset.name, checkpoint["Step"], checkpoint["Accuracy"].get() > 0.55)
    sea_recurring 10000 True
    sea_recurring 20000 True
    stagger_recurring 10000 True
    stagger_recurring 20000 True

    """
    known = {track.lower(): track for track in TRACKS}.get(name.lower())
    if known is None:
        raise EvaluationError(f"no track {name!r} ({suggest(name, list(TRACKS))})")
    streams = [_open_dataset(stream) for stream in TRACKS[known]]
    return evaluate.Track(known, streams, metrics.Accuracy())  # type: ignore[no-untyped-call]


def suggest(name: str, known: Sequence[str]) -> str:
    """Return a hint for a message about an unknown name: the nearest known one, and what there is.

    Examples
    --------
    >>> suggest("colour", ["color", "size"])
    "did you mean 'color'? there are 'color', 'size'"

    """
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    question = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    rest = len(known) - _MAX_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return f"{question}there are {', '.join(map(repr, known[:_MAX_LISTED]))}{more}"


@dataclass(frozen=True)
class Checkpoint:
    """Where an evaluation stands.

    Parameters
    ----------
    n_samples
        Samples predicted and learnt so far.
    metrics
        Value of each metric over these samples, by class name.
    us_per_sample
        Microseconds that the model took per sample, to predict and to learn.
    memory
        Size of the model in bytes.

    """

    n_samples: int
    metrics: dict[str, float]
    us_per_sample: float
    memory: int


def even_checkpoints(n_samples: int) -> range:
    """Return about ten sample counts up to `n_samples`, evenly spaced by a round number.

    Examples
    --------
    >>> even_checkpoints(45_312)
    range(5000, 45313, 5000)
    >>> list(even_checkpoints(3))
    [1, 2, 3]

    """
    wanted = max(n_samples / 10, 1)
    power = 10 ** math.floor(math.log10(wanted))
    round_numbers = (power, 2 * power, 5 * power, 10 * power)
    interval = min(round_numbers, key=lambda number: abs(math.log(number / wanted)))
    return range(interval, n_samples + 1, interval)


def iter_test_then_train(
    samples: Iterable[Sample],
    model: base.Classifier,
    measures: Sequence[ClassificationMetric],
    checkpoints: Container[int],
    on_prediction: OnPrediction | None = None,
) -> Iterator[Checkpoint]:
    """Predict, score and learn each sample in turn; yield at the checkpoints and at the end.

    The first sample, of which a new model knows nothing, is not scored, as in river.

    Parameters
    ----------
    samples
        A `Stream`, or any pairs of features and label.
    model
        The classifier; it learns.
    measures
        Metrics to update: with the most probable label, or with the probabilities if they take
        these.
    checkpoints
        Sample counts at which to yield, such as a range.
    on_prediction
        Called for each sample with its number from 1, its label, and the probabilities predicted.

    Raises
    ------
    EvaluationError
        If the model refuses a sample.

    Examples
    --------
    >>> from river import metrics, naive_bayes
    >>> stream, model = load_stream("Phishing"), naive_bayes.GaussianNB()
    >>> for row in iter_test_then_train(stream, model, [metrics.Accuracy()], {500, 1000}):
    ...     print(row.n_samples, row.metrics["Accuracy"] > 0.8)
    500 True
    1000 True
    1250 True

    """
    n = 0
    seconds = 0.0
    for n, (x, y) in enumerate(samples, start=1):
        proba, predicting = _timed(n, model.predict_proba_one, x)
        if proba:
            label = most_probable(proba)
            for measure in measures:
                measure.update(y, label if measure.requires_labels else proba)
        if on_prediction is not None:
            on_prediction(n, y, proba)
        _, learning = _timed(n, model.learn_one, x, y)
        seconds += predicting + learning
        if n in checkpoints:
            yield _checkpoint(n, seconds, model, measures)
    if n and n not in checkpoints:
        yield _checkpoint(n, seconds, model, measures)


def most_probable(proba: dict[Label, float]) -> Label | None:
    """Return the label predicted: the first of the most probable ones, None if there are none."""
    return max(proba, key=lambda label: proba[label], default=None)


def _timed(n: int, call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return what the model says to sample n, and the seconds it took."""
    start = time.perf_counter()
    try:
        answer = call(*args)
    except MemoryError as error:
        raise EvaluationError(f"sample {n}: not enough memory for the model") from error
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"sample {n}: {error}") from error
    return answer, time.perf_counter() - start


def _checkpoint(
    n: int,
    seconds: float,
    model: base.Classifier,
    measures: Sequence[ClassificationMetric],
) -> Checkpoint:
    values = {type(measure).__name__: float(measure.get()) for measure in measures}
    return Checkpoint(n, values, 1e6 * seconds / n, model._raw_memory_usage)


@dataclass(frozen=True, eq=False)
class DriftHistory:
    """How a forest fared along a stream, by the number of samples learnt (`drift_history`).

    Parameters
    ----------
    curve
        A row per checkpoint, with the columns `accuracy`, over the samples since the checkpoint
        before, and `fading_share`, that of the model then; NaN if it does not fade.
    relevance
        A row per checkpoint, with a column for each feature, in order of first appearance: its
        `inspection.feature_relevance`; NaN before it appeared. Without columns if the model keeps
        none.

    """

    curve: pd.DataFrame
    relevance: pd.DataFrame


def drift_history(
    samples: Iterable[Sample], model: base.Classifier, every: int = 200
) -> DriftHistory:
    """Run a forest over a stream, test-then-train, and record what drift does to it.

    Parameters
    ----------
    samples
        A `Stream`, a data set of river, or any pairs of features and label. It must end: of an
        endless generator of river take as many as there shall be, `SEA().take(10_000)`.
    model
        A forest, or a pipeline of river that ends in one; it learns.
    every
        Number of samples between two checkpoints; there is one at the end too.

    Returns
    -------
    The accuracy, the share of the faded counts and the relevance of each feature at the
    checkpoints. `plot.drift` draws them.

    Raises
    ------
    TypeError
        If the model is, or ends in, no forest.
    ValueError
        If `every` is no whole number from 1.
    EvaluationError
        If a sample is no pair, or the model refuses it.

    Examples
    --------
    The label of this stream depends on size and color first, then on color and shape:

    >>> from river_amf import AdaptiveAMFClassifier, evaluation
    >>> stream = evaluation.STREAMS["stagger_abrupt"]
    >>> stream.drifts
    (5000, 10000)
    >>> model = AdaptiveAMFClassifier(n_estimators=3, seed=1)
    >>> history = evaluation.drift_history(stream.take(8000), model, every=1000)
    >>> bool(history.curve["fading_share"][5000] < 0.1 < history.curve["fading_share"][8000])
    True
    >>> history.relevance.loc[[5000, 8000]] > 0.1
               color  shape   size
    n_samples
    5000        True  False   True
    8000        True   True  False

    """
    integer(1)("every", every)
    forest = _last_forest(model)
    hits: list[bool] = []

    def score(n: int, y: Label, proba: dict[Label, float]) -> None:
        if proba:
            hits.append(most_probable(proba) == y)

    places: list[int] = []
    curve: list[tuple[float, float]] = []
    relevance: list[pd.Series] = []
    checkpoints = range(int(every), sys.maxsize, int(every))
    for checkpoint in iter_test_then_train(_pairs(samples), model, (), checkpoints, score):
        places.append(checkpoint.n_samples)
        curve.append((sum(hits) / len(hits) if hits else math.nan, forest.fading_share))
        if forest.split_intensity == "relevance":
            relevance.append(feature_relevance(forest))
        hits.clear()
    index = pd.Index(places, dtype=np.int64, name="n_samples")
    columns = ["accuracy", "fading_share"]
    return DriftHistory(
        pd.DataFrame(curve, index, columns, dtype=np.float64), _relevance_table(index, relevance)
    )


def _last_forest(model: Any) -> AMFClassifier:
    """Return the forest that the model is, or in which the pipeline ends."""
    last = model
    while isinstance(last, compose.Pipeline):
        last = next(reversed(last.steps.values()), None)
    if not isinstance(last, AMFClassifier):
        raise TypeError(
            f"model must be a forest, or a pipeline that ends in one, got {shown(model)}"
        )
    return last


def _pairs(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Yield the samples, or raise where one is no pair."""
    for n, sample in enumerate(samples, start=1):
        if not isinstance(sample, tuple | list) or len(sample) != 2:
            raise EvaluationError(f"sample {n}: must be a pair (x, y), got {shown(sample)}")
        x, y = sample
        yield x, y


def _relevance_table(index: pd.Index, relevance: Sequence[pd.Series]) -> pd.DataFrame:
    """Return the relevances as rows; features known later are NaN in the earlier ones."""
    names = relevance[-1].index if relevance else pd.Index([], dtype=object)
    table = np.full((len(index), len(names)), math.nan)
    for row, known in zip(table, relevance, strict=False):
        row[: len(known)] = known  # a new feature is added at the end
    return pd.DataFrame(table, index, names)
