"""Labels that come late: the order of questions and answers along a stream.

A *question* asks for the prediction of a row, and its *answer*, the label, comes later: then the
row is learned. The order of all these events is that of `river.stream.simulate_qa`.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base, stream

Moment = str | Callable[[dict[base.typing.FeatureName, Any]], dt.datetime]
Delay = str | int | dt.timedelta | Callable[..., Any]


class Times(NamedTuple):
    """When the features and the label of a sample are known, as in river."""

    moment: Moment | None
    delay: Delay | None


IN_ORDER = Times(None, None)  # each label comes right after its prediction


class Session(NamedTuple):
    """Successive events: the rows that they are about, and which of them are answers."""

    rows: NDArray[np.int64]
    is_answer: NDArray[np.bool_]


def sessions(
    samples: Callable[[list[str] | None], Iterable[Any]],
    n_rows: int,
    times: Times,
    step: int,
    length: int,
) -> Iterator[Session]:
    """Yield the events of a stream in sessions of at most `length` events.

    A session ends with every answer whose number is a multiple of a positive, whole step. `samples`
    returns the samples for river: with features and label, or with the features of these names.

    >>> for rows, is_answer in sessions(iter, 4, Times(None, 2), 0, 5):
    ...     rows.tolist(), is_answer.tolist()
    ([0, 1, 0, 2, 1], [False, False, True, False, True])
    ([3, 2, 3], [False, True, True])
    """
    is_count = step > 0 and step % 1 == 0
    rows: list[int] = []
    is_answer: list[bool] = []
    n_answers = 0
    for row, answers in _events(samples, n_rows, times):
        rows.append(row)
        is_answer.append(answers)
        n_answers += answers
        if len(rows) >= length or (is_count and answers and n_answers % step == 0):
            yield _session(rows, is_answer)
            rows, is_answer = [], []
    if rows:
        yield _session(rows, is_answer)


def _session(rows: list[int], is_answer: list[bool]) -> Session:
    return Session(np.fromiter(rows, np.int64, len(rows)), np.fromiter(is_answer, bool, len(rows)))


def _events(
    samples: Callable[[list[str] | None], Iterable[Any]], n_rows: int, times: Times
) -> Iterator[tuple[int, bool]]:
    """Yield the number of a row and whether this is its answer, event by event."""
    names = [time for time in times if isinstance(time, str)]
    pairs: Iterable[Any] = itertools.repeat((None, None), n_rows)
    if callable(times.moment) or callable(times.delay):
        pairs = ((x, y) for x, y, *_ in samples(None))
    elif names:
        pairs = ((x, None) for x, *_ in samples(names))
    n_asked = 0
    for row, *_ in stream.simulate_qa(pairs, times.moment, times.delay, copy=False):
        is_answer = row < n_asked  # questions come in the order of the rows
        n_asked += not is_answer
        yield row, is_answer
