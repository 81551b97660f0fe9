"""The regressor with a model for each key."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from river_amf import frames
from river_amf.keyed.models import Keyed
from river_amf.keyed.routing import Block


class KeyedRegressor(Keyed, base.MiniBatchRegressor):
    """A regressor for each key, such as a user, a sensor or a shop.

    It is `KeyedClassifier` for numbers, which has all that is said of keys, of memory and of the
    folder.

    Parameters
    ----------
    factory
        What makes the model of a new key: a river regressor, of which each key gets a clone, or a
        function that returns one, perhaps taking the key.
    key, max_models, max_bytes, folder
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

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from one sample, with the model of its key.

        Parameters
        ----------
        x
            Features, as a dict or another mapping, with the key.
        y
            Target.
        w
            Sample weight, for models that take one.
        kwargs
            Passed on to the model.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `KeyedClassifier.learn_one`.

        Examples
        --------
        >>> from river_amf import AMFRegressor
        >>> from river_amf.keyed import KeyedRegressor
        >>> model = KeyedRegressor(AMFRegressor(), "shop")
        >>> model.learn_one({"shop": "north", "day": 3}, 10.0)
        >>> list(model)
        ['north']
        """
        self._alone(self._learn_one, x, y, w, kwargs)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the target of a sample, with the model of its key.

        Parameters
        ----------
        x
            Features with the key, as in `learn_one`.
        kwargs
            Passed on to the model, such as `with_interval=True` to those of this package.

        Returns
        -------
        float
            The prediction; for a key without a model what a new one predicts, in most cases 0.0.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_one`.

        Examples
        --------
        >>> from river_amf import AMFRegressor
        >>> from river_amf.keyed import KeyedRegressor
        >>> model = KeyedRegressor(AMFRegressor(), "shop")
        >>> model.learn_one({"shop": "north", "day": 3}, 10.0)
        >>> model.predict_one({"shop": "north", "day": 4}), model.predict_one({"shop": "south"})
        (10.0, 0.0)
        """
        return self._alone(self._ask_one, "predict_one", x, kwargs)

    def predict_many(self, X: Any) -> Any:
        """Predict the target of each row, with the model of its key.

        Parameters
        ----------
        X
            DataFrame with the keys, as in `learn_many`.

        Returns
        -------
        Series of length n_samples
            The predictions in the order of the rows, as a series from the same library as `X`.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFRegressor
        >>> from river_amf.keyed import KeyedRegressor
        >>> model = KeyedRegressor(AMFRegressor(), "shop")
        >>> model.learn_one({"shop": "north", "day": 3}, 10.0)
        >>> model.predict_many(pd.DataFrame({"shop": ["south", "north"], "day": [3, 4]})).tolist()
        [0.0, 10.0]
        """
        block = Block(X, self.key)
        results = self._alone(self._ask_parts, block, lambda way, part: way.predict(part))
        return self._as_series(block, self._scattered(block, results))

    @staticmethod
    def _as_series(block: Block, numbers: list[Any]) -> Any:
        return frames.number_series(block.frame, np.array(numbers, np.float64))

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        Forests of this package do so by blocks, and all other models row by row: for each key the
        result is that of `predict_one` and `learn_one`.

        Parameters
        ----------
        X, y, w
            Features with the keys, targets and weights, as in `learn_many`.

        Returns
        -------
        Series of length n_samples
            Predictions, as from `predict_many`.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_many`.

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
        ask = lambda way, part: way.predict_then_learn(part)  # noqa: E731
        results = self._alone(self._learn_parts, block, ask)
        return self._as_series(block, self._scattered(block, results))
