"""The classifier and the regressor with a model for each key."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from river import base

from river_amf.inputs import frames
from river_amf.keyed.blocks import Block
from river_amf.keyed.keyed_model import KeyedModel


class KeyedClassifier(KeyedModel, base.MiniBatchClassifier):
    """A classifier for each key, such as a user, a sensor or a shop.

    A feature of each sample is its key. The model of that key alone learns or predicts the sample,
    without the key. A new key gets a new model with the first sample that is learned; until then, a
    blank model predicts. It is also a mapping from keys to models: `model["ann"]`,
    `"ann" in model`, `len(model)`, `del model["ann"]`.

    Parameters
    ----------
    factory
        What makes the model of a new key: a river classifier (or pipeline), of which each key gets
        a clone, or a function without arguments that returns one, such as
        `partial(copy.deepcopy, common)` for keys that start from a common model.
    key
        Name of the feature, or of the column, with the keys: text, whole numbers, UUIDs, dates,
        datetimes or tuples of these. True, 1 and 1.0 are one key. With a list of names, such as
        `["country", "shop"]`, a key is the tuple of their values.
    max_in_memory
        Maximum number of models in memory, or `None` for any. The least recently used are moved to
        the folder, and are read from there when they are used again.
    folder
        Path of a folder with the file of models. `flush` commits them, and the next object with
        this folder continues from there; it belongs to one object at a time. With `None`, models
        beyond `max_in_memory` go to a temporary file, which is removed with the object.

    Notes
    -----
    In a pipeline the key has to survive the transformers before it. Either put the transformers
    inside, where each key has its own, `KeyedClassifier(StandardScaler() | model, "user")`; or
    pass the key by them: `(Select("user") + (Discard("user") | StandardScaler())) | keyed`.

    **Pickles in a folder run code**: open only folders that you trust. The folder has an SQLite
    file with a pickle of each model. After a crash, or an error such as a full disk, it holds the
    models of the last `flush`.

    A keyed model can be pickled if its factory can. With a folder, pickles and copies hold its
    path, and need the folder to be released (`close`); without one they hold all models.

    Any thread may make any call. Changes to a model that was taken out, as by `model["ann"]`, may
    be lost once it has been moved.

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> from river_amf.keyed import KeyedClassifier

    >>> logistic = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model = KeyedClassifier(logistic, "user", max_in_memory=1)
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

        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_one({"user": "ann"}), model.predict_proba_one({"user": "bob"})
        ({'buys': 1.0}, {})
        """
        return self._call("predict_proba_one", x, **kwargs)  # type: ignore[no-any-return]

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label for each row, with the model of its key.

        They are a frame with a column for each label that a model has learned: 0 for rows whose
        model has not learned it, and NaN for rows whose model has learned none.

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

        It takes what `learn_many` takes, and returns what `predict_proba_many` does, with columns
        for the labels of this block, too.

        >>> import pandas as pd
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(), "user")
        >>> X = pd.DataFrame({"user": ["ann", "ann"], "price": [1.0, 9.0]})
        >>> model.predict_proba_then_learn_many(X, ["buys", "leaves"])
           buys  leaves
        0   NaN     NaN
        1   1.0     0.0
        """
        block = Block(X, self.key, (y, w))
        frames.check_column_names(block.frame, [], block.y)
        return self._probabilities(block)

    def _probabilities(self, block: Block) -> Any:
        rows = self._answers(block, "predict_proba")
        labels = [*dict.fromkeys(itertools.chain(*rows, block.y or ()))]
        values = [[row.get(label, 0.0) if row else np.nan for label in labels] for row in rows]
        array = np.array(values, np.float64).reshape(len(rows), len(labels))
        return frames.proba_frame(block.frame, labels, array)

    def _as_series(self, block: Block, labels: list[Any]) -> Any:
        return frames.label_series(block.frame, labels, np.arange(len(labels)))


class KeyedRegressor(KeyedModel, base.MiniBatchRegressor):
    """A regressor for each key, such as a user, a sensor or a shop.

    It is as `KeyedClassifier`, with the same parameters, notes and methods.

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

        >>> import pandas as pd
        >>> from river_amf import AMFRegressor, keyed
        >>> X = pd.DataFrame({"shop": ["north", "south", "north"], "day": [1, 1, 2]})
        >>> model = keyed.KeyedRegressor(AMFRegressor(), "shop")
        >>> model.predict_then_learn_many(X, [10.0, 99.0, 11.0]).tolist()
        [0.0, 0.0, 10.0]
        """
        block = Block(X, self.key, (y, w))
        return self._as_series(block, self._answers(block, "predict"))

    def _as_series(self, block: Block, numbers: list[Any]) -> Any:
        return frames.number_series(block.frame, np.array(numbers, np.float64))
