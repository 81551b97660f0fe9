"""The labels that a model has seen, and their indices."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import InvalidType, InvalidValue
from river_amf.inputs.kinds import is_hashable, is_missing, plain, shown, size_of
from river_amf.inputs.row_problems import NEVER, Problems, first_rows, taken
from river_amf.inputs.unrolled import dict_reader


class Labels:
    """The labels seen so far, in order of first appearance.

    >>> labels = Labels()
    >>> labels.add("spam"), labels.add("ham"), labels.find("spam"), labels.find("other")
    (0, 1, 0, None)
    """

    def __init__(self) -> None:
        self.index: dict[Hashable, int] = {}
        self._prepare()

    def _prepare(self) -> None:
        """Set up what follows from the labels and is not part of the state."""
        self.get = self.index.get
        self._n_read, self._read = 0, dict_reader([])

    def __getstate__(self) -> dict[str, Any]:
        return {"index": self.index}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.index = state["index"]
        self._prepare()

    def answer(self, buffer: Any) -> dict[Any, float]:
        """Return the probability of each label, given a buffer that begins with them."""
        if self._n_read != len(self.index):
            self._read = dict_reader(self.index)
            self._n_read = len(self.index)  # last, as an interrupt may come in between
        return self._read(buffer)

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.index)

    @property
    def nbytes(self) -> int:
        """Bytes of the labels and the dict that holds them."""
        return size_of(self.index)

    def read(self, label: Any) -> Hashable:
        """Return what a label holds, if its type is a subclass of a plain one."""
        return plain(label)  # type: ignore[no-any-return]

    def find(self, label: Hashable) -> int | None:
        """Return the index of a label (None if it is new), or raise TypeError if unhashable."""
        try:
            return self.index.get(plain(label))
        except (TypeError, ValueError) as error:
            if is_missing(label):
                return None
            what = f"label {shown(label)} of type {type(label).__name__}"
            if not is_hashable(label):
                raise InvalidType(
                    f"{what} is unhashable; pass a str, bool, int or another hashable value"
                ) from None
            raise InvalidType(  # a Decimal and a numpy integer cannot be compared, for example
                f"{what} cannot be compared with the labels seen so far, {shown(list(self))}: "
                f"{error}"
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
        twin._prepare()
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

    def blank_answers(self, n_rows: int, n_new: int, level: float) -> NDArray[np.float64]:
        """Return an array for the answers to a block, once there are so many more labels."""
        return np.zeros((n_rows, self.width + n_new))

    def no_answer(self) -> dict[Any, float]:
        """Return the prediction before the first sample."""
        return {}

    def find_all(self, column: Column, problems: Problems) -> list[int | None]:
        """Return the index of each of a column's labels: -1 if new, None if unhashable."""

        def find(label: Hashable) -> int:
            index = self.find(label)
            return -1 if index is None else index

        first = first_rows(column.codes, len(column.values), np.arange(len(column.codes)))
        return [
            problems.try_at(row, find, value)
            for value, row in zip(column.values, first.tolist(), strict=True)
        ]

    def encode(
        self,
        column: Column,
        found: list[int | None],
        is_learnt: NDArray[np.bool_],
        n_classes: int | None,
        problems: Problems,
    ) -> tuple[NDArray[np.float64], dict[int, list[Hashable]]]:
        """Return the index of each row's label, and the new labels by row of first use."""
        n_rows = len(column.codes)
        missing = np.flatnonzero(column.codes < 0)
        for row in missing[:1].tolist():
            label = None if column.rows is None else column.rows[row]
            problems.try_at(row, self.check_new, label, n_classes)
        is_new = np.array([index == -1 for index in found], dtype=bool)
        learnt = first_rows(column.codes, len(column.values), np.flatnonzero(is_learnt))
        order = [
            int(u) for u in np.argsort(learnt, kind="stable") if is_new[u] and learnt[u] < NEVER
        ]
        if n_classes is not None:
            n_free = max(n_classes - len(self), 0)
            admitted = order[:n_free]
            last = learnt[admitted[-1]] if admitted else -1
            full_after = last if len(admitted) == n_free else NEVER
            rows = np.arange(n_rows)
            comes_new = taken(np.where(is_new, learnt, -1), column.codes, -1) >= rows
            for row in np.flatnonzero(comes_new & (rows > full_after))[:1].tolist():
                full = Labels()
                for label in [*self, *(column.at(learnt[u]) for u in admitted)]:
                    full.add(label)
                problems.try_at(row, full.check_new, column.at(row), n_classes)
        if column.rows is not None:  # of types that may not be comparable
            known = self.copy()
            for u in order:
                problems.try_at(int(learnt[u]), _add_label, known, column.at(learnt[u]))
        indices = np.array([-1 if index is None else index for index in found], dtype=np.int64)
        indices[order] = len(self) + np.arange(len(order))
        by_row = {int(learnt[u]): [column.at(learnt[u])] for u in order}
        return taken(indices, column.codes, -1).astype(np.float64), by_row


def _add_label(labels: Labels, label: Hashable) -> None:
    """Add a label that should be new, or raise TypeError."""
    if labels.find(label) is not None:
        raise InvalidType(
            f"label {shown(label)} of type {type(label).__name__} is not always equal to the same "
            "labels"
        )
    labels.add(label)
