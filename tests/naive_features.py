"""The features of the reference: values, observed ranges, categories, and what relevance observes.

`Columns` is the part of a naive forest that knows the features; like the rest of the reference, it
keeps all that it has seen.
"""

import itertools
import math
import numbers
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# observed range of a numeric feature
RECENT = 64  # values kept until outliers among them are dropped
FAR = 30.0  # in widths of the range: values further out are outliers
MAX_DROPPED = 2  # maximum number of values dropped at each end
CREDIT_NEEDED = 5.0  # this many far values in quick succession are believed
CREDIT_LOST = 0.05  # per value inside the range

# relevance
RELEVANCE_FLOOR = 0.003  # EPS
RELEVANCE_MEMORY = 400.0  # delta = 1 - 1 / RELEVANCE_MEMORY
MISSING_TEXTS = {"", "NA", "N/A", "nan", "null", "?", "-"}  # of which no feature consists
LARGEST_TRUST = 1e6  # upper bound for a sample in the statistics of relevance
N_BINS = 16  # for the values of a number
N_BUCKETS = 64  # for the categories of a feature

# linear models and profiles

# Relevance of a feature: from the buckets of its values, the values (None for categories), the
# targets and the weights of its samples.
Measure = Callable[[Sequence[int], Sequence[float] | None, Sequence[Any], Sequence[float]], float]

# missing values
MISSING = object()  # the category that a missing value is
MISSING_CODE = 2**32 - 1
ABSENCE_STEP = 1 / 1024  # of the only value, by which the absence of a number is below it

MASK32 = 0xFFFFFFFF


def fmix32(h: int) -> int:
    """Scramble 32 bits (the finalizer of MurmurHash3)."""
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK32
    return h ^ h >> 16


def category_number(code: int, column: int, tree_key: int) -> float:
    """Place a category in [0, 1), differently in each tree and column (DESIGN.md: categories)."""
    salt = fmix32(int(tree_key) ^ (column * 0x9E3779B9 & MASK32))
    return fmix32(fmix32(code) ^ salt) / 2**32


def is_number(value: Any) -> bool:
    """Whether a value is a number (including bool and numpy scalars), not a category."""
    return isinstance(value, numbers.Real | np.bool_)


def is_missing(value: Any) -> bool:
    """Tell None and NaN from values (DESIGN.md: missing values)."""
    return value is None or (is_number(value) and math.isnan(value))


class ObservedRange:
    """Range of the values of a numeric feature, without outliers.

    The first `RECENT` values are kept, and then the far ones among them are dropped; if almost all
    of them are equal, it waits for more. Once the range is settled, a far value counts only if
    several come in quick succession; until then it is suspect.
    """

    def __init__(self) -> None:
        self.low = math.inf
        self.high = -math.inf
        self.recent: list[float] = []
        self.credit = 0.0
        self.is_settled = False

    def width(self) -> float:
        """Width of the range."""
        return self.high - self.low

    def extend(self, value: float) -> None:
        """Extend the range to include the value."""
        self.low, self.high = min(self.low, value), max(self.high, value)

    def is_far(self, value: float) -> bool:
        """Whether a value might be an outlier."""
        outside = max(self.low - value, value - self.high)
        return self.is_settled and outside > FAR * self.width()

    def winsorize(self, value: float) -> float:
        """Winsorize: move a far value to the end of the range."""
        return min(max(value, self.low), self.high) if self.is_far(value) else value

    def add(self, value: float) -> tuple[bool, bool]:
        """Add a value; return whether it is suspect, and whether earlier ones were dropped."""
        dropped = False
        if not self.is_settled:
            self.recent.append(value)
            self.extend(value)
            if len(self.recent) == RECENT:
                dropped = self._judge()
        elif self.low <= value <= self.high:
            self.credit = max(0.0, self.credit - CREDIT_LOST)
        elif self.is_far(value):
            self.credit += 1
            if self.credit >= CREDIT_NEEDED:
                self.credit = 0.0
                self.extend(value)
        else:
            self.extend(value)
        return not self.low <= value <= self.high, dropped

    def _judge(self) -> bool:
        """Drop the outliers among the recent values; return whether there were any."""
        core = sorted(self.recent)[MAX_DROPPED:-MAX_DROPPED]
        self.is_settled = core[0] < core[-1]
        if not self.is_settled:
            self.recent = [min(self.recent), max(self.recent)]
            return False
        kept = without_outliers(self.recent)
        dropped = kept[0] > self.low or kept[-1] < self.high
        if dropped:
            self.low, self.high = kept[0], kept[-1]
        return dropped


def without_outliers(values: Iterable[float]) -> list[float]:
    """Sort the values, and drop the few at each end that lie far from all others."""
    values = sorted(values)
    width = values[-1 - MAX_DROPPED] - values[MAX_DROPPED]
    n_low = max(
        (k for k in range(1, MAX_DROPPED + 1) if values[k] - values[k - 1] > FAR * width), default=0
    )
    n_high = max(
        (k for k in range(1, MAX_DROPPED + 1) if values[-k] - values[-k - 1] > FAR * width),
        default=0,
    )
    return values[n_low : len(values) - n_high]


@dataclass(eq=False)
class Observation:
    """A value in the statistics of a feature; `number` counts the samples learned, from 1."""

    number: int
    value: Any
    target: tuple[Any, ...]
    weight: float
    bucket: int


class Column:
    """A feature's column: all values seen so far except missing ones, in order of arrival.

    The first value decides once and for all whether the column is numeric or categorical. In a
    categorical column, numbers are categories too; in a numeric one, a category is an error.
    """

    def __init__(
        self,
        name: Hashable,
        index: int,
        first_value: Any,
        max_categories: int | None,
        measure: Measure,
    ) -> None:
        self.name = name
        self.measure = measure
        self.max_categories = max_categories
        self.codes: dict[Any, int] = {}  # of the categories known, in order of arrival
        self.last_uses: dict[Any, int] = {}  # when each was learned last
        self.clock = itertools.count()
        self.index = index
        self.is_categorical = not is_number(first_value)
        self.values: list[Any] = []
        self.range = ObservedRange()
        self.is_suspect = False  # the latest value
        self.observations: list[Observation] = []

    def check(self, value: Any) -> None:
        """Raise ValueError for a category in a numeric column."""
        if not self.is_categorical and not is_number(value):
            raise ValueError(f"feature {self.name!r} is numeric, got {value!r}: give a number")

    def add(self, value: Any) -> bool:
        """Add a value that the trees are about to learn; return whether earlier ones are forgotten.

        Outliers are, and a step between the only value so far and its absence, once there is
        another value.
        """
        had_one = self.stand_in() is not None
        self.values.append(value)
        if self.is_categorical:
            self.admit(value)
            return False
        forgets = had_one and self.stand_in() is None and self.range.width() > 0
        if forgets:
            self.range.low = self.range.high
        self.is_suspect, dropped = self.range.add(float(value))
        if dropped or forgets:
            self.observations = []
        return dropped or forgets

    def add_absence(self) -> None:
        """Note a missing value that the trees are about to learn."""
        if not self.is_categorical and self.stand_in() is not None:
            self.range.extend(self.stand_in())
            self.is_suspect = False

    def stand_in(self) -> Any:
        """Return what a missing value counts as, None if it stays missing."""
        if self.is_categorical:
            return MISSING
        distinct = set(map(float, self.values))
        if len(distinct) != 1:
            return None
        (only,) = distinct
        step = ABSENCE_STEP * abs(only) if only else ABSENCE_STEP
        return max(only - step, -sys.float_info.max)

    def observe(self, number: int, value: Any, target: tuple[Any, ...], weight: float) -> None:
        """Add the latest value to the statistics of relevance once its sample has been learned."""
        if not self.is_suspect:
            self.observations.append(Observation(number, value, target, weight, self.bucket(value)))

    def admit(self, value: Any) -> None:
        """Give a category that is about to be learned a code, perhaps that of another one."""
        if value not in self.codes:
            code = len(self.codes)
            if code == self.max_categories:
                code = self.codes.pop(min(self.codes, key=self.last_uses.__getitem__))
            self.codes[value] = code
        self.last_uses[value] = next(self.clock)

    def winsorize(self, value: Any, kind: str) -> Any:
        """Move an outlier to the end of the range, unless the intensity is "unit"."""
        if self.is_categorical or kind == "unit":
            return value
        return self.range.winsorize(float(value))

    def encode(self, value: Any, tree_key: int) -> float:
        """Turn a value into a tree's number; an unseen category gets a code of its own."""
        if not self.is_categorical:
            return float(value)
        return category_number(self.code(value), self.index, tree_key)

    def code(self, value: Any) -> int:
        """Return the code of a category, for an unseen one a code that no other has."""
        if value is MISSING:
            return MISSING_CODE
        return self.codes.get(value, len(self.codes))

    def place(self, value: Any) -> int:
        """Return the place of a category in linear models and profiles, less one."""
        return -1 if value is MISSING else self.code(value)

    def base_intensity(self, kind: str) -> float:
        """lambda_j before relevance: 1, or one over the range (DESIGN.md: split intensity)."""
        if kind == "unit" or self.is_categorical:
            return 1.0
        width = min(self.range.width(), sys.float_info.max)
        return min(1.0 / width, sys.float_info.max) if width > 0 else 0.0

    def relevance(self, n_learnt: int, part: int = 0) -> float:
        """Tell how much the feature says of a part of the target, from 0 to 1."""
        if not self.observations:
            return 0.0
        remembered = 1 - 1 / RELEVANCE_MEMORY
        weights = [
            min(o.weight, LARGEST_TRUST) * remembered ** (n_learnt - o.number)
            for o in self.observations
        ]
        values = None if self.is_categorical else [float(o.value) for o in self.observations]
        buckets = [o.bucket for o in self.observations]
        targets = [o.target[part] for o in self.observations]
        return self.measure(buckets, values, targets, weights)

    def bucket(self, value: Any) -> int:
        """Return the bucket of a category (by its code) or a number (by its place in the range)."""
        if self.is_categorical:
            return self.code(value) % N_BUCKETS
        if self.range.width() == 0:
            return 0
        place = (value - self.range.low) * self.base_intensity("range") * N_BINS
        return int(place) if place < N_BINS else N_BINS - 1


class Columns:
    """The features of a forest: their columns, and how samples are read."""

    relevance_floor = RELEVANCE_FLOOR

    def __init__(
        self, *, split_intensity: str, max_categories: int | None, on_mismatch: str
    ) -> None:
        if on_mismatch not in ("raise", "missing"):
            raise ValueError(f"on_mismatch is {on_mismatch!r}, not 'raise' or 'missing'")
        if split_intensity not in ("unit", "range", "relevance"):
            raise ValueError(
                f"split_intensity is {split_intensity!r}, not 'unit', 'range' or 'relevance'"
            )
        self.split_intensity = split_intensity
        self.max_categories = max_categories
        self.on_mismatch = on_mismatch
        self.columns: dict[Hashable, Column] = {}
        self.n_learnt = 0

    def measure(
        self,
        buckets: Sequence[int],
        values: Sequence[float] | None,
        targets: Sequence[Any],
        weights: Sequence[float],
    ) -> float:
        """Measure the relevance of a feature to the target; each kind of forest has its own."""
        raise NotImplementedError

    def split_intensities(self, part: int = 0) -> list[float]:
        """lambda_j of each column, by ranges up to now and by relevance up to the last sample.

        Relevance is that for a part of the target (DESIGN.md: relevance).
        """
        columns = self.columns.values()
        base = [column.base_intensity(self.split_intensity) for column in columns]
        if self.split_intensity != "relevance" or not base:
            return base
        raised = [
            self.relevance_floor + column.relevance(self.n_learnt, part) for column in columns
        ]
        mean = math.fsum(raised) / len(raised)
        return [
            min(lam * (r / mean), sys.float_info.max) for lam, r in zip(base, raised, strict=True)
        ]

    def encode(self, x: dict[Hashable, Any], tree_key: int) -> dict[int, float]:
        """Map the column of each known feature that is present in x to a tree's number."""
        x = self.without_mismatches(x)
        self.check_features(x)
        return self.encode_known(self.winsorize(x), tree_key)

    def encode_known(self, x: dict[Hashable, Any], tree_key: int) -> dict[int, float]:
        """Map the columns of a sample that is winsorized and has no values of the wrong kind."""
        return {
            column.index: column.encode(x[name], tree_key)
            for name, column in self.columns.items()
            if not is_missing(x.get(name))
        }

    def winsorize(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Move the outliers of a sample to the ends of the ranges, and fill missing values."""
        return {
            name: self.columns[name].winsorize(value, self.split_intensity)
            if name in self.columns and not is_missing(value)
            else value
            for name, value in self.filled(x).items()
        }

    def filled(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Fill in what missing values count as (DESIGN.md: missing values)."""
        stand_ins = {
            name: column.stand_in()
            for name, column in self.columns.items()
            if is_missing(x.get(name))
        }
        return x | stand_ins

    def without_mismatches(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Leave out values of the wrong kind, if they count as missing (DESIGN.md: kinds)."""
        if self.on_mismatch == "raise":
            return x
        fitting = {}
        for name, value in x.items():
            if is_missing(value):
                continue
            if name in self.columns:
                fits = self.columns[name].is_categorical != is_number(value)
            else:
                fits = value not in MISSING_TEXTS
            if fits:
                fitting[name] = value
        return fitting

    def check_features(self, x: dict[Hashable, Any]) -> None:
        """Raise ValueError for a category in a numeric column."""
        for name, value in x.items():
            if name in self.columns and not is_missing(value):
                self.columns[name].check(value)

    def admit_categories(self, x: dict[Hashable, Any]) -> None:
        """Give the categories of known columns that are about to be learned their codes."""
        for name, column in self.columns.items():
            if column.is_categorical and not is_missing(x.get(name)):
                column.admit(x[name])

    def add_values(self, x: dict[Hashable, Any]) -> list[int]:
        """Add the values of x; return the columns whose earlier ones are forgotten.

        The order of new columns does not depend on that of the dict.
        """
        dropped = []
        present = {name: value for name, value in x.items() if not is_missing(value)}
        for name in sorted(present, key=lambda name: (type(name).__name__, repr(name))):
            if name not in self.columns:
                self.columns[name] = Column(
                    name, len(self.columns), present[name], self.max_categories, self.measure
                )
            if self.columns[name].add(present[name]):
                dropped.append(self.columns[name].index)
        for name, column in self.columns.items():
            if name not in present:
                column.add_absence()
        return dropped

    def observe(self, x: dict[Hashable, Any], y: tuple[Any, ...], w: float) -> None:
        """Note a sample in the statistics of relevance once it has been learned.

        `y` has the parts of the target that are told apart.
        """
        self.n_learnt += 1
        for name, column in self.columns.items():
            if not is_missing(x.get(name)):
                column.observe(self.n_learnt, x[name], y, w)
