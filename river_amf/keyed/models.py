"""The classifier and the regressor with a model for each key."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from river_amf.inputs import frames
from river_amf.keyed.adapters import joined
from river_amf.keyed.keyed_model import KeyedModel
from river_amf.keyed.routing import Block


class KeyedClassifier(KeyedModel, base.MiniBatchClassifier):
    """A classifier for each key, such as a user, a sensor or a shop.

    A feature of each sample, the key, says whose sample it is. The model of that key alone learns
    it or predicts it, and does not see the key. A new key gets a new model with the first sample
    that is learned; before that, a blank one answers for it. It is also a mapping from keys to
    models: `model["ann"]`, `"ann" in model`, `len(model)`, `del model["ann"]`.

    Parameters
    ----------
    factory
        What makes the model of a new key: a river classifier (or pipeline), of which each key gets
        a clone, or a function that returns one, such as `partial(copy.deepcopy, common)` for keys
        that start from a model of all. An argument without a default is the key.
    key
        Name of the feature, or of the column, with the keys: text, bytes, numbers, dates, UUIDs or
        tuples of these. Equal numbers are one key: 1, 1.0 and True.
    max_models
        Largest number of models in memory, or `None` for any. Beyond it, those that were used least
        recently are moved to the folder, and come back when they are asked for, as they were.
    folder
        Where models are kept: with `flush`, the next process with this folder goes on with them.
        It belongs to one object at a time. `None` for a temporary file, which goes with the object.

    Notes
    -----
    In a pipeline the key has to survive the transformers before it. Either put the transformers
    inside, where each key has its own, `KeyedClassifier(StandardScaler() | model, "user")`; or
    pass the key by them: `(Select("user") + (Discard("user") | StandardScaler())) | keyed`.

    **Pickles in a folder run code**: open only folders that you trust. It holds an SQLite file, in
    it forests of this package as files of `save`, and all other models as pickles. A process that
    dies leaves the last `flush` behind. Clones, copies and pickles have temporary files of their
    own; copies and pickles hold all models.

    Any thread may make any call. A call that raises an error has changed no model, except that a
    river model may be left half changed by its own error, and that a block may end early (see
    `learn_many`). Changes to a model that was taken out, as by `model["ann"]`, may be lost once it
    has been moved.

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

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label, with the model of the sample's key.

        Examples
        --------
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_one({"user": "ann"}), model.predict_proba_one({"user": "bob"})
        ({'buys': 1.0}, {})
        """
        found: dict[Any, float] = self._ask_one(x, "predict_proba_one", kwargs)
        return found

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label for each row, with the model of its key.

        They are a frame with one column for each label that any of the models knows: 0 where the
        row's own model does not know it, and NaN where that knows none.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_many(pd.DataFrame({"user": ["bob", "ann"], "price": [3.0, 4.0]}))
           buys
        0   NaN
        1   1.0
        """
        return self._probabilities(Block(X, self.key))

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        It takes what `learn_many` takes, and returns what `predict_proba_many` does. Forests of
        this package do so by blocks, and all other models row by row.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(), "user")
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> model.predict_proba_then_learn_many(X, ["buys", "waits", "waits"])
           buys  waits
        0   NaN    NaN
        1   NaN    NaN
        2   1.0    0.0
        """
        block = Block(X, self.key, y, w)
        frames.check_column_names(block.frame, [], y)
        return self._probabilities(block)

    def _probabilities(self, block: Block) -> Any:
        labels, values = joined(self._do(self._answer, block, "predict_proba"), len(block))
        return frames.proba_frame(block.frame, labels, values)

    def _as_series(self, block: Block, labels: list[Any]) -> Any:
        return frames.label_series(block.frame, labels, np.arange(len(labels)))


class KeyedRegressor(KeyedModel, base.MiniBatchRegressor):
    """A regressor for each key, such as a user, a sensor or a shop.

    It is `KeyedClassifier` for numbers, with the same parameters, notes and methods.

    Examples
    --------
    >>> from river_amf import AMFRegressor
    >>> from river_amf.keyed import KeyedRegressor

    >>> model = KeyedRegressor(AMFRegressor(seed=1), "shop")
    >>> for day in range(100):
    ...     model.learn_one({"shop": "north", "day": day % 7}, 10.0)
    ...     model.learn_one({"shop": "south", "day": day % 7}, 99.0)
    >>> [model.predict_one({"shop": shop, "day": 3}) for shop in ("north", "south")]
    [10.0, 99.0]
    """

    _kind = base.Regressor

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        It takes what `learn_many` takes, and returns what `predict_many` does.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFRegressor, keyed
        >>> model = keyed.KeyedRegressor(AMFRegressor(), "shop")
        >>> X = pd.DataFrame({"shop": ["north", "south", "north"], "day": [1, 1, 2]})
        >>> model.predict_then_learn_many(X, [10.0, 99.0, 11.0]).tolist()
        [0.0, 0.0, 10.0]
        """
        block = Block(X, self.key, y, w)
        return self._as_series(block, block.scattered(self._do(self._answer, block, "predict")))

    def _as_series(self, block: Block, numbers: list[Any]) -> Any:
        return frames.number_series(block.frame, np.array(numbers, np.float64))
