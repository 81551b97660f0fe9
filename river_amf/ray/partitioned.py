"""Independent forests that share a stream: an approximation, for the fastest streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import ray
from numpy.typing import NDArray
from river import base

from river_amf import frames, sparse_rows
from river_amf.engine import BlockAnswers
from river_amf.forest import Forest, forest_of
from river_amf.layout import CLASSIFICATION
from river_amf.parameters import Check, integer
from river_amf.partitions import (
    Dealer,
    Error,
    Partition,
    Table,
    mean_numbers,
    mean_proba,
    new_partitions,
    sample_table,
)
from river_amf.ray.cluster import n_cpus
from river_amf.ray.team import Team
from river_amf.ray.workers import Task, Worker
from river_amf.settings import has_words
from river_amf.weights import check_weight

_Result = TypeVar("_Result")

_CHECKS: dict[str, Check] = {
    "n_workers": integer(1, optional=True),
    "max_waiting": integer(0),
    "checkpoint_every": integer(1),
}


class _Sent(NamedTuple):
    """A block on its way."""

    number: int
    tasks: list[Task]


class PartitionedForest(base.Estimator):
    """Independent forests that share a stream: each learns some of the rows, and all predict.

    This is for streams that are too fast for any process to learn every row. Each worker, a Ray
    actor, has a forest of its own, an untrained clone of `model`. The rows are dealt to them in
    turn, and a prediction is the mean over the workers that have learned anything. So n workers
    learn up to n times as many rows per second, and predict no faster than one.

    It is an approximation: each forest sees one row in n, so it learns as slowly, and notices a
    drift as late, as a forest on a stream of that size. `DistributedForest` loses nothing, and is
    the better choice as long as it keeps up.

    It is a river classifier or regressor, as `model` is. The result depends on the number of
    workers, but not on the sizes of blocks. `learn_many` returns when a block has been checked and
    sent, and the workers learn it while the next one is prepared; all other methods wait. A worker
    that dies is started anew as it was.

    Parameters
    ----------
    model
        A forest of this package, which is not changed, and of which only the parameters are used.
        Each worker gets its own seed, which follows from the `seed` of the model.
    n_workers
        Number of workers. With `None`, as many as Ray has CPUs.
    max_waiting
        Number of blocks that may be on their way to the workers when the next one is accepted.
    checkpoint_every
        Number of rows that a worker learns between two checkpoints. Blocks since the last one are
        kept in Ray's object store.

    Raises
    ------
    TypeError
        If `model` is no forest of this package.
    ValueError
        If another parameter is not valid.

    Examples
    --------
    >>> import pandas as pd
    >>> from river import datasets
    >>> from river_amf import AMFClassifier
    >>> from river_amf.ray import PartitionedForest

    >>> X, y = zip(*datasets.Bananas())
    >>> X, y = pd.DataFrame(X), pd.Series(y)
    >>> with PartitionedForest(AMFClassifier(seed=1), n_workers=2) as forest:
    ...     forest.learn_many(X[:4000], y[:4000])
    ...     predicted = forest.predict_many(X[4000:])
    >>> bool((predicted == y[4000:]).mean() > 0.87)
    True
    """

    def __new__(cls, model: Any, *arguments: Any, **options: Any) -> Self:
        """Return an object that is a classifier or a regressor."""
        if cls is not PartitionedForest:
            return super().__new__(cls)
        kind = _Classifier if forest_of(model).task == CLASSIFICATION else _Regressor
        return object.__new__(kind)  # type: ignore[return-value]

    def __init__(
        self,
        model: Any,
        n_workers: int | None = None,
        *,
        max_waiting: int = 2,
        checkpoint_every: int = 100_000,
    ) -> None:
        self.model = forest_of(model).clone()  # type: ignore[attr-defined]
        self.n_workers, self.max_waiting = n_workers, max_waiting
        self.checkpoint_every = checkpoint_every
        for name, check in _CHECKS.items():
            check(name, getattr(self, name))
        self._dealer: Dealer | None = None  # until there are workers
        self._team = Team("PartitionedForest")
        self._sent: deque[_Sent] = deque()
        self._n_blocks = 0

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn a block of rows, each in one of the workers.

        Parameters
        ----------
        X, y, w
            Features, labels or targets, and weights, as the `learn_many` of the model takes them.

        Raises
        ------
        TypeError, ValueError
            As that of the model, with the number of the row. All rows are checked before any is
            sent. What only a worker can find (a category for a feature that was a word, with
            `absent="zero"`) may be raised by a later call, which has then done nothing else; the
            rows of the bad block that belong to that worker are not learned.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFRegressor
        >>> from river_amf.ray import PartitionedForest
        >>> with PartitionedForest(AMFRegressor(seed=1), n_workers=1) as forest:
        ...     forest.learn_many(pd.DataFrame({"length": [1.0, 1.0]}), [10.0, 20.0])
        ...     forest.predict_one({"length": 1.0})
        15.0
        """
        table, labels, weights = self._read(X, y, w)
        self._submit(self._learn, table, labels, weights)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one sample, as a block of one row.

        Parameters
        ----------
        x, y, w
            Features, label or target, and weight, as the `learn_one` of the model takes them.

        Raises
        ------
        TypeError, ValueError
            As that of the model.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import PartitionedForest
        >>> with PartitionedForest(AMFClassifier(seed=1), n_workers=1) as forest:
        ...     forest.learn_one({"length": 2.5}, "short")
        ...     forest.predict_one({"length": 2.0})
        'short'
        """
        weights = np.array([check_weight(w)])
        table = sample_table(x, has_words=has_words(self.model))
        _for_one(self._submit, self._learn, table, self.model._read_labels([y], 1), weights)

    def models(self) -> list[Any]:
        """Return the forests of the workers, once they have learned all blocks.

        Returns
        -------
        list of forests
            Copies, of the class of `model`, with what each has learned of its rows.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import PartitionedForest
        >>> with PartitionedForest(AMFClassifier(seed=1), n_workers=2) as forest:
        ...     forest.learn_one({"length": 2.5}, "short")
        ...     [model.predict_one({"length": 2.0}) for model in forest.models()]
        ['short', None]
        """
        return self._submit(self._models)

    def close(self) -> None:
        """End the workers; afterwards only another call of `close` does anything.

        Workers also end with the process.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import PartitionedForest
        >>> forest = PartitionedForest(AMFClassifier(seed=1), n_workers=1)
        >>> forest.close()
        >>> forest.learn_one({"length": 2.5}, "short")
        Traceback (most recent call last):
        RuntimeError: this PartitionedForest has been closed
        """
        self._team.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("a PartitionedForest cannot be copied or pickled; its models() can")

    # What reads the arguments

    def _read(self, X: Any, y: Any, w: Any) -> tuple[Table, Any, NDArray[np.float64]]:
        """Return a block, its labels and its weights, or raise TypeError or ValueError."""
        frame = self.model._frame_of(X)
        weights = frames.read_weights(w, len(frame))
        return self._table(X, frame), self.model._read_labels(y, len(frame)), weights

    def _table(self, X: Any, frame: Any) -> Table:
        return sparse_rows.read_rows(X) if has_words(self.model) else frames.read_columns(frame)

    # What the thread does

    def _submit(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Do something in the thread, once there are workers."""
        return self._team.do(self._started, call, *arguments)

    def _started(self) -> list[Worker]:
        """Start the workers, and the dealer with them."""
        n_workers = self.n_workers or n_cpus()
        states = new_partitions(self.model, n_workers)
        workers = [Worker(Partition, state, self.checkpoint_every) for state in states]
        self._dealer = Dealer(self.model, n_workers)
        return workers

    @property
    def _workers(self) -> list[Worker]:
        return self._team.workers

    @property
    def _known(self) -> Dealer:
        """The dealer, which has been made before the thread does anything."""
        assert self._dealer is not None
        return self._dealer

    def _learn(self, table: Table, labels: Any, weights: NDArray[np.float64]) -> None:
        # Errors of blocks before are raised here, so this one is not sent then.
        self._finish(max(self.max_waiting - 1, 0))
        block = self._known.deal(table, labels, weights).block
        tasks = self._tell("learn", block.turns, ray.put(block))
        if self.max_waiting:
            self._sent.append(_Sent(self._n_blocks, tasks))
        else:
            self._results(tasks)

    def _tell(self, method: str, turns: NDArray[np.int64], *arguments: Any) -> list[Task]:
        """Let all workers do something with a block, and return what they were told."""
        n_rows = np.bincount(turns[turns >= 0], minlength=len(self._workers)).tolist()
        pairs = zip(self._workers, n_rows, strict=True)
        tasks = [worker.tell(method, *arguments, n_rows=n) for worker, n in pairs]
        self._n_blocks += 1
        return tasks

    def _finish(self, n_left: int) -> None:
        """Wait until so many blocks are on their way, or raise the first error of the others."""
        while len(self._sent) > n_left:
            number, tasks = self._sent.popleft()
            n_ago = self._n_blocks - number + 1
            self._results(tasks, f"; it was in the block {n_ago} before")

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """Ask all workers something, once they have learned all blocks."""
        self._finish(0)
        tasks = [worker.ask(method, *arguments) for worker in self._workers]
        return self._results(tasks)

    def _results(self, tasks: list[Task], when: str = "") -> list[Any]:
        """Wait for what all workers say, or raise the first error among it."""
        results = [w.result(task) for w, task in zip(self._workers, tasks, strict=True)]
        for error in results:
            if isinstance(error, Error):
                raise error.kind(error.text + when)
        return results

    def _answers(self, table: Table, n_rows: int) -> tuple[list[BlockAnswers], list[Hashable]]:
        """Return what each worker predicts, and the labels that are known."""
        dealer = self._known
        dealer.check_to_predict(table, n_rows)
        return self._ask("answer", ray.put(table), n_rows, 0.0), list(dealer.labels)

    def _answers_then_learn(
        self, table: Table, labels: Any, weights: NDArray[np.float64]
    ) -> tuple[list[BlockAnswers], NDArray[np.int64], list[Hashable]]:
        """Return what each worker predicts before it learns a block, and the labels."""
        self._finish(0)
        dealt = self._known.deal(table, labels, weights)
        tasks = self._tell("answer_and_learn", dealt.block.turns, ray.put(dealt.block), 0.0)
        return self._results(tasks), dealt.n_known, dealt.labels

    def _models(self) -> list[Forest]:
        return [model for model, _ in self._ask("state")]


def _for_one(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Do for one sample what is done for a block, whose errors name the row."""
    try:
        return call(*arguments)
    except (TypeError, ValueError) as error:
        text = str(error)
        if not text.startswith("row 0: "):
            raise
        raise type(error)(text.removeprefix("row 0: ")) from None


class _Classifier(PartitionedForest, base.MiniBatchClassifier):
    """A PartitionedForest of classifiers."""

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label seen so far, for each row.

        The mean over the workers that have learned anything; see the model for shapes and errors.
        """
        frame, proba, labels = self._proba(X)
        return frames.proba_frame(frame, labels, proba)

    def predict_many(self, X: Any) -> Any:
        """Predict the label of each row: the most probable one, or in a tie the one seen first."""
        frame, proba, labels = self._proba(X)
        return frames.label_series(frame, labels, proba.argmax(axis=1) if labels else None)

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Predict each row and then learn it, before the next one, as that of the model does."""
        frame = self.model._frame_of(X)
        if self._dealer is not None:
            frames.check_column_names(frame, self._dealer.labels, y)
        block = self._read(X, y, w)
        answers, n_known, labels = self._submit(self._answers_then_learn, *block)
        proba = mean_proba(answers, labels, len(frame))
        proba[n_known == 0] = np.nan
        return frames.proba_frame(frame, labels, proba)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label seen so far."""
        table = sample_table(x, has_words=has_words(self.model))
        answers, labels = _for_one(self._submit, self._answers, table, 1)
        return dict(zip(labels, mean_proba(answers, labels, 1)[0].tolist(), strict=True))

    def _proba(self, X: Any) -> tuple[Any, NDArray[np.float64], list[Hashable]]:
        """Return X as a dataframe, the probabilities of its rows, and the labels."""
        frame = self.model._frame_of(X)
        answers, labels = self._submit(self._answers, self._table(X, frame), len(frame))
        return frame, mean_proba(answers, labels, len(frame)), labels


class _Regressor(PartitionedForest, base.MiniBatchRegressor):
    """A PartitionedForest of regressors."""

    def predict_many(self, X: Any) -> Any:
        """Predict the target of each row; 0.0 before the first sample."""
        frame = self.model._frame_of(X)
        answers, _ = self._submit(self._answers, self._table(X, frame), len(frame))
        return frames.number_series(frame, mean_numbers(answers, len(frame)))

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Predict each row and then learn it, before the next one, as that of the model does."""
        frame = self.model._frame_of(X)
        answers, *_ = self._submit(self._answers_then_learn, *self._read(X, y, w))
        return frames.number_series(frame, mean_numbers(answers, len(frame)))

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Predict the target of a sample; 0.0 before the first."""
        table = sample_table(x, has_words=False)
        answers, _ = _for_one(self._submit, self._answers, table, 1)
        return float(mean_numbers(answers, 1)[0])


for _kind in (_Classifier, _Regressor):
    _kind.__name__ = _kind.__qualname__ = PartitionedForest.__name__
