"""The regressor with a model for each key, over Ray's actors."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from river_amf import frames
from river_amf.keyed import KeyedRegressor
from river_amf.ray.keyed_models import DistributedKeyed
from river_amf.ray.keyed_rows import KeyedRows
from river_amf.ray.shares import Answers


class DistributedKeyedRegressor(DistributedKeyed, base.MiniBatchRegressor):
    """`KeyedRegressor` over several processes, on one machine or many.

    It is `DistributedKeyedClassifier` for numbers.

    Parameters
    ----------
    factory, key, n_workers, max_models, max_bytes, folder, max_waiting, checkpoint_every, \
    checkpoint_folder
        As in `DistributedKeyedClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> from river_amf import AMFRegressor
    >>> from river_amf.ray import DistributedKeyedRegressor

    >>> X = pd.DataFrame({"shop": ["north", "south"] * 50, "day": [i % 7 for i in range(100)]})
    >>> with DistributedKeyedRegressor(AMFRegressor(seed=1), "shop", n_workers=1) as model:
    ...     model.learn_many(X, [10.0, 99.0] * 50)
    ...     model.predict_many(X[:2]).tolist()
    [10.0, 99.0]

    """

    _local = KeyedRegressor

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from one sample, with the model of its key, as in `KeyedRegressor.learn_one`.

        Examples
        --------
        >>> from river_amf import AMFRegressor
        >>> from river_amf.ray import DistributedKeyedRegressor
        >>> with DistributedKeyedRegressor(AMFRegressor(), "shop", n_workers=1) as model:
        ...     model.learn_one({"shop": "north", "day": 3}, 10.0)
        ...     list(model)
        ['north']
        """
        self._one("learn_one", x, (y, w), kwargs, learns=True)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the target of a sample, as in `KeyedRegressor.predict_one`.

        Examples
        --------
        >>> from river_amf import AMFRegressor
        >>> from river_amf.ray import DistributedKeyedRegressor
        >>> with DistributedKeyedRegressor(AMFRegressor(), "shop", n_workers=1) as model:
        ...     model.learn_one({"shop": "north", "day": 3}, 10.0)
        ...     model.predict_one({"shop": "north", "day": 4})
        10.0
        """
        return self._one("predict_one", x, (), kwargs, learns=False)

    def predict_many(self, X: Any) -> Any:
        """Predict the target of each row, as in `KeyedRegressor.predict_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFRegressor
        >>> from river_amf.ray import DistributedKeyedRegressor
        >>> with DistributedKeyedRegressor(AMFRegressor(), "shop", n_workers=1) as model:
        ...     model.learn_one({"shop": "north", "day": 3}, 10.0)
        ...     model.predict_many(pd.DataFrame({"shop": ["south", "north"]})).tolist()
        [0.0, 10.0]
        """
        block = self._keyed_rows(X)
        return self._series(block, self._team.do(self._ask, "predict", block))

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Predict each row and then learn it, before the next one.

        As in `KeyedRegressor.predict_then_learn_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFRegressor
        >>> from river_amf.ray import DistributedKeyedRegressor
        >>> X = pd.DataFrame({"shop": ["north", "south", "north"], "day": [1, 1, 2]})
        >>> with DistributedKeyedRegressor(AMFRegressor(), "shop", n_workers=1) as model:
        ...     model.predict_then_learn_many(X, [10.0, 99.0, 11.0]).tolist()
        [0.0, 0.0, 10.0]
        """
        block = self._keyed_rows(X, y, w)
        return self._series(block, self._team.do(self._ask_and_learn, "predict_then_learn", block))

    @staticmethod
    def _series(block: KeyedRows, parts: Answers) -> Any:
        numbers = np.zeros(len(block.codes))
        for rows, answers in parts:
            numbers[rows] = answers
        return frames.number_series(block.frame, numbers)
