"""The classifier with a model for each key."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base

from river_amf import frames
from river_amf.keyed import ways
from river_amf.keyed.models import Keyed, rows_of
from river_amf.keyed.routing import Block, Part


class KeyedClassifier(Keyed, base.MiniBatchClassifier):
    """A classifier for each key, such as a user, a sensor or a shop.

    A feature of each sample, the key, says whose sample it is. The model of that key alone learns
    it or predicts it, and does not see the key. A key that has not been seen before gets a new
    model with the first sample that is learned; before that, a new model answers for it and is not
    kept, so predictions never change anything.

    Beyond `max_models` or `max_bytes`, the models that were used least recently are moved to a
    folder, and come back when they are asked for, exactly as they were. It is also a mapping from
    the keys to their models: `model["ann"]`, `"ann" in model`, `len(model)`, `del model["ann"]`.

    Parameters
    ----------
    factory
        What makes the model of a new key: a river classifier, of which each key gets a clone, or a
        function that returns one. If the function has an argument without a default, that is the
        key. Pipelines are classifiers, too.
    key
        Name of the feature, or of the column, with the keys: text, bytes, numbers, dates, UUIDs or
        tuples of these. Equal numbers are one key: 1, 1.0 and True.
    max_models
        Largest number of models in memory, or `None` for any.
    max_bytes
        Bound on what the models in memory take, or `None`. A model is measured as river does
        (`memory_usage` of those of this package) when it comes into memory, and each time it has
        learned a quarter more rows. One model always stays.
    folder
        Where models are kept: with `flush`, the next process with this folder goes on with them.
        It belongs to one object at a time. `None` for a temporary file, which is made when
        `max_models` or `max_bytes` is exceeded, and goes with the object.

    Notes
    -----
    In a pipeline the key has to survive the transformers before it. Either put the transformers
    inside, where each key has its own, `KeyedClassifier(lambda: StandardScaler() | model, "user")`;
    or pass the key by them: `(Select("user") + (Discard("user") | StandardScaler())) | keyed`.

    The folder holds one SQLite database. Models of this package are in it as files of `save`, and
    all others as pickles, so open only folders that you trust, and with the releases that wrote
    them. A process that dies, or an object that is dropped, leaves the last `flush` behind: what
    was learned since is lost, in memory or not. Clones, copies and pickles have a temporary file
    of their own; a pickle holds all models, those in the folder too.

    Any thread may make any call. A call that raises an error has changed no model, except that a
    river model inside may be left half changed by its own error, and that a block may end early
    (see `learn_many`). Changes to a model that was taken out, as by `model["ann"]`, may be lost
    once it has been moved.

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> from river_amf.keyed import KeyedClassifier

    >>> model = KeyedClassifier(
    ...     preprocessing.StandardScaler() | linear_model.LogisticRegression(), "user", max_models=1
    ... )
    >>> for price in range(100):  # ann likes it cheap, bob does not
    ...     model.learn_one({"user": "ann", "price": price}, price < 50)
    ...     model.learn_one({"user": "bob", "price": price}, price >= 50)
    >>> [model.predict_one({"user": user, "price": 10}) for user in ("ann", "bob")]
    [True, False]
    >>> len(model), model.n_in_memory
    (2, 1)

    """

    _kind = base.Classifier

    def learn_one(self, x: dict[Any, Any], y: Hashable, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from one sample, with the model of its key.

        Parameters
        ----------
        x
            Features, as a dict or another mapping, with the key.
        y
            Label.
        w
            Sample weight, for models that take one.
        kwargs
            Passed on to the model.

        Raises
        ------
        TypeError
            If `x` is not a mapping, the key is of a type that keys cannot have, the model takes no
            weights, or the factory makes no classifier; and whatever the model raises.
        ValueError
            If the key is not in `x`, or missing (None, NaN); and whatever the model raises.
        OSError
            If another model cannot be moved to the folder, or this one not be read there. The
            sample has not been learned then.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_one({"user": "ann", "price": 4.0})
        'buys'
        """
        self._alone(self._learn_one, x, y, w, kwargs)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label of a sample, with the model of its key.

        Parameters
        ----------
        x
            Features with the key, as in `learn_one`.
        kwargs
            Passed on to the model.

        Returns
        -------
        The label; for a key without a model what a new one predicts, in most cases None.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_one`.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> print(model.predict_one({"user": "ann", "price": 4.0}), len(model))
        None 0
        """
        return self._alone(self._ask_one, "predict_one", x, kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label, with the model of the sample's key.

        Parameters
        ----------
        x
            Features with the key, as in `learn_one`.
        kwargs
            Passed on to the model.

        Returns
        -------
        dict
            Probability of each label; empty before the first sample of the key, for most models.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_one`; NotImplementedError if the model has no probabilities.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_one({"user": "ann"}), model.predict_proba_one({"user": "bob"})
        ({'buys': 1.0}, {})
        """
        proba: dict[Any, float] = self._alone(self._ask_one, "predict_proba_one", x, kwargs)
        return proba

    def predict_many(self, X: Any) -> Any:
        """Predict the label of each row, with the model of its key.

        Parameters
        ----------
        X
            DataFrame with the keys, as in `learn_many`.

        Returns
        -------
        Series of length n_samples
            The labels in the order of the rows, as a series from the same library as `X`; None
            where the model has none.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_many(pd.DataFrame({"user": ["bob", "ann"], "price": [3.0, 4.0]})).tolist()
        [None, 'buys']
        """
        block = Block(X, self.key)
        results = self._alone(self._ask_parts, block, lambda way, part: way.predict(part))
        return self._as_series(block, self._scattered(block, results))

    @staticmethod
    def _as_series(block: Block, labels: list[Any]) -> Any:
        return frames.label_series(block.frame, labels, np.arange(len(labels)))

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label for each row, with the model of its key.

        Parameters
        ----------
        X
            DataFrame with the keys, as in `learn_many`.

        Returns
        -------
        DataFrame of shape (n_samples, n_labels)
            From the same library as `X`, with one column for each label that any of the models
            knows: 0 where the row's own model does not know it, and NaN where that knows none.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_many`; NotImplementedError if a model has no probabilities.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_many(pd.DataFrame({"user": ["bob", "ann"], "price": [3.0, 4.0]}))
           buys
        0   NaN
        1   1.0
        """
        block = Block(X, self.key)
        return self._table(block, self._ask_parts, lambda way, part: way.predict_proba(part))

    def _table(self, block: Block, run: Any, ask: Any) -> Any:
        """Return what models say of their parts as a frame of probabilities."""
        results: list[tuple[Part, ways.Probabilities]] = self._alone(run, block, ask)
        results.sort(key=lambda result: result[0].rows[0])  # whatever is in memory
        labels, values = ways.joined(rows_of(results), len(block.rows))
        return frames.proba_frame(block.frame, labels, values)

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        Forests of this package do so by blocks, and all other models row by row: for each key the
        result is that of `predict_proba_one` and `learn_one`.

        Parameters
        ----------
        X, y, w
            Features with the keys, labels and weights, as in `learn_many`.

        Returns
        -------
        DataFrame of shape (n_samples, n_labels)
            Probabilities, as from `predict_proba_many`.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> model.predict_proba_then_learn_many(X, ["buys", "waits", "waits"])
           buys  waits
        0   NaN    NaN
        1   NaN    NaN
        2   1.0    0.0
        """
        block = Block(X, self.key, y, w)
        frames.check_column_names(block.frame, [], y)
        ask = lambda way, part: way.predict_proba_then_learn(part)  # noqa: E731
        return self._table(block, self._learn_parts, ask)
