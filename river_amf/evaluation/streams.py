"""Streams: labeled samples in order, and the task that their targets suggest."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types
from river import base
from river.feature_extraction import BagOfWords

from river_amf.evaluation.usage_errors import EvaluationError, StreamFailure, error_line
from river_amf.inputs.kinds import as_category, is_real, shown
from river_amf.outputs.printing import printable, shorten
from river_amf.state.layout import CLASSIFICATION, REGRESSION, Task

Label = base.typing.ClfTarget
Target = Label | base.typing.RegTarget

Features = dict[base.typing.FeatureName, Any]
Sample = tuple[Features, Any]  # of which the second is a Target
Wait = int | str | dt.timedelta  # a number of samples, or a duration such as "1d"
Schedule = Callable[[int], int]  # of the samples predicted so far, how many have been learned

ROWS = 1000  # first rows of standard input, which settle the columns
MAX_LABELS = 50  # distinct numbers that may be labels
_FEW_LABELS = 20  # which may lie close together from any number on
_MAX_LISTED = 5  # labels in a description
_WORDS: Any = BagOfWords()  # which only splits texts here


class Record(NamedTuple):
    """A row of a file: its number from 1, its sample, and the columns that are copied."""

    row: int
    x: Features
    y: Any
    kept: tuple[Any, ...] = ()


@dataclass(frozen=True)
class TableRows:
    """The rows of a table as samples, created one at a time."""

    frame: pd.DataFrame  # of features, indexed by the rows of the file from 0
    targets: pd.Series
    text: str | None
    kept: pd.DataFrame
    n_unlabeled: int

    def __len__(self) -> int:
        return len(self.frame)

    def __iter__(self) -> Iterator[Sample]:
        return ((x, y) for _, x, y, _ in self.records())

    def records(self) -> Iterator[Record]:
        names, has_gaps = [*self.frame], bool(self.frame.isna().to_numpy().any())
        cells = self.frame.itertuples(index=False, name=None)
        kept = map(tuple, self.kept.to_numpy(object))  # pandas 2 iterates over no empty tuples
        numbers = (self.frame.index + 1).tolist()
        for n, values, y, copied in zip(numbers, cells, self.targets.tolist(), kept, strict=True):
            x: Features = dict(zip(names, values, strict=True))
            if has_gaps:
                x = {name: value for name, value in x.items() if value == value}  # no NaN
            if self.text is not None:
                counts = _WORDS.transform_one(x.pop(self.text, ""))
                x |= {f"{self.text}={word}": count for word, count in counts.items()}
            yield Record(n, x, y, copied)


@dataclass(frozen=True)
class Stream:
    """Labeled samples in order; iterating yields pairs of a feature dict and a label or number.

    `samples` are pairs (features, label), such as a list, and `later` further rows of standard
    input, as they come, which can be read only once. `n_unlabeled` rows of a file are left out, as
    they have no label. `task` is `"classification"` (labels) or `"regression"` (numbers). `target`
    and `text` name the column of a file to predict, and that of a bag of words; `kinds` has
    `"number"`, `"boolean"`, `"date"` or `"category"` by the name of the other features, and `keep`
    the columns that `records` copies. `guess` is how the target was guessed, if it was, and
    `drifts` are the numbers of samples before each drift.

    >>> from river_amf.evaluation import Stream
    >>> stream = Stream("toy", [({"a": 1.0}, "yes"), ({"a": 2.0}, "no")])
    >>> [y for x, y in stream], stream.n_samples
    (['yes', 'no'], 2)
    """

    name: str
    samples: Sequence[Sample] | TableRows = field(repr=False)
    n_unlabeled: int = 0
    task: Task = CLASSIFICATION
    target: str | None = None
    text: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict, repr=False)
    keep: tuple[str, ...] = ()
    guess: str | None = None
    drifts: tuple[int, ...] = ()
    later: Iterator[TableRows] | None = field(default=None, repr=False)

    @property
    def n_samples(self) -> int:
        """Number of samples, without those that are yet to come."""
        return len(self.samples)

    @property
    def targets(self) -> list[Any]:
        """Labels or numbers to predict, without those that are yet to come."""
        rows = self.samples
        return rows.targets.tolist() if isinstance(rows, TableRows) else [y for _, y in rows]

    def __iter__(self) -> Iterator[Sample]:
        return itertools.chain(self.samples, itertools.chain.from_iterable(self.later or ()))

    def records(self) -> Iterator[Record]:
        """Yield the samples as records.

        >>> next(Stream("toy", [({"a": 1.0}, "yes")]).records()).row
        1
        """
        for rows in itertools.chain([self.samples], self.later or ()):
            if isinstance(rows, TableRows):
                yield from rows.records()
            else:
                yield from (Record(n, x, y) for n, (x, y) in enumerate(rows, start=1))

    def complete(self) -> Stream:
        """Return the stream with all of its samples, which can be read more than once.

        >>> Stream("toy", [({"a": 1.0}, "yes")]).complete().n_samples
        1
        """
        if self.later is None:
            return self
        later = list(self.later)
        n_unlabeled = self.n_unlabeled + sum(rows.n_unlabeled for rows in later)
        samples = [*self.samples, *itertools.chain(*later)]
        return replace(self, samples=samples, n_unlabeled=n_unlabeled, later=None)

    def describe(self) -> str:
        """Return a line about the target, the features and the rows left out.

        >>> Stream("toy", [({}, "yes"), ({}, "no")], kinds={"a": "number"}).describe()
        'target: 2 labels (yes 1, no 1); features: 1 number'
        """
        targets = self.targets
        if self.task == REGRESSION:
            about = f"numbers from {min(targets):g} to {max(targets):g}"
        else:
            counts = Counter(targets)
            named = [f"{shorten(str(y), 20)} {n}" for y, n in counts.most_common(_MAX_LISTED)]
            named += [f"and {len(counts) - _MAX_LISTED} more"] * (len(counts) > _MAX_LISTED)
            about = f"{_counted(len(counts), 'label')} ({', '.join(named)})"
        features = [_counted(n, kind) for kind, n in Counter(self.kinds.values()).items()]
        features += [f"words of {shorten(self.text, 24)!r}"] if self.text else []
        guess = f" ({self.guess}; --target names another)" if self.guess else ""
        name = f"{printable(shorten(self.target, 24))}{guess}, " if self.target else ""
        line = f"target: {name}{about}; features: {', '.join(features)}"
        skipped = f"; {_counted(self.n_unlabeled, 'row')} without a target skipped"
        return shorten(line + skipped * (self.n_unlabeled > 0))

    def columns(self) -> pd.DataFrame:
        """Return the columns: how each is read, what is missing, distinct values, and an example.

        >>> Stream("toy", [({"a": 1.0}, "yes"), ({}, "no")]).columns().values.tolist()
        [['a', 'number', 1, 1, '1'], ['target', 'category', 0, 2, 'yes']]
        """
        rows, targets = self.samples, pd.Series(self.targets, dtype=object).infer_objects()
        frame = rows.frame if isinstance(rows, TableRows) else pd.DataFrame([x for x, _ in rows])
        kinds: dict[Any, str] = {**self.kinds} | {n: "words" for n in [self.text] if n in frame}
        columns: Any = {n: frame.get(n, frame.get(f"{n}.days")) for n in kinds or frame}
        lines = []
        for name, values in (columns | {self.target or "target": targets}).items():
            is_number = types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
            kind = kinds.get(name, "number" if is_number else "category")
            present = values.dropna()
            example = as_category(present.iloc[0]) if len(present) else ""
            if kind == "date" and name not in frame and len(present):  # of which there are parts
                time = dt.datetime(1970, 1, 1) + dt.timedelta(float(present.iloc[0]))
                example = time if f"{name}.hour" in frame else time.date()
            n_missing = len(values) - len(present) + self.n_unlabeled * (values is targets)
            texts = [printable(shorten(str(text), 40)) for text in (name, example)]
            lines.append([texts[0], kind, n_missing, present.nunique(), texts[1]])
        return pd.DataFrame(lines, columns=["column", "read as", "missing", "distinct", "example"])


def _counted(n: int, noun: str) -> str:
    plural = "categories" if noun == "category" else f"{noun}s"
    return f"{n} {noun if n == 1 else plural}"


def task_of(targets: Any) -> Task:
    """Return the task that targets suggest: regression for quantities, as in `load_stream`."""
    values = pd.Series(targets)
    is_object = values.dtype == object
    if is_object and all(is_real(y) and not isinstance(y, bool | np.bool_) for y in values):
        values = values.astype(float)
    if not types.is_numeric_dtype(values) or types.is_bool_dtype(values):
        return CLASSIFICATION
    finite = values[np.isfinite(values)]
    n, low, high = finite.nunique(), finite.min(), finite.max()
    is_dense = 2 * n >= min(high - low, len(finite))
    is_odd = n > MAX_LABELS or (n > _FEW_LABELS and low not in (0, 1) and is_dense)
    return REGRESSION if is_odd or (finite % 1 != 0).any() else CLASSIFICATION


def read_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples; raise StreamFailure at one that is not a pair, or if the stream raises."""
    try:
        for n, sample in enumerate(samples, start=1):
            if not isinstance(sample, tuple | list) or len(sample) != 2:
                raise StreamFailure(f"sample {n} must be a pair (x, y), got {shown(sample)}")
            x, y = sample
            yield copy.copy(x), y  # as a model may change it
    except EvaluationError:
        raise
    except Exception as error:
        raise StreamFailure(f"the stream cannot be read: {error_line(error)}") from error
