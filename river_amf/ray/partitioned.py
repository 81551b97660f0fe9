"""Independent forests that share a stream: an approximation, for the fastest streams."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import ray
from numpy.typing import NDArray
from river import base

from river_amf import frames, sparse_rows
from river_amf.engine import BlockAnswers
from river_amf.forest import Forest, forest_of
from river_amf.layout import CLASSIFICATION
from river_amf.parameters import Check, CheckedParameters
from river_amf.partitions import (
    Block,
    Dealer,
    Dealt,
    Partition,
    Table,
    mean_numbers,
    mean_proba,
    new_partitions,
    sample_table,
)
from river_amf.ray.team import CHECKS, Team
from river_amf.ray.workers import Task, Worker
from river_amf.rows import of_sample
from river_amf.settings import has_words
from river_amf.weights import check_weight

_Result = TypeVar("_Result")


class PartitionedForest(CheckedParameters, base.Estimator):
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

    _checks: ClassVar[dict[str, Check]] = CHECKS

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
        self._dealer: Dealer | None = None  # until there are workers
        rescue = "what its models() were is lost"
        self._team = Team("PartitionedForest", self._started, n_workers, rescue)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn a block of rows, each in one of the workers.

        Parameters
        ----------
        X, y, w
            Features, labels or targets, and weights, as the `learn_many` of the model takes them.

        Raises
        ------
        TypeError, ValueError
            As that of the model, with the number of the row, before any row is sent.

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
        self._team.do(self._learn, table, labels, weights)

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
        _for_one(self._team.do, self._learn, table, self.model._read_labels([y], 1), weights)

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
        return self._team.do(self._models)

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

    @property
    def _has_learnt(self) -> bool:
        return "_team" in self.__dict__  # parameters belong to the workers from the beginning

    # What reads the arguments

    def _read(self, X: Any, y: Any, w: Any) -> tuple[Table, Any, NDArray[np.float64]]:
        """Return a block, its labels and its weights, or raise TypeError or ValueError."""
        frame = self.model._frame_of(X)
        weights = frames.read_weights(w, len(frame))
        return self._table(X, frame), self.model._read_labels(y, len(frame)), weights

    def _table(self, X: Any, frame: Any) -> Table:
        return sparse_rows.read_rows(X) if has_words(self.model) else frames.read_columns(frame)

    # What the thread does

    def _started(self, n_workers: int) -> list[Worker]:
        """Start workers, and the dealer with them."""
        states = new_partitions(self.model, n_workers)
        self._dealer = Dealer(self.model, n_workers)
        return [Worker(Partition, state, self.checkpoint_every) for state in states]

    @property
    def _known(self) -> Dealer:
        """The dealer, which has been made before the thread does anything."""
        assert self._dealer is not None
        return self._dealer

    def _learn(self, table: Table, labels: Any, weights: NDArray[np.float64]) -> None:
        # Errors of blocks before are raised here, so this one is not sent then.
        self._team.finish(self.max_waiting)
        self._team.send(self._tell("learn", self._dealt(table, labels, weights).block))

    def _dealt(self, table: Table, labels: Any, weights: NDArray[np.float64]) -> Dealt:
        """Deal a block, or raise TypeError or ValueError."""
        names = self._known.undecided(table)
        if names:
            words = self._team.ask_all("words_among", names)
            self._known.hear_of_words(set().union(*words))
        return self._known.deal(table, labels, weights)

    def _tell(self, method: str, block: Block, *arguments: Any) -> dict[int, Task]:
        """Let all workers do something with a block that has been dealt."""
        told = self._team.put(block), *arguments
        n_rows = np.bincount(block.turns[block.turns >= 0], minlength=len(self._team.workers))
        numbers = dict(enumerate(n_rows.tolist()))
        return self._team.tell(method, dict.fromkeys(numbers, told), numbers)

    def _answers(self, table: Table, n_rows: int) -> tuple[list[BlockAnswers], list[Hashable]]:
        """Return what each worker predicts, and the labels that are known."""
        dealer = self._known
        dealer.check_to_predict(table, n_rows)
        return self._team.ask_all("answer", ray.put(table), n_rows, 0.0), list(dealer.labels)

    def _answers_then_learn(
        self, table: Table, labels: Any, weights: NDArray[np.float64]
    ) -> tuple[list[BlockAnswers], NDArray[np.int64], list[Hashable]]:
        """Return what each worker predicts before it learns a block, and the labels."""
        self._team.finish(0)
        dealt = self._dealt(table, labels, weights)
        answers = self._team.results(self._tell("answer_and_learn", dealt.block, 0.0))
        return list(answers.values()), dealt.n_known, dealt.labels

    def _models(self) -> list[Forest]:
        return [model for model, _ in self._team.ask_all("state")]


def _for_one(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Do for one sample what is done for a block, whose errors name the row."""
    try:
        return call(*arguments)
    except (TypeError, ValueError) as error:
        raise of_sample(error) from None


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
        answers, n_known, labels = self._team.do(self._answers_then_learn, *block)
        proba = mean_proba(answers, labels, len(frame))
        proba[n_known == 0] = np.nan
        return frames.proba_frame(frame, labels, proba)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label seen so far."""
        table = sample_table(x, has_words=has_words(self.model))
        answers, labels = _for_one(self._team.do, self._answers, table, 1)
        return dict(zip(labels, mean_proba(answers, labels, 1)[0].tolist(), strict=True))

    def _proba(self, X: Any) -> tuple[Any, NDArray[np.float64], list[Hashable]]:
        """Return X as a dataframe, the probabilities of its rows, and the labels."""
        frame = self.model._frame_of(X)
        answers, labels = self._team.do(self._answers, self._table(X, frame), len(frame))
        return frame, mean_proba(answers, labels, len(frame)), labels


class _Regressor(PartitionedForest, base.MiniBatchRegressor):
    """A PartitionedForest of regressors."""

    def predict_many(self, X: Any) -> Any:
        """Predict the target of each row; 0.0 before the first sample."""
        frame = self.model._frame_of(X)
        answers, _ = self._team.do(self._answers, self._table(X, frame), len(frame))
        return frames.number_series(frame, mean_numbers(answers, len(frame)))

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Predict each row and then learn it, before the next one, as that of the model does."""
        frame = self.model._frame_of(X)
        answers, *_ = self._team.do(self._answers_then_learn, *self._read(X, y, w))
        return frames.number_series(frame, mean_numbers(answers, len(frame)))

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Predict the target of a sample; 0.0 before the first."""
        table = sample_table(x, has_words=False)
        answers, _ = _for_one(self._team.do, self._answers, table, 1)
        return float(mean_numbers(answers, 1)[0])


for _kind in (_Classifier, _Regressor):
    _kind.__name__ = _kind.__qualname__ = PartitionedForest.__name__
