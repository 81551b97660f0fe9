"""The labels that a model has seen, and their indices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from river_amf.kinds import is_hashable, is_missing, plain, shown
from river_amf.sizes import TextSize, size_of, text_size
from river_amf.unrolled import dict_reader


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
        self._size = TextSize()
        self._n_read, self._read = 0, dict_reader([])

    def __getstate__(self) -> dict[str, Any]:
        return {"index": self.index}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.index = state["index"]
        self._prepare()

    def proba(self, buffer: Any) -> dict[Any, float]:
        """Return the probability of each label, given a buffer that begins with them."""
        if self._n_read != len(self.index):
            self._read = dict_reader(self.index)
            self._n_read = len(self.index)  # last, as an interrupt may come in between
        return self._read(buffer)

    def text_with(self, new: Iterable[Hashable]) -> int:
        """Return a bound on the bytes of the labels and their dict, once new ones are added."""
        return self._size.of(self.index) + sum(map(text_size, new))

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.index)

    @property
    def nbytes(self) -> int:
        """Bytes of the labels and the dict that holds them."""
        return size_of(self.index)

    def find(self, label: Hashable) -> int | None:
        """Return the index of a label (None if it is new), or raise TypeError if unhashable."""
        try:
            return self.index.get(plain(label))
        except (TypeError, ValueError) as error:
            if is_missing(label):
                return None
            what = f"label {shown(label)} of type {type(label).__name__}"
            if not is_hashable(label):
                raise TypeError(
                    f"{what} is unhashable; pass a str, bool, int or another hashable value"
                ) from None
            raise TypeError(  # a Decimal and a numpy integer cannot be compared, for example
                f"{what} cannot be compared with the labels seen so far, {shown(list(self))}: "
                f"{error}"
            ) from None

    def check_new(self, label: Hashable, n_classes: int | None) -> None:
        """Raise ValueError if a label that has not been seen before must not be added."""
        if is_missing(label):
            raise ValueError(
                f"label {shown(label)} is missing; only samples with a label can be learned"
            )
        if n_classes is not None and len(self) >= n_classes:
            raise ValueError(
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
