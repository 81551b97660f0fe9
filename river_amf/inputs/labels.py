"""The labels that a model has seen, and their indices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import INVALID, InvalidType, InvalidValue
from river_amf.inputs.kinds import is_missing, plain, shown


class Labels:
    """The labels seen so far, in order of first appearance.

    >>> labels = Labels()
    >>> labels.add("spam"), labels.add("ham"), labels.find("spam"), labels.find("other")
    (0, 1, 0, None)
    """

    def __init__(self) -> None:
        self.index: dict[Hashable, int] = {}

    @property
    def get(self) -> Callable[[Any], int | None]:
        """The function from a label to its index, None if it is new."""
        return self.index.get

    def answer(self, buffer: Any) -> dict[Any, float]:
        """Return the probability of each label, given a buffer that begins with them."""
        return dict(zip(self.index, buffer))  # noqa: B905 (the keyword takes 0.1 us)

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.index)

    def read(self, label: Any) -> Hashable:
        """Return what a label holds, if its type is a subclass of a plain one."""
        return plain(label)  # type: ignore[no-any-return]

    def find(self, label: Hashable) -> int | None:
        """Return the index of a label (None if it is new), or raise TypeError if unhashable."""
        try:
            return self.index.get(plain(label))
        except TypeError:
            if is_missing(label):
                return None
            raise InvalidType(
                f"label {shown(label)} of type {type(label).__name__} is unhashable; pass a str, "
                "bool, int or another hashable value"
            ) from None

    def check_new(self, label: Hashable, n_classes: int | None) -> None:
        """Raise ValueError if a label that has not been seen before must not be added."""
        if is_missing(label):
            raise InvalidValue(
                f"label {shown(label)} is missing; only samples with a label can be learned"
            )
        if n_classes is not None and len(self) >= n_classes:
            raise InvalidValue(
                f"label {shown(label)} would be class number {len(self) + 1}, "
                f"but n_classes={n_classes} and the labels seen so far are {shown(list(self))}; "
                "increase n_classes, or leave it as None"
            )

    def copy(self) -> Labels:
        """Return labels that later changes of these do not affect."""
        twin = type(self)()
        twin.index = self.index.copy()
        return twin

    def add(self, label: Hashable) -> int:
        """Return the index of a label, which is added if it is new."""
        return self.index.setdefault(label, len(self.index))

    def truncate(self, n_labels: int) -> None:
        """Take back the newest labels, until so many are left."""
        while len(self.index) > n_labels:
            self.index.popitem()

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.index)

    @property
    def width(self) -> int:
        """The number of columns of the forest's answers."""
        return len(self.index)

    def blank_answers(self, n_rows: int, n_new: int = 0, level: float = 0.0) -> NDArray[np.float64]:
        """Return an array for the answers to a block, once there are so many more labels."""
        return np.zeros((n_rows, self.width + n_new))

    def no_answer(self) -> dict[Any, float]:
        """Return the prediction before the first sample."""
        return {}

    def is_odd(self, column: Column) -> NDArray[np.bool_]:
        """Return which rows of a column hold no label seen so far."""

        def is_known(label: Hashable) -> bool:
            try:
                return self.find(label) is not None
            except INVALID:
                return False

        return ~np.array([*map(is_known, column.values)], bool)[column.codes]

    def encode(self, column: Column, rows: range) -> NDArray[np.float64]:
        """Return the index of the label of each of some rows that are not odd."""
        table = np.array([self.index.get(label, -1) for label in column.values], np.float64)
        return table[column.codes[rows.start : rows.stop]]
