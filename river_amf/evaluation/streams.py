"""Streams: labeled samples in order, and any pairs that stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from river import base

from river_amf.evaluation.column_types import CLASSIFICATION
from river_amf.evaluation.usage_errors import (
    EvaluationError,
    StreamFailure,
    error_line,
    is_of_handler,
)
from river_amf.inputs.kinds import shown

Label = base.typing.ClfTarget
Target = Label | base.typing.RegTarget

Features = dict[base.typing.FeatureName, Any]
Sample = tuple[Features, Any]  # of which the second is a Target


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
        Iterable of `n_samples` pairs (features, label). It must be possible to iterate over it more
        than once.
    n_unlabeled
        Number of rows of a file that are not among the samples because they have no label.
    task
        What to predict: `"classification"` (labels) or `"regression"` (numbers).
    target
        Name of the column to predict, if the samples come from a file.
    text
        Name of the column that is a bag of words, whose absent features count as 0.
    kinds
        What the other features are, by name, if the samples come from a file: `"string"`,
        `"boolean"`, `"integer"`, `"floating"` or another name that pandas infers.
    later
        Samples that follow on standard input, as they come, None for rows without a label; they can
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
    later: Iterator[Sample | None] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[Sample]:
        """Yield the samples from the beginning."""
        yield from self.samples
        if self.later is not None:
            yield from filter(None, self.later)

    def kept(self) -> Stream:
        """Return the stream with all of its samples, which can be read more than once.

        >>> Stream("toy", 1, 1, 0, [({"a": 1.0}, "yes")]).kept().n_samples
        1
        """
        if self.later is None:
            return self
        later = list(self.later)
        samples = [*self.samples, *filter(None, later)]
        n_unlabeled = self.n_unlabeled + later.count(None)
        n_samples = len(samples)
        return replace(
            self, samples=samples, n_samples=n_samples, n_unlabeled=n_unlabeled, later=None
        )


def check_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples; raise EvaluationError at one that is not a (features, label) pair."""
    for n, sample in enumerate(samples, start=1):
        if not isinstance(sample, tuple | list) or len(sample) != 2:
            raise EvaluationError(f"sample {n} must be a pair (x, y), got {shown(sample)}")
        x, y = sample
        yield x, y


def read_pairs(samples: Iterable[Any]) -> Iterator[Sample]:
    """Yield the samples; raise StreamFailure at one that is not a pair, or if the stream raises."""
    try:
        yield from check_pairs(samples)
    except (GeneratorExit, KeyboardInterrupt):  # not raised by the stream
        raise
    except EvaluationError as error:
        raise StreamFailure(str(error)) from error
    except BaseException as error:
        if is_of_handler(error):
            raise
        raise StreamFailure(f"the stream cannot be read: {error_line(error)}") from error
