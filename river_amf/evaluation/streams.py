"""Streams: labeled samples in order, and the task that their targets suggest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types
from river import base
from river.feature_extraction import BagOfWords

from river_amf.inputs.kinds import is_real

Label = base.typing.ClfTarget
Target = Label | base.typing.RegTarget

Features = dict[base.typing.FeatureName, Any]
Sample = tuple[Features, Any]  # of which the second is a Target

CLASSIFICATION = "classification"
REGRESSION = "regression"

ROWS = 1000  # in which the values of a target suggest the task
MAX_LABELS = 50  # distinct numbers in these rows that may be labels
_MAX_LISTED = 5  # labels in a description,
_LONGEST = 200  # characters
_WORDS: Any = BagOfWords()  # which only splits texts here
_PLURALS = {"number": "numbers", "category": "categories", "boolean": "booleans", "date": "dates"}


class Record(NamedTuple):
    """A row of a file: its number from 1, its sample, and the columns that are copied."""

    row: int
    x: Features
    y: Any
    kept: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Stream:
    """Labeled samples in order; iterating yields pairs of a feature dict and a label or number.

    Parameters
    ----------
    name
        Name of the stream in reports.
    n_samples
        Number of samples, without those that are yet to come.
    n_numeric
        Number of features that are numbers or booleans.
    n_categorical
        Number of features that are strings.
    samples
        Iterable of `n_samples` pairs (features, label), which can be iterated over more than once.
    n_unlabeled
        Number of rows of a file that are not among the samples because they have no label.
    task
        What to predict: `"classification"` (labels) or `"regression"` (numbers).
    target
        Name of the column to predict, if the samples come from a file.
    text
        Name of the column that is a bag of words, whose absent features count as 0.
    kinds
        `"number"`, `"boolean"`, `"date"` or `"category"` by the name of the other features.
    later
        Records that follow on standard input, as they come, None for rows without a label; they can
        be read only once.

    Examples
    --------
    >>> from river_amf.evaluation import Stream
    >>> stream = Stream("toy", 2, 1, 0, [({"a": 1.0}, "yes"), ({"a": 2.0}, "no")])
    >>> [y for x, y in stream]
    ['yes', 'no']
    """

    name: str
    n_samples: int
    n_numeric: int
    n_categorical: int
    samples: Iterable[Sample] = field(repr=False)
    n_unlabeled: int = 0
    task: str = CLASSIFICATION
    target: str | None = None
    text: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict, repr=False)
    later: Iterator[Record | None] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples from the beginning."""
        yield from self.samples
        for record in filter(None, self.later or ()):
            yield record.x, record.y

    def records(self) -> Iterator[Record]:
        """Yield the samples as records.

        >>> next(Stream("toy", 1, 1, 0, [({"a": 1.0}, "yes")]).records())
        Record(row=1, x={'a': 1.0}, y='yes', kept=())
        """
        if isinstance(self.samples, Rows):
            yield from self.samples.records()
        else:
            yield from (Record(n, x, y) for n, (x, y) in enumerate(self.samples, start=1))
        yield from filter(None, self.later or ())

    def complete(self) -> Stream:
        """Return the stream with all of its samples, which can be read more than once.

        >>> Stream("toy", 1, 1, 0, [({"a": 1.0}, "yes")]).complete().n_samples
        1
        """
        if self.later is None:
            return self
        later = list(self.later)
        samples = [*self.samples, *((each.x, each.y) for each in later if each)]
        n_unlabeled = self.n_unlabeled + later.count(None)
        changes: Any = {"samples": samples, "n_samples": len(samples), "n_unlabeled": n_unlabeled}
        return replace(self, **changes, later=None)

    def describe(self) -> str:
        """Return a line about the target, the features and the rows left out.

        >>> Stream("toy", 2, 1, 0, [({"a": 1.0}, "yes"), ({"a": 2.0}, "no")]).describe()
        'target: 2 labels (yes 1, no 1); features: 1 number'
        """
        targets = [y for _, y in self.samples]
        for length in (40, 24, 12):  # of a label
            line = self._description(targets, length)
            if len(line) <= _LONGEST:
                break
        return line

    def _description(self, targets: list[Any], length: int) -> str:
        if self.task == REGRESSION:
            about = f"numbers from {min(targets):g} to {max(targets):g}"
        else:
            counts = Counter(targets)
            named = [f"{_cut(str(y), length)} {n}" for y, n in counts.most_common(_MAX_LISTED)]
            more = [f"and {len(counts) - len(named)} more"] if len(counts) > len(named) else []
            labels = "label" if len(counts) == 1 else "labels"
            about = f"{len(counts)} {labels} ({', '.join([*named, *more])})"
        kinds = Counter(self.kinds.values())
        kinds = kinds or Counter(number=self.n_numeric, category=self.n_categorical)
        features = [f"{n} {_PLURALS[k] if n > 1 else k}" for k, n in kinds.items() if n]
        features += [f"words of {_cut(self.text, length)!r}"] if self.text else []
        name = "" if self.target is None else f" {_cut(self.target, length)!r}"
        parts = [f"target{name}: {about}", f"features: {', '.join(features)}"]
        if self.n_unlabeled:
            rows = "rows" if self.n_unlabeled > 1 else "row"
            parts.append(f"{self.n_unlabeled} {rows} without a target skipped")
        return "; ".join(parts)


@dataclass(frozen=True)
class Rows:
    """The rows of a table as samples, created one at a time."""

    frame: pd.DataFrame  # of features, indexed by the rows of the file from 0
    targets: pd.Series
    text: str | None = None
    kept: pd.DataFrame | None = None

    def __iter__(self) -> Iterator[Sample]:
        for record in self.records():
            yield record.x, record.y

    def records(self) -> Iterator[Record]:
        """Yield the rows."""
        names = list(self.frame.columns)
        kept: Iterable[tuple[Any, ...]] = iter(lambda: (), None)
        if self.kept is not None:
            kept = self.kept.itertuples(index=False, name=None)
        cells = self.frame.itertuples(index=False, name=None)
        rows = zip(
            (self.frame.index + 1).tolist(), cells, self.targets.tolist(), kept, strict=False
        )
        for n, values, y, copied in rows:
            # missing values are NaN here, the only value that differs from itself
            x: Features = {
                k: value for k, value in zip(names, values, strict=True) if value == value
            }
            if self.text is not None:
                counts = _WORDS.transform_one(x.pop(self.text, ""))
                x |= {f"{self.text}={word}": count for word, count in counts.items()}
            yield Record(n, x, y, copied)


def _cut(text: str, length: int) -> str:
    """Return a text without its middle, if it is too long."""
    half = (length - 3) // 2
    return text if len(text) <= length else f"{text[:half]}...{text[-half:]}"


def is_quantity(values: pd.Series) -> bool:
    """Return whether numbers have fractions, or are more than 50 distinct ones in 1000 rows."""
    first = values[:ROWS]
    if not types.is_numeric_dtype(first) or types.is_bool_dtype(first):
        return False
    finite = first[np.isfinite(first)]
    return bool((finite % 1 != 0).any() or finite.nunique() > MAX_LABELS)


def task_of_values(values: Sequence[Any]) -> str:
    """Return the task that targets in memory suggest; texts are labels.

    >>> task_of_values([1, 2, 2]), task_of_values([1.5, 2.0]), task_of_values(["1.5", "2.0"])
    ('classification', 'regression', 'classification')
    """
    first = values[:ROWS]
    if not all(is_real(value) and not isinstance(value, bool | np.bool_) for value in first):
        return CLASSIFICATION
    return REGRESSION if is_quantity(pd.Series([*map(float, first)])) else CLASSIFICATION
