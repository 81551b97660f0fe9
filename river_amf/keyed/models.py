"""What the classifier and the regressor with a model for each key have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from river import compose

from river_amf.keyed import ways
from river_amf.keyed.keeping import Keeper
from river_amf.keyed.keys import key_of, text_of
from river_amf.keyed.pool import Slot
from river_amf.keyed.routing import Block, Part
from river_amf.kinds import check_sample, shown
from river_amf.rows import renumbered

_Result = TypeVar("_Result")


class Keyed(Keeper):
    """Base of `KeyedClassifier` and `KeyedRegressor`: whose samples go to which model."""

    # ------------------------------------------------------------------------------------ samples

    def _split(self, x: Any) -> tuple[str, dict[Any, Any]]:
        """Return the key of a sample, as text, and the features without it."""
        check_sample(x)
        features = dict(x.items())
        try:
            return text_of(features.pop(self.key)), features
        except KeyError:
            raise ValueError(
                f"x lacks the key {shown(self.key)}, which says whose sample it is; it has "
                f"{shown(list(features))}"
            ) from None
        except (TypeError, ValueError) as error:
            raise type(error)(f"feature {shown(self.key)}: {error}") from None

    def _learn_one(self, x: Any, y: Any, w: float, kwargs: dict[str, Any]) -> None:
        """Learn a sample."""
        text, features = self._split(x)

        def learn(model: Any) -> None:
            options = kwargs
            if w != 1.0:
                ways.demand_weights(model, "learn_one")
                options = kwargs | {"w": w}
            model.learn_one(features, y, **options)

        self._teach(text, 1, learn)

    def _teach(
        self, text: str, n_rows: int, learn: Callable[[Any], _Result], made: Any = None
    ) -> _Result:
        """Let the model of a key learn; a new one is kept once it has learned its first rows."""
        slot = self._pool.find(text)
        if slot is not None:
            self._pool.make_room(text)
            slot.is_changed = True
            result = learn(slot.model)
        else:
            slot = Slot(self._made(text) if made is None else made, is_changed=True)
            self._pool.make_room(text, slot)
            result = learn(slot.model)
            self._pool.add(text, slot)
        self._pool.learned(slot, n_rows)
        return result

    def _ask_one(self, method: str, x: Any, kwargs: dict[str, Any]) -> Any:
        """Return what the model of a sample's key says of the sample."""
        text, features = self._split(x)
        slot = self._pool.find(text)
        learns = getattr(compose.Pipeline, "_LEARN_UNSUPERVISED_DURING_PREDICT", False)
        if slot is None:
            model = self._made(text) if learns else self._new(text)
            return getattr(model, method)(features, **kwargs)
        slot.is_changed |= learns
        return getattr(slot.model, method)(features, **kwargs)

    # ------------------------------------------------------------------------------------- blocks

    def _learn_parts(
        self, block: Block, learn: Callable[[ways.Rows, Part], _Result]
    ) -> list[tuple[Part, _Result]]:
        """Let each model learn its part, after all of them have checked theirs."""
        parts = self._in_order(block)
        made = self._check_parts(parts)
        return [(part, self._teach_part(part, learn, made.get(part.text))) for part in parts]

    def _teach_part(
        self, part: Part, learn: Callable[[ways.Rows, Part], _Result], made: Any
    ) -> _Result:
        """Let the model of a key learn its part."""

        def learn_part(model: Any) -> _Result:
            return _at(part, learn, ways.way_of(model), part)

        return self._teach(part.text, len(part), learn_part, made)

    def _in_order(self, block: Block) -> list[Part]:
        """Return the parts of a block; first those whose models need not come from the folder."""
        return sorted(block.parts(), key=lambda part: not self._pool.is_resident(part.text))

    def _check_parts(self, parts: list[Part]) -> dict[str, Any]:
        """Raise an error if a part cannot be learned, as far as that is known before."""
        # New models that the key makes are kept for their rows: the factory is called but once.
        made: dict[str, Any] = {}
        if parts and not self._takes_key and not ways.checks_blocks(self._new(parts[0].text)):
            ways.way_of(self._new(parts[0].text)).check(parts[0])  # it is the same for all
            return made
        for part in parts:
            slot = self._pool.find(part.text)
            model = self._new(part.text) if slot is None else slot.model
            _at(part, ways.way_of(model).check, part)
            if slot is None and self._takes_key:
                made[part.text] = model
        return made

    def _ask_parts(
        self, block: Block, ask: Callable[[ways.Rows, Part], _Result]
    ) -> list[tuple[Part, _Result]]:
        """Ask each model about its part."""
        results = []
        for part in self._in_order(block):
            slot = self._pool.find(part.text)
            model = self._new(part.text) if slot is None else slot.model
            results.append((part, _at(part, ask, ways.way_of(model), part)))
        return results

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
        block = Block(X, self.key, y, w)
        self._alone(self._learn_parts, block, lambda way, part: way.learn(part))

    @staticmethod
    def _scattered(block: Block, results: list[tuple[Part, list[Any]]]) -> list[Any]:
        """Return the answers to the parts in the order of the rows."""
        return block.scattered({part.text: answers for part, answers in results})


def _at(part: Part, call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function of a part; an error says which row of the block it is about, and whose."""
    try:
        return call(*arguments)
    except Exception as error:
        key = f"the key {shown(key_of(part.text))}"
        named: Exception = error
        if isinstance(error, TypeError | ValueError):
            named = renumbered(error, part.rows, f"{key}: ")
        if named is error:  # it does not say which row
            error.add_note(f"in the rows of {key}")
            raise
        raise named from None


def rows_of(parts: list[tuple[Part, _Result]]) -> list[tuple[NDArray[np.int64], _Result]]:
    """Return the rows of each part with its result."""
    return [(part.rows, result) for part, result in parts]
