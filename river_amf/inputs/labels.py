"""The labels that a model has seen, or in a regression the origin of its targets."""

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import INVALID, InvalidType, InvalidValue
from river_amf.inputs.kinds import PLAIN_NUMBERS, is_missing, is_real, plain, shown

LARGEST_TARGET = 1e100  # distance from the first target; the squares of more would be useless
_EXACT = 2**53  # integers up to it are exact in float64


class Labels:
    """The labels seen so far, in order of first appearance."""

    origin: float | None = None  # which only targets have

    def __init__(self) -> None:
        self.index: dict[Hashable, int] = {}

    @property
    def get(self) -> Callable[[Any], int | None]:
        """The function from a label to its index, None if it is new."""
        return self.index.get

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

    def add(self, label: Hashable) -> int:
        return self.index.setdefault(label, len(self.index))

    def truncate(self, n_labels: int) -> None:
        while len(self.index) > n_labels:
            self.index.popitem()

    @property
    def n_classes(self) -> int:
        return len(self.index)

    def is_special(self, column: Column) -> NDArray[np.bool_]:
        """Return which rows of a column hold no label seen so far."""

        def is_known(label: Hashable) -> bool:
            try:
                return self.find(label) is not None
            except INVALID:
                return False

        return ~np.array([*map(is_known, column.values)], bool)[column.codes]

    def encode(self, column: Column, rows: range) -> NDArray[np.float64]:
        """Return the index of the label of each of some ordinary rows."""
        table = np.array([self.index.get(label, -1) for label in column.values], np.float64)
        return table[column.codes[rows.start : rows.stop]]


class Targets:
    """Targets, in the place of labels in a regression.

    The forest learns y minus the first target, the origin, so that an offset costs no digits.
    """

    n_classes = 0

    def __init__(self, origin: float | None = None) -> None:
        self.origin = origin  # the first target

    def __len__(self) -> int:
        return int(self.origin is not None)

    def __iter__(self) -> Iterator[float]:
        return iter([] if self.origin is None else [self.origin])

    def truncate(self, n_targets: int) -> None:
        """Take back the origin unless so many targets, 0 or 1, include it."""
        if n_targets == 0:
            self.origin = None

    def get(self, y: Any) -> float | None:
        """Return a target minus the origin, or None if it needs a closer look."""
        is_plain = isinstance(y, float) or (isinstance(y, int) and -_EXACT <= y <= _EXACT)
        if is_plain and self.origin is not None:
            target = float(y) - self.origin
            if -LARGEST_TARGET <= target <= LARGEST_TARGET:
                return target + 0.0  # not -0.0
        return None

    def read(self, y: Any) -> float:
        return as_target(y)

    def find(self, y: Any) -> float | None:
        """Return a target minus the origin, None if it is the first; raise if it is not valid."""
        number = as_target(y)
        if self.origin is None:
            return None
        target = number - self.origin
        if not abs(target) <= LARGEST_TARGET:
            raise InvalidValue(
                f"y must be within {LARGEST_TARGET:g} of the first target, {self.origin!r}, "
                f"got {shown(y)}"
            )
        return target

    def check_new(self, y: Any, n_classes: int | None) -> None:
        as_target(y)

    def add(self, y: Any) -> float:
        """Return a target minus the origin, which it becomes if it is the first."""
        number = as_target(y)
        self.origin = number if self.origin is None else self.origin
        return number - self.origin

    def is_special(self, column: Column) -> NDArray[np.bool_]:
        """Return which rows of a column hold no plain target; all if there is no origin."""
        if column.numbers is None:
            return np.array([self.get(value) is None for value in column.values], bool)
        if self.origin is None:
            return np.ones(len(column.numbers), bool)
        with np.errstate(over="ignore", invalid="ignore"):
            return ~(np.abs(column.numbers - self.origin) <= LARGEST_TARGET)

    def encode(self, column: Column, rows: range) -> NDArray[np.float64]:
        """Return the target less the origin of each of some ordinary rows."""
        assert self.origin is not None
        if column.numbers is None:
            return np.array([self.get(value) for value in column.values[rows.start : rows.stop]])
        return column.numbers[rows.start : rows.stop] - self.origin + 0.0


def as_target(y: Any) -> float:
    if type(y) not in PLAIN_NUMBERS and not is_real(y):
        if is_missing(y):
            raise InvalidValue(f"y must be a finite number, got {shown(y)}, which is missing")
        raise InvalidType(f"y must be a finite number, got {shown(y)} of type {type(y).__name__}")
    try:
        number = float(y)
    except (OverflowError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidValue(f"y must be a finite number, got {shown(y)}")
    return number + 0.0  # not -0.0
