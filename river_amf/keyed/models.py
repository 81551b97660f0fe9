"""The classifier and the regressor with a model for each key."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from river import base, compose

from river_amf.inputs import frames
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import check_sample, shown
from river_amf.inputs.row_problems import renumbered
from river_amf.keyed import ways
from river_amf.keyed.keeping import Keeper
from river_amf.keyed.keys import key_of, key_text
from river_amf.keyed.routing import Answers, Block, Part

_Result = TypeVar("_Result")


class Keyed(Keeper):
    """Base of `KeyedClassifier` and `KeyedRegressor`: whose samples go to which model."""

    _as_series: Callable[[Block, list[Any]], Any]  # of labels or of numbers

    # ------------------------------------------------------------------------------------ samples

    def _split(self, x: Any) -> tuple[str, dict[Any, Any]]:
        """Return the key of a sample, as text, and the features without it."""
        check_sample(x)
        features = dict(x.items())
        if self.key not in features:
            what = f"{shown(self.key)}, which says whose sample it is; it has"
            raise ValueError(f"x lacks the key {what} {shown(list(features))}")
        try:
            return key_text(features.pop(self.key)), features
        except INVALID as error:
            raise type(error)(f"feature {shown(self.key)}: {error}") from None

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from one sample, with the model of its key.

        Parameters
        ----------
        x
            Features, as a dict or another mapping, with the key.
        y
            Label or target.
        w
            Sample weight, for models that take one.
        kwargs
            Passed on to the model.

        Raises
        ------
        TypeError
            If `x` is not a mapping, the key is of a type that keys cannot have, the model takes no
            weights, or the factory makes something else; and whatever the model raises.
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
        self._do(self._learn_one, *self._split(x), y, w, kwargs)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label or target of a sample, with the model of its key.

        It takes and raises what `learn_one` does; `kwargs` go to the model, such as
        `with_interval=True, level=0.5` to regressors of this package. For a key without a model the
        prediction is that of a new one, in most cases None or 0.0.

        Examples
        --------
        >>> from river_amf import AMFRegressor
        >>> from river_amf.keyed import KeyedRegressor
        >>> model = KeyedRegressor(AMFRegressor(), "shop")
        >>> model.learn_one({"shop": "north", "day": 3}, 10.0)
        >>> model.predict_one({"shop": "north", "day": 4}), model.predict_one({"shop": "south"})
        (10.0, 0.0)
        """
        return self._ask_for(x, "predict_one", kwargs)

    def _ask_for(self, x: Any, method: str, options: dict[str, Any]) -> Any:
        return self._do(self._ask_one, *self._split(x), method, options)

    def _learn_one(
        self, text: str, features: dict[Any, Any], y: Any, w: float, options: dict[str, Any]
    ) -> None:
        def learn(model: Any) -> None:
            weight = {}
            if w != 1.0:
                ways.require_weights(model, "learn_one")
                weight = {"w": w}
            model.learn_one(features, y, **options, **weight)

        self._teach(text, learn)

    def _teach(self, text: str, learn: Callable[[Any], _Result], made: Any = None) -> _Result:
        """Let the model of a key learn; a new one is kept once it has learned its first rows."""
        pool = self._pool
        model = pool.find(text)
        if model is not None:
            pool.make_room(0)
            pool.changed.add(text)
            return learn(model)
        model = self._made(text) if made is None else made
        pool.make_room(1)
        result = learn(model)
        pool.changed.add(text)
        pool.add(text, model)
        return result

    def _ask_one(
        self, text: str, features: dict[Any, Any], method: str, options: dict[str, Any]
    ) -> Any:
        model = self._pool.find(text)
        learns = getattr(compose.Pipeline, "_LEARN_UNSUPERVISED_DURING_PREDICT", False)
        if model is None:
            model = self._made(text) if learns else self._new(text)
        elif learns or ways.awaits_labels(model):
            self._pool.changed.add(text)
        return getattr(model, method)(features, **options)

    # ------------------------------------------------------------------------------------- blocks

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from a block of samples: the rows of each key, in their order, as one block.

        Models with `learn_many` get their rows as a frame of pandas, the others one by one. Before
        any row is learned, lengths, keys and weights are checked, and forests of this package check
        their rows; a river model that raises an error leaves those before it changed.

        Parameters
        ----------
        X
            DataFrame of shape (n_samples, n_features + 1), from pandas, polars, pyarrow or another
            library that narwhals supports, with the column of keys.
        y
            Labels or targets: a series, array or list of length n_samples.
        w
            Sample weights: a series, array or list of length n_samples, for models that take them.
            `None` means 1 for each.

        Raises
        ------
        TypeError, ValueError
            As in `learn_one`, with the number of the row (from 0) in the message; also if `X` is
            not a dataframe or lacks the keys, or if the lengths differ.
        OSError
            If a model cannot be moved to the folder. The models of some keys have then learned.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(seed=1), "user")
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> model.learn_many(X, ["buys", "waits", "waits"])
        >>> model.predict_many(X).tolist()
        ['buys', 'waits', 'waits']
        """
        self._do(self._learn, Block(X, self.key, y, w))

    def predict_many(self, X: Any) -> Any:
        """Predict the label or target of each row, with the model of its key.

        It takes and raises what `learn_many` does. The predictions are in the order of the rows, as
        a series from the same library as `X`; None where a classifier has no label.

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
        return self._as_series(block, block.scattered(self._do(self._ask, block, "predict")))

    def _learn(self, block: Block) -> None:
        self._ask_and_learn(block, "learn")

    def _ask_and_learn(self, block: Block, method: str) -> Answers:
        """Let each model answer and learn its part, after all of them have checked theirs."""
        answers = []
        for part, made in self._check(block):
            learn = functools.partial(_call_part, method=method, part=part)
            answers.append((part.rows, self._teach(part.text, learn, made)))
        return answers

    def _in_order(self, block: Block) -> list[Part]:
        """Return the parts of a block; first those whose models need not come from the folder."""
        return sorted(block.parts(), key=lambda part: part.text not in self._pool.models)

    def _check(self, block: Block) -> list[tuple[Part, Any]]:
        """Return the parts, or raise an error if one cannot be learned, as far as is known before.

        New models that the key makes come with their parts: the factory is called but once.
        """
        parts = self._in_order(block)
        if parts and not self._takes_key and not ways.checks_blocks(self._new(parts[0].text)):
            ways.way_of(self._new(parts[0].text)).check(parts[0])  # it is the same for all
            return [(part, None) for part in parts]
        checked = []
        for part in parts:
            known = self._pool.find(part.text)
            model = self._new(part.text) if known is None else known
            _call_part(model, "check", part)
            checked.append((part, model if known is None and self._takes_key else None))
        return checked

    def _ask(self, block: Block, method: str) -> Answers:
        answers = []
        for part in self._in_order(block):
            known = self._pool.find(part.text)
            model = self._new(part.text) if known is None else known
            if known is not None and ways.awaits_labels(known):
                self._pool.changed.add(part.text)
            answers.append((part.rows, _call_part(model, method, part)))
        return answers


def _call_part(model: Any, method: str, part: Part) -> Any:
    """Ask a model about its part; an error names the row of the block, and its key."""
    try:
        return getattr(ways.way_of(model), method)(part)
    except Exception as error:
        key = f"the key {shown(key_of(part.text))}"
        named = renumbered(error, part.rows, f"{key}: ") if isinstance(error, INVALID) else error
        if named is error:  # it names no row
            error.add_note(f"in the rows of {key}")
            raise
        raise named from None


class KeyedClassifier(Keyed, base.MiniBatchClassifier):
    """A classifier for each key, such as a user, a sensor or a shop.

    A feature of each sample, the key, says whose sample it is. The model of that key alone learns
    it or predicts it, and does not see the key. A key that has not been seen before gets a new
    model with the first sample that is learned; before that, a new model answers for it and is not
    kept, so predictions never change anything but which ones wait for late labels, in forests.

    Beyond `max_models`, the models that were used least recently are moved to a folder, and come
    back when they are asked for, exactly as they were. It is also a mapping from the keys to their
    models: `model["ann"]`, `"ann" in model`, `len(model)`, `del model["ann"]`.

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
    folder
        Where models are kept: with `flush`, the next process with this folder goes on with them.
        It belongs to one object at a time. `None` for a temporary file, which is made when
        `max_models` is exceeded, and goes with the object.

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

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label, with the model of the sample's key.

        As `predict_one`, but as a dict: empty before the first sample of the key, for most models.
        NotImplementedError is raised if the model has no probabilities.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_one({"user": "ann"}), model.predict_proba_one({"user": "bob"})
        ({'buys': 1.0}, {})
        """
        found: dict[Any, float] = self._ask_for(x, "predict_proba_one", kwargs)
        return found

    def _as_series(self, block: Block, labels: list[Any]) -> Any:
        return frames.label_series(block.frame, labels, np.arange(len(labels)))

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label for each row, with the model of its key.

        As `predict_many`, but as a frame of shape (n_samples, n_labels) with one column for each
        label that any of the models knows: 0 where the row's own model does not know it, and NaN
        where that knows none. NotImplementedError is raised if a model has no probabilities.

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
        return self._table(Block(X, self.key), self._ask, "predict_proba")

    def _table(self, block: Block, call: Callable[[Block, str], Answers], method: str) -> Any:
        labels, values = ways.joined(self._do(call, block, method), len(block))
        return frames.proba_frame(block.frame, labels, values)

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        Forests of this package do so by blocks, and all other models row by row: for each key the
        result is that of `predict_proba_one` and `learn_one`.

        It takes what `learn_many` takes, and returns what `predict_proba_many` does.

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
        return self._table(block, self._ask_and_learn, "predict_proba_then_learn")


class KeyedRegressor(Keyed, base.MiniBatchRegressor):
    """A regressor for each key, such as a user, a sensor or a shop.

    It is `KeyedClassifier` for numbers, which has all that is said of keys, of memory and of the
    folder.

    Parameters
    ----------
    factory
        What makes the model of a new key: a river regressor, of which each key gets a clone, or a
        function that returns one, perhaps taking the key.
    key, max_models, folder
        As in `KeyedClassifier`.

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

    def _as_series(self, block: Block, numbers: list[Any]) -> Any:
        return frames.number_series(block.frame, np.array(numbers, np.float64))

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        As `KeyedClassifier.predict_proba_then_learn_many`, but with predictions as a series, each
        of them that of `predict_one`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFRegressor
        >>> from river_amf.keyed import KeyedRegressor
        >>> model = KeyedRegressor(AMFRegressor(), "shop")
        >>> X = pd.DataFrame({"shop": ["north", "south", "north"], "day": [1, 1, 2]})
        >>> model.predict_then_learn_many(X, [10.0, 99.0, 11.0]).tolist()
        [0.0, 0.0, 10.0]
        """
        block = Block(X, self.key, y, w)
        answers = self._do(self._ask_and_learn, block, "predict_then_learn")
        return self._as_series(block, block.scattered(answers))
