"""The classifier with a model for each key, over Ray's actors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base

from river_amf import frames
from river_amf.keyed import KeyedClassifier, ways
from river_amf.ray.keyed_models import DistributedKeyed
from river_amf.ray.keyed_rows import KeyedRows
from river_amf.ray.shares import Answers


class DistributedKeyedClassifier(DistributedKeyed, base.MiniBatchClassifier):
    """`KeyedClassifier` over several processes, on one machine or many.

    Each worker, a Ray actor, has the models of some keys: a hash of the key, which is the same in
    every process, says which. The rows of a block go where their keys live, and the answers come
    back in their order. All predictions and models are those of `KeyedClassifier`, whatever the
    number of workers. It pays for blocks of some hundred rows or more; a single sample takes one
    or two milliseconds.

    A worker that dies is started anew as it was, from its last checkpoint and the rows since; the
    call that needs it takes longer, and nothing else changes. For the death of this process there
    is `folder`, with `flush`.

    Parameters
    ----------
    factory, key
        As in `KeyedClassifier`. Models have to be picklable.
    n_workers
        Number of workers. With `None`, as many as Ray has CPUs.
    max_models, max_bytes
        As in `KeyedClassifier`, shared out evenly among the workers, each of which moves models to
        a temporary file on its machine. At least one model stays in each.
    folder
        Where `flush` writes to, on this machine: the folder of a `KeyedClassifier`, which either
        of them goes on with, whatever the number of workers. They are all read at the first call.
    max_waiting
        Number of blocks that may be on their way to the workers when the next one is accepted.
    checkpoint_every
        Number of rows that a worker learns between two checkpoints, which hold all of its models.
        The rows since the last one are kept in Ray's object store.
    checkpoint_folder
        Where checkpoints of workers are written, a folder that all machines share, as in
        `DistributedForest`. With `None`, they are kept in the object store of this machine, which
        has to have room for all models.

    Examples
    --------
    >>> import pandas as pd
    >>> from river import linear_model, preprocessing
    >>> from river_amf.ray import DistributedKeyedClassifier

    >>> X = pd.DataFrame({"user": ["ann", "bob"] * 100, "price": range(200)})
    >>> y = (X["price"] < 100) == (X["user"] == "ann")
    >>> scaled = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> with DistributedKeyedClassifier(scaled, "user", n_workers=2) as model:
    ...     for start in range(0, 200, 20):
    ...         model.learn_many(X[start : start + 20], y[start : start + 20])
    ...     model.predict_many(pd.DataFrame({"user": ["ann", "bob"], "price": 10})).tolist()
    [True, False]

    """

    _local = KeyedClassifier

    def learn_one(self, x: dict[Any, Any], y: Hashable, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from one sample, with the model of its key, as in `KeyedClassifier.learn_one`.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     list(model)
        ['ann']
        """
        self._one("learn_one", x, (y, w), kwargs, learns=True)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label of a sample, as in `KeyedClassifier.predict_one`.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     model.predict_one({"user": "ann"})
        'buys'
        """
        return self._one("predict_one", x, (), kwargs, learns=False)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label, as in `KeyedClassifier.predict_proba_one`.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     model.predict_proba_one({"user": "ann"})
        {'buys': 1.0}
        """
        proba: dict[Any, float] = self._one("predict_proba_one", x, (), kwargs, learns=False)
        return proba

    def predict_many(self, X: Any) -> Any:
        """Predict the label of each row, as in `KeyedClassifier.predict_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     model.predict_many(pd.DataFrame({"user": ["bob", "ann"]})).tolist()
        [None, 'buys']
        """
        block = self._keyed_rows(X)
        labels: list[Any] = [None] * len(block.codes)
        for rows, answers in self._team.do(self._ask, "predict", block):
            for row, answer in zip(rows.tolist(), answers, strict=True):
                labels[row] = answer
        return frames.label_series(block.frame, labels, np.arange(len(labels)))

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label, as in `KeyedClassifier.predict_proba_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     model.predict_proba_many(pd.DataFrame({"user": ["bob", "ann"]}))
           buys
        0   NaN
        1   1.0
        """
        block = self._keyed_rows(X)
        return self._table(block, self._team.do(self._ask, "predict_proba", block))

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Predict each row and then learn it, before the next one.

        As in `KeyedClassifier.predict_proba_then_learn_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.predict_proba_then_learn_many(X, ["buys", "waits", "waits"])
           buys  waits
        0   NaN    NaN
        1   NaN    NaN
        2   1.0    0.0
        """
        block = self._keyed_rows(X, y, w)
        frames.check_column_names(block.frame, [], y)
        return self._table(
            block, self._team.do(self._ask_and_learn, "predict_proba_then_learn", block)
        )

    @staticmethod
    def _table(block: KeyedRows, parts: Answers) -> Any:
        labels, values = ways.joined(parts, len(block.codes))
        return frames.proba_frame(block.frame, labels, values)
