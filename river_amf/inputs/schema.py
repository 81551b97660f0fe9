"""The schema of a forest: features, categories and words, and labels or the origin of targets.

All checks come before any change, so a sample that is rejected leaves no trace.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs import cautions, encoding, kinds
from river_amf.inputs.categories import Categories
from river_amf.inputs.cautions import IGNORED, MISSING_TEXTS, Mismatches, warn_of_mismatches
from river_amf.inputs.encoding import EncodedSample, Encoder, column_order
from river_amf.inputs.invalid import InvalidValue
from river_amf.inputs.kinds import as_number, is_missing, is_number, plain, shown
from river_amf.inputs.labels import Labels, Targets

_FEW_WORDS = 64

Row = dict[Hashable, float]


class Reading(NamedTuple):
    """A sample that has been checked, and what is new in it."""

    row: Row  # its values, as they will be encoded
    numeric: list[Hashable]  # new features, or words
    categorical: list[Hashable]
    categories: list[tuple[Hashable, Hashable]]  # (feature, category), also for old features
    mismatches: Mismatches  # that count as missing
    ignored: list[Hashable]  # names beyond the bound
    y: Any = None  # the label or target
    label: float | None = None  # its number, None if it is new

    @property
    def has_new(self) -> bool:
        """Return whether there are new features, words or categories."""
        return bool(self.numeric or self.categorical or self.categories)


class Schema:
    """The columns of the features seen so far, the codes of their categories, and the labels."""

    # Columns are numbered in order of first appearance, and so are the categories of a feature, up
    # to their bound (DESIGN.md: categories, kinds, words). In an encoded row, missing values are
    # NaN. New features make a new schema, which shares the dicts of labels, words and categories;
    # these only grow, so that `undo` can take away what was added.

    encode: Encoder  # encodes a sample in the common cases, where nothing is new, or returns None

    def __init__(
        self,
        labels: Labels | Targets | None = None,
        *,
        max_categories: int | None = None,
        max_features: int = sys.maxsize,
        n_classes: int | None = None,
        max_split_words: int | None = None,
        fills_mismatches: bool = False,
        warned: set[Hashable] | None = None,
    ) -> None:
        self.labels = Labels() if labels is None else labels
        # indices of words in order of arrival, from 1, as 0 is for the constant 1
        self.words: dict[Hashable, int] | None = None if max_split_words is None else {}
        self._columns: dict[Hashable, int] = {}
        self._categories: dict[Hashable, Categories] = {}  # for categorical features only
        self._max_categories, self._n_classes = max_categories, n_classes
        self._max_split_words = sys.maxsize if max_split_words is None else max_split_words
        self._max_features = max_features
        self._fills_mismatches = fills_mismatches  # else values of the wrong kind are errors
        # What there were warnings of: features with a value of the wrong kind, and others. It is no
        # part of the state: copies warn again.
        self.warned = set() if warned is None else warned
        self._prepare()

    def replacing(self, **changed: Any) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__ | changed)
        twin._prepare()
        return twin

    def _prepare(self) -> None:
        codes = {name: coding.codes for name, coding in self._categories.items()}
        if self.words is None:
            self.sample = EncodedSample(len(self))
            self.encode = encoding.row_encoder(self._columns, codes, self.sample)
        else:
            self.sample = EncodedSample(len(self), _FEW_WORDS)
            self.encode = encoding.word_encoder(self._columns, codes, self.words, self.sample)
        codings = self._categories.items()
        self.bounded = [(self._columns[n], c) for n, c in codings if c.bound is not None]

    # Features

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._columns)

    @property
    def nbytes(self) -> int:
        """Bytes of names, categories, words and labels, their dicts, and an encoded sample."""
        dicts: list[Any] = [self._columns, dict.fromkeys(self.labels), *self._dicts()]
        sizes = [sys.getsizeof(index) + sum(map(sys.getsizeof, index)) for index in dicts]
        return int(self.sample.buffer.nbytes) + sum(sizes)

    def is_known(self, name: Hashable) -> bool:
        """Return whether a feature has a kind."""
        return name in self._columns or (self.words is not None and name in self.words)

    @property
    def n_free(self) -> int:
        n_numeric = len(self) - len(self._categories) if self.words is None else len(self.words)
        return self._max_features - n_numeric - len(self._categories)

    @property
    def ignores_new(self) -> bool:
        """Whether new features are ignored, and a warning has said so."""
        return self.n_free <= 0 and IGNORED in self.warned

    def column(self, name: Hashable) -> int | None:
        return self._columns.get(name)

    def coding(self, name: Hashable) -> Categories | None:
        return self._categories.get(name)

    def categories(self, name: Hashable) -> dict[Hashable, int] | None:
        """Return the categories of a feature with their codes, or None if it is numeric."""
        coding = self._categories.get(name)
        return None if coding is None else coding.codes

    @property
    def is_categorical(self) -> list[bool]:
        return [name in self._categories for name in self._columns]

    @property
    def n_codes(self) -> int:
        """All codes of categories so far are below this number."""
        return max((coding.n_codes for coding in self._categories.values()), default=0)

    @property
    def n_indices(self) -> int:
        """The number of words and 1 for the constant, 0 if there are no words."""
        return 0 if self.words is None else 1 + len(self.words)

    @property
    def columns_by_index(self) -> NDArray[np.int64]:
        """1 + the column of the word of each index, 0 if it has none; empty without words."""
        if self.words is None:
            return np.zeros(0, np.int64)
        # Only in a damaged file there are columns of words that have no index.
        columns = np.zeros(self.n_indices, np.int64)
        for name, column in self._columns.items():
            if name not in self._categories:
                columns[self.words.get(name, 0)] = 1 + column
        return columns

    # Encoding. Samples are overwritten by the next call.

    def encode_any(self, x: Any) -> EncodedSample:
        """Encode any sample, ignoring unknown features, or raise TypeError or ValueError."""
        # A new category gets a code that no other has.
        sample = self.encode(x)
        return self.encode_special(x) if sample is None else sample

    def encode_special(self, x: Any) -> EncodedSample:
        """Encode a sample for which `encode` has returned None."""
        ignores_new = () if self.words is None else (True,)
        if type(x) is not dict or ignores_new:
            sample = self.encode(kinds.as_dict(x), *ignores_new)
            if sample is not None:
                return sample
        cautions.warn_of_unknown(x, self)
        mismatches: Mismatches = {}
        row = {
            name: self.encode_value(name, value, mismatches)
            for name, value in self._items(x)
            if self.is_known(name)
        }
        warn_of_mismatches(mismatches, self.warned)
        return self.encode_row(row)

    def encode_value(self, name: Hashable, value: Any, mismatches: Mismatches) -> float:
        # If values of the wrong kind count as missing, one is added to `mismatches`.
        coding = self._categories.get(name)
        is_plain = type(value) in kinds.PLAIN_NUMBERS
        if not is_plain and type(value) is not str:
            value = plain(value)
            if is_missing(value):
                return math.nan
        if is_plain or is_number(name, value):
            number = as_number(name, value)
            if coding is None or number != number:
                return number
            # a warning gives no example, as categories may go in the middle of a block
            example = f"such as {shown(next(iter(coding.codes)))}, " * (not self._fills_mismatches)
            held, advice = f"categories so far, {example}got the number {shown(value)}", "a str"
            return self._missing(name, held, advice, mismatches)
        if coding is None:
            held = f"numbers so far, got {shown(value)} of type {type(value).__name__}"
            return self._missing(name, held, "a number", mismatches)
        return coding.codes.get(value, coding.next_code)

    def _missing(self, name: Hashable, held: str, advice: str, mismatches: Mismatches) -> float:
        """Return a value of the wrong kind as a missing one, or raise ValueError."""
        message = f"feature {shown(name)} has held {held}"
        if not self._fills_mismatches:
            raise InvalidValue(
                f"{message}; pass {advice}, or use another feature name; with "
                'on_mismatch="missing" such values count as missing'
            )
        mismatches.setdefault(name, message)
        return math.nan

    def encode_row(self, row: Row) -> EncodedSample:
        """Return the encoded sample of a row without new features."""
        is_blank = self.words is None
        values = [
            row.get(name, math.nan if is_blank or name in self._categories else 0.0) + 0.0
            for name in self._columns  # -0.0 becomes 0.0, its equal, as in the kernels
        ]
        indices = self.words or {}
        words = [(indices[name], row[name]) for name in row if name in indices]
        self.sample.hold(values, [word for word in words if not math.isnan(word[1])])
        return self.sample

    def mask_unknown(self, row: NDArray[np.float64]) -> None:
        """Set unknown categories of an encoded row to -1, which is the code of none."""
        for name, coding in self._categories.items():
            column = self._columns[name]
            if row[column] == coding.next_code:
                row[column] = -1.0

    # Reading

    def read(self, x: Any, y: Any, weight: float = 1.0) -> Reading:
        """Check a labeled sample, which may warn, and return what is new in it, or raise."""
        reading = self.read_features(x)
        y = self.labels.read(y)
        label = self.labels.find(y)
        if label is None:
            self.labels.check_new(y, self._n_classes)
        wrong = reading.mismatches.items()  # a weight of 0 settles the kind of no feature
        found = {name: m for name, m in wrong if weight > 0.0 or self.is_known(name)}
        warn_of_mismatches(found, self.warned)
        if weight > 0.0 and reading.ignored:
            cautions.warn_of_ignored(reading.ignored, self._max_features, self.warned)
        return reading._replace(y=y, label=label)

    def read_features(self, x: Any) -> Reading:
        """Check a sample, and return what is new in it, or raise TypeError or ValueError."""
        if self.words is not None and (reading := self._read_numbers(x)):
            return reading
        # Each value is read once, as one of an unusual type may change or raise the second time.
        reading = Reading({}, [], [], [], {}, [])
        row = reading.row
        for name, value in self._items(x):
            coding = self._categories.get(name)
            if self.is_known(name):
                row[name] = code = self.encode_value(name, value, reading.mismatches)
                if coding is not None and code == coding.next_code:
                    reading.categories.append((name, plain(value)))
            elif is_missing(value):
                continue  # a feature is added only when its first value comes
            elif self.n_free <= 0:
                reading.ignored.append(name)
            elif is_number(name, value):
                number = as_number(name, value)
                if number == number:
                    row[name] = number
                    reading.numeric.append(plain(name))
            elif not self._fills_mismatches or plain(value) not in MISSING_TEXTS:
                row[name] = 0.0
                reading.categorical.append(plain(name))
                reading.categories.append((plain(name), plain(value)))
        return self._within_bounds(reading)

    def _items(self, x: Any) -> Iterable[tuple[Hashable, Any]]:
        """Return the features of a sample that may be present, with their values."""
        items = kinds.as_dict(x).items()
        return items if self.words is None else [i for i in items if not kinds.is_zero(i[1])]

    def _read_numbers(self, x: Any) -> Reading | None:
        """Read a sample of plain numbers, of which some may be new words; None for any other."""
        types = set(map(type, x.values())) if type(x) is dict else {object}
        if not types <= kinds.PLAIN_NUMBERS:
            return None
        try:
            numbers = {name: float(value) for name, value in x.items()}
        except OverflowError:
            return None
        row = {name: number for name, number in numbers.items() if number != 0.0}
        if not all(map(math.isfinite, row.values())) or not self._categories.keys().isdisjoint(row):
            return None
        return self._within_bounds(Reading(row, self.new_words(row), [], [], {}, []))

    def _within_bounds(self, reading: Reading) -> Reading:
        """Return a reading without the new features for which there is no room."""
        n_new = len(reading.numeric) + len(reading.categorical)
        if n_new == 0:
            return reading
        n_columns, n_free = max(self._max_split_words - len(self), 0), self.n_free
        if n_new <= n_free and len(reading.categorical) <= n_columns:
            return reading
        categorical = sorted(reading.categorical, key=column_order)
        new = sorted(reading.numeric + categorical[:n_columns], key=column_order)
        beyond = new[n_free:]
        ignored = {*categorical[n_columns:], *beyond}
        return Reading(
            row={name: number for name, number in reading.row.items() if name not in ignored},
            numeric=[name for name in reading.numeric if name not in ignored],
            categorical=[name for name in categorical if name not in ignored],
            categories=[pair for pair in reading.categories if pair[0] not in ignored],
            mismatches=reading.mismatches,
            ignored=reading.ignored + beyond,
        )

    def new_words(self, row: Row) -> list[Hashable]:
        """Return the words of a row that are new, in the order of their indices to come."""
        new = [plain(name) for name in row if not self.is_known(name)]
        return sorted(new, key=column_order)

    # Growth

    def add_words(self, words: Iterable[Hashable]) -> None:
        """Add new words; each in one step, as a call may be interrupted between any two."""
        assert self.words is not None
        for word in words:
            self.words[word] = self.n_indices

    def admit(self, reading: Reading) -> tuple[Schema, Row]:
        """Return a schema with all that is new in a sample but words, and the row of the sample."""
        # A category too many for its feature gets the code of another one, and is not kept (`put`).
        # New columns are sorted, so that the order of the keys in a sample does not matter.
        names = reading.categorical + (reading.numeric if self.words is None else [])
        schema = self.with_columns(names, reading.categorical) if names else self
        row = reading.row.copy()
        for name, category in reading.categories:
            coding = schema._categories[name]
            code = coding.code_to_learn(category)
            row[name] = float(code)
            if coding.n_free:
                coding.put(category, code)
        if reading.label is None:
            self.labels.add(reading.y)
        return schema, row

    def with_columns(self, names: list[Hashable], categorical: list[Hashable]) -> Schema:
        names, codings = sorted(names, key=column_order), self._categories.copy()
        for name in sorted(categorical, key=column_order):
            codings[name] = Categories(self._max_categories)
        columns = {name: len(self) + k for k, name in enumerate(names)}
        return self.replacing(_columns=self._columns | columns, _categories=codings)

    def put(self, name: Hashable, category: Hashable, code: float) -> None:
        self._categories[name].put(category, int(code))

    def use(self) -> None:
        """Note that the encoded sample is learned: its categories are those that were used last."""
        row = self.sample.values[0].tolist() if self.bounded else []
        for column, coding in self.bounded:
            coding.use(row[column])

    def use_all(self, rows: NDArray[np.float64]) -> None:
        """Note that encoded rows are learned, in their order."""
        for column, coding in self.bounded:
            latest = dict.fromkeys(rows[::-1, column].tolist())
            for code in reversed(latest):
                coding.use(code)

    def undo(self) -> Callable[[], None]:
        """Return a function that takes away all labels, categories and words added from now on."""
        n_labels, lengths = len(self.labels), [*map(len, self._dicts())]

        def cut() -> None:
            self.labels.truncate(n_labels)
            for codes, length in zip(self._dicts(), lengths, strict=True):
                while len(codes) > length:
                    codes.popitem()

        return cut

    def _dicts(self) -> list[dict[Any, Any]]:
        """Return the dicts that new categories and words are added to in place."""
        dicts: list[dict[Any, Any]] = []
        for coding in self._categories.values():
            dicts += [coding.codes] if coding.bound is None else [coding.codes, coding.used]
        return dicts if self.words is None else [*dicts, self.words]
