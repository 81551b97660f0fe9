"""The features of the reference: values, observed ranges, categories and relevance.

`Columns` is the part of a naive forest that reads samples; like all of the reference, it keeps
everything that it has seen.
"""

import itertools
import math
import numbers
import sys
from dataclasses import dataclass, field

import numpy as np
from pandas._libs.parsers import STR_NA_VALUES

# observed range of a numeric feature
RECENT = 64  # values kept until outliers among them are dropped
FAR = 30.0  # in widths of the range: values further out are outliers
MAX_DROPPED = 2  # maximum number of values dropped at each end
CREDIT_NEEDED = 5.0  # this many far values in quick succession extend the range
CREDIT_LOST = 0.05  # per value inside the range
N_PARTS = 16  # of the range

# relevance
RELEVANCE_FLOOR = 0.003  # EPS
RELEVANCE_MEMORY = 400.0  # delta = 1 - 1 / RELEVANCE_MEMORY
LARGEST_CAPPED = 1e6  # upper bound for the weight of a sample
N_BUCKETS = 64  # for the categories of a feature

# missing values
MISSING = object()  # the category that a missing value is
MISSING_CODE = 2**32 - 1
MISSING_TEXTS = STR_NA_VALUES | {"?", "-"}  # settle no kind
ABSENCE_STEP = 1 / 1024  # of the only value, by which the absence of a number is below it

LARGEST = sys.float_info.max
MASK32 = 0xFFFFFFFF


def fmix32(h):
    """Scramble 32 bits (the finalizer of MurmurHash3)."""
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK32
    return h ^ h >> 16


def category_number(code, column, tree_key):
    """Place a category in [0, 1), differently in each tree and column (DESIGN.md: categories)."""
    salt = fmix32(int(tree_key) ^ (column * 0x9E3779B9 & MASK32))
    return fmix32(fmix32(code) ^ salt) / 2**32


def is_number(value):
    """Return whether a value is a number (bool and numpy scalars included), not a category."""
    return isinstance(value, numbers.Real | np.bool_)


def is_missing(value):
    """Return whether a value is None or NaN (DESIGN.md: missing values)."""
    return value is None or (is_number(value) and math.isnan(value))


class ObservedRange:
    """Range of the values of a numeric feature, without outliers.

    The first `RECENT` values are kept, and then the far ones among them are dropped; if almost all
    of them are equal, this is put off. Once the range is fixed, a far value counts only if
    several come in quick succession; until then it is suspect.
    """

    def __init__(self):
        self.low, self.high = math.inf, -math.inf
        self.recent = []
        self.credit = 0.0
        self.is_fixed = False

    def width(self):
        return self.high - self.low

    def extend(self, value):
        self.low, self.high = min(self.low, value), max(self.high, value)

    def is_far(self, value):
        """Return whether a value might be an outlier."""
        outside = max(self.low - value, value - self.high)
        return self.is_fixed and outside > FAR * self.width()

    def winsorize(self, value):
        """Move a far value to the end of the range."""
        return min(max(value, self.low), self.high) if self.is_far(value) else value

    def add(self, value):
        """Add a value; return whether it is suspect, and whether earlier ones were dropped."""
        dropped = False
        if not self.is_fixed:
            self.recent.append(value)
            self.extend(value)
            if len(self.recent) == RECENT:
                dropped = self._fix()
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

    def _fix(self):
        """Drop the outliers among the recent values; return whether there were any."""
        values = sorted(self.recent)
        core = values[MAX_DROPPED:-MAX_DROPPED]
        width = core[-1] - core[0]
        self.is_fixed = width > 0
        if not self.is_fixed:
            self.recent = [values[0], values[-1]]
            return False
        for k in range(MAX_DROPPED, 0, -1):  # the first gap from within
            if values[k] - values[k - 1] > FAR * width:
                self.low = max(self.low, values[k])
            if values[-k] - values[-k - 1] > FAR * width:
                self.high = min(self.high, values[-k - 1])
        return self.low > values[0] or self.high < values[-1]


@dataclass(eq=False)
class Column:
    """A feature's column.

    The first value decides whether the column is numeric or categorical. In a categorical column,
    numbers are categories too; in a numeric one, a category is an error.
    """

    index: int
    is_categorical: bool
    forest: "Columns"
    numbers: set = field(default_factory=set)  # all values so far, if they are numbers
    range: ObservedRange = field(default_factory=ObservedRange)
    is_suspect: bool = False  # the latest value
    observations: list = field(default_factory=list)
    codes: dict = field(default_factory=dict)  # of the present categories, in order of arrival
    last_uses: dict = field(default_factory=dict)  # when each category was learned last
    clock: itertools.count = field(default_factory=itertools.count)
    learned: set = field(default_factory=set)  # codes
    n_present: int = 0
    n_absent: int = 0

    def add(self, value):
        """Add a value that the trees are about to learn; return whether earlier ones are forgotten.

        Outliers are, and a step between the only value so far and its absence, once there is
        another value.
        """
        had_one = self.stand_in() is not None
        self.n_present += 1
        if self.is_categorical:
            self.admit(value)
            self.learned.add(self.code(value))
            return False
        self.numbers.add(float(value))
        forgets = had_one and self.stand_in() is None and self.range.width() > 0
        if forgets:
            self.range.low = self.range.high
        self.is_suspect, dropped = self.range.add(float(value))
        if dropped or forgets:
            self.observations = []
        return dropped or forgets

    def add_absence(self):
        self.n_absent += 1
        self.learned.add(MISSING_CODE)
        if not self.is_categorical and self.stand_in() is not None:
            self.range.extend(self.stand_in())
            self.is_suspect = False

    def stand_in(self):
        """Return what a missing value counts as, None if it stays missing."""
        if self.is_categorical:
            return MISSING
        if len(self.numbers) != 1:
            return None
        (only,) = self.numbers
        return max(only - ABSENCE_STEP * (abs(only) or 1.0), -LARGEST)

    def admit(self, value):
        """Give a category that is about to be learned a code, perhaps that of another one."""
        if value not in self.codes:
            code = len(self.codes)
            if code == self.forest.max_categories:
                code = self.codes.pop(min(self.codes, key=self.last_uses.__getitem__))
            self.codes[value] = code
        self.last_uses[value] = next(self.clock)

    def winsorize(self, value):
        """Move an outlier to the end of the range, unless the intensity is "unit"."""
        if self.is_categorical or self.forest.split_intensity == "unit":
            return value
        return self.range.winsorize(float(value))

    def code(self, value):
        """Return the code of a category; a new one gets a code that no other has."""
        return MISSING_CODE if value is MISSING else self.codes.get(value, len(self.codes))

    def encode(self, value, tree_key):
        if not self.is_categorical:
            return float(value)
        return category_number(self.code(value), self.index, tree_key)

    def is_unseen(self, value):
        """Return whether a value, perhaps `MISSING`, is a category that was not learned."""
        if value is MISSING:
            return self.n_absent == 0
        return self.is_categorical and value not in self.codes

    def surprise(self, value):
        """Return what is unusual about a value, which may be None, or nothing."""
        if self.is_categorical:
            return None if self.code(MISSING if value is None else value) in self.learned else "new"
        is_gap = value is None and self.stand_in() is None and self.n_present > self.n_absent
        return "gap" if is_gap else None

    def category_index(self, value):
        """Return the index of a category in linear models and profiles, less one."""
        return -1 if value is MISSING else self.code(value)

    def place_in_range(self, value):
        """Return where in the range a number is, from 0 to 16."""
        width = self.range.width()
        if not (width > 0 and math.isfinite(width)):
            return 0.0
        return min(max(N_PARTS * ((value - self.range.low) / width), 0.0), float(N_PARTS))

    def base_intensity(self, kind):
        """Return lambda_j before relevance: 1, or 1 / range (DESIGN.md: split intensity)."""
        if kind == "unit" or self.is_categorical:
            return 1.0
        width = min(self.range.width(), LARGEST)
        return min(1.0 / width, LARGEST) if width > 0 else 0.0

    def observe(self, number, value, target, weight):
        """Add the latest value to the statistics of relevance once its sample was learned.

        `number` counts the samples learned, from 1.
        """
        if not self.is_suspect:
            self.observations.append((number, value, target, weight, self.bucket(value)))

    def bucket(self, value):
        """Return the bucket of a category (by its code) or a number (by position in its range)."""
        if self.is_categorical:
            return self.code(value) % N_BUCKETS
        if self.range.width() == 0:
            return 0
        position = (value - self.range.low) * self.base_intensity("range") * N_PARTS
        return int(position) if position < N_PARTS else N_PARTS - 1

    def relevance(self, n_learned, part=0):
        """Return the relevance of the feature to a part of the target, from 0 to 1."""
        if not self.observations:
            return 0.0
        numbers, values, targets, weights, buckets = zip(*self.observations, strict=True)
        weights = [
            min(w, LARGEST_CAPPED) * (1 - 1 / RELEVANCE_MEMORY) ** (n_learned - number)
            for number, w in zip(numbers, weights, strict=True)
        ]
        values = None if self.is_categorical else [*map(float, values)]
        return self.forest.measure(buckets, values, [t[part] for t in targets], weights)


@dataclass(frozen=True)
class Row:
    """A sample without outliers, as linear experts and trends take it.

    `numbers` has all numeric columns, with None where the sample has no value; `categories` the
    indices of the categories in the columns that are present. `positions` has that in [0, 16] of
    each number in its range from before the sample, 0 if there is none.
    """

    n_columns: int
    numbers: dict
    categories: dict
    positions: dict


class Columns:
    """The features of a forest: their columns, and how samples are read.

    A forest defines `split_intensity`, `max_categories`, `max_features`, `on_mismatch`, and a
    function `measure`: the relevance that follows from the buckets of a feature's values, the
    values (None for categories), the targets and the weights of its samples.
    """

    relevance_floor = RELEVANCE_FLOOR

    def __init__(self):
        self.columns = {}
        self.n_learned = 0

    def split_intensities(self, part=0):
        """Return lambda_j of each column, by ranges up to now and relevance up to the last sample.

        Relevance is that to a part of the target (DESIGN.md: relevance).
        """
        columns = self.columns.values()
        base = [column.base_intensity(self.split_intensity) for column in columns]
        if self.split_intensity != "relevance" or not base:
            return base
        raised = [self.relevance_floor + c.relevance(self.n_learned, part) for c in columns]
        mean = math.fsum(raised) / len(raised)
        return [min(lam * (r / mean), LARGEST) for lam, r in zip(base, raised, strict=True)]

    def encode(self, x, tree_key):
        return self.encode_tame(self.winsorize(self.checked(x)), tree_key)

    def encode_tame(self, x, tree_key):
        """Map the columns of a sample that is winsorized and has no values of the wrong kind."""
        return {
            column.index: column.encode(x[name], tree_key)
            for name, column in self.columns.items()
            if not is_missing(x.get(name))
        }

    def winsorize(self, x):
        """Fill missing values, and move the outliers of a sample to the ends of the ranges."""
        return {
            name: self.columns[name].winsorize(value)
            if name in self.columns and not is_missing(value)
            else value
            for name, value in self.filled(x).items()
        }

    def surprises(self, x):
        """Return what is unusual about a sample: a category that was not learned, or a gap."""
        x = self.checked(x)
        return {column.surprise(x.get(name)) for name, column in self.columns.items()} - {None}

    def filled(self, x):
        """Fill in what missing values count as (DESIGN.md: missing values)."""
        stand_ins = {
            name: c.stand_in() for name, c in self.columns.items() if is_missing(x.get(name))
        }
        return x | stand_ins

    def checked(self, x):
        """Return a sample without missing values; one of the wrong kind is an error, or missing."""
        fitting = {}
        for name, value in x.items():
            if is_missing(value):
                continue
            column = self.columns.get(name)
            if self.on_mismatch == "missing":
                if column is None:
                    fits = value not in MISSING_TEXTS
                else:
                    fits = column.is_categorical != is_number(value)
                if not fits:
                    continue
            elif column and not column.is_categorical and not is_number(value):
                raise ValueError(f"feature {name!r} is numeric, got {value!r}")
            fitting[name] = value
        return fitting

    def admit_categories(self, x):
        """Give the categories of present columns that are about to be learned their codes."""
        for name, column in self.columns.items():
            if column.is_categorical and name in x:
                column.admit(x[name])

    def add_values(self, x):
        """Add the values of x; return the columns whose earlier ones are forgotten.

        The order of new columns does not depend on that of the dict.
        """
        dropped = []
        for name in sorted(x, key=lambda name: (type(name).__name__, repr(name))):
            if name not in self.columns:
                if len(self.columns) == self.max_features:
                    continue
                self.columns[name] = Column(len(self.columns), not is_number(x[name]), self)
            if self.columns[name].add(x[name]):
                dropped.append(self.columns[name].index)
        for name, column in self.columns.items():
            if name not in x:
                column.add_absence()
        return dropped

    def observe(self, x, target, w):
        """Note a sample in the statistics of relevance once it was learned.

        `target` has the parts of the target to each of which relevance is measured.
        """
        self.n_learned += 1
        for name, column in self.columns.items():
            if not is_missing(x.get(name)):
                column.observe(self.n_learned, x[name], target, w)

    def positions(self, x):
        """Return the positions of the numbers of a winsorized sample in their ranges of now."""
        return {
            column.index: column.place_in_range(float(x[name]))
            for name, column in self.columns.items()
            if not column.is_categorical and not is_missing(x.get(name))
        }

    def row(self, x, positions):
        """Return a winsorized sample as linear experts and trends take it."""
        numbers, categories = {}, {}
        for name, column in self.columns.items():
            value = x.get(name)
            if not column.is_categorical:
                numbers[column.index] = None if is_missing(value) else float(value)
            elif not is_missing(value):
                categories[column.index] = column.category_index(value)
        positions = {j: positions.get(j, 0.0) for j in numbers}
        return Row(len(self.columns), numbers, categories, positions)

    def pending_row(self, x):
        """Return a sample without missing values; all new categories have the same code."""
        present = [(self.columns[n], v) for n, v in self.checked(x).items() if n in self.columns]
        return {
            c.index: c.codes.get(v, len(c.codes)) if c.is_categorical else float(v)
            for c, v in present
        }
