"""Pending predictions (DESIGN.md: delayed labels), as a list of those that may be found."""

import math
from dataclasses import dataclass
from typing import Any

RATE = 0.02  # of the mean lateness
AT_ONCE = 1.0  # a smaller mean is none
UNKNOWN, FEW = 1000.0, 20  # the lateness from so many samples on, as long as no label has had one
MEMORIES = 5.0  # that what learns has at least, in latenesses
ERRORS_KEPT = 30.0  # lateness at which recent errors count 1 / e

DELAY_SCALE = 10.0  # a delay of so many samples halves the rates of what learns from it
LARGEST_DELAY = 100.0

FIT, MISFIT = 2, -2  # what a label adds to the confidence in the expected delay
CONFIDENT, MOST_CONFIDENCE = 8, 16
PATIENCE = 5  # labels without an equal row before a similar one is looked for
EVERY = 16  # such labels between two looks at all rows
N_AROUND = 32  # rows on each side of the expected one, which a row is compared with
SIMILAR = 0.5  # of the mean distance of these rows
LEAST_SURPLUS = 8  # labels in favor of another delay, on balance, before it is the expected one
N_KEPT = 256  # taken predictions that are kept, and 2 for each that waits


def slowed(weight, delay):
    """Return the weight of a label in what learns from its prediction."""
    return weight / (1 + min(delay, LARGEST_DELAY) / DELAY_SCALE)


def slowed_rate(rate, lateness):
    """Return the rate of a mean that nothing makes faster than labels come."""
    return rate / (1 + MEMORIES * rate * lateness)


def slowed_decay(decay, lateness):
    """Return the decay of such a sum."""
    return 1 - slowed_rate(1 - decay, lateness) if lateness > 0 else decay


@dataclass
class Prediction:
    """A prediction for a row when the forest had learned so many samples."""

    row: dict  # values by column
    n_learned: int
    votes: Any
    number: int
    n_predicted: int
    level: float | None
    is_taken: bool = False


def distance(row, other, columns):
    """Return the mean difference over columns in units of their ranges, 1 if few are shared."""
    total = n = 0
    for j in sorted(row.keys() & other.keys()):
        width = math.inf if columns[j].is_categorical else columns[j].range.width()
        difference = abs(row[j] - other[j])
        if columns[j].is_categorical or not width > 0:
            total += row[j] != other[j]
        else:
            share = difference / width if difference < math.inf else 1
            total += share if share < 1 else 1
        n += 1
    return total / n if n and 2 * n >= min(len(row), len(other)) else 1


class Pending:
    """The list of predictions, from the oldest to the newest."""

    def __init__(self, most):
        self.most = most
        self.list = []
        self.newest = self.last = -1  # numbers of the newest, and of the last found where expected
        self.expected = 0  # how many were made since, then
        self.is_fresh = False  # whether one was made since the last label
        self.confidence = 0
        self.n_predicted = 0
        self.mean_lateness = self.newest_lateness = None
        self.n_missed = 0
        self.offset = self.n_offset = 0  # of the nearest row, and how often it was there

    def lateness(self, n_learned):
        if not self.most:
            return 0.0
        if self.mean_lateness is None:
            return UNKNOWN if n_learned >= FEW else 0.0
        return self.mean_lateness if self.mean_lateness >= AT_ONCE else 0.0

    def count_lateness(self):
        newest, self.newest_lateness = self.newest_lateness, None
        if newest is not None:
            mean = self.mean_lateness
            self.mean_lateness = newest if mean is None else mean + RATE * (newest - mean)

    def waiting(self):
        return [p for p in self.list if not p.is_taken]

    def note(self, row, n_learned, votes, level=None):
        """Add a prediction, or again that of the same row right before.

        Once labels are late, a regressor that is asked again for the same quantiles predicts
        another row.
        """
        if not self.most:
            return
        is_late = self.mean_lateness is not None and self.mean_lateness >= AT_ONCE
        is_another = is_late and level is not None and self.list and self.list[-1].level == level
        if self._is_newest(row, n_learned) and not is_another:
            self.list[-1].votes = votes
            self.last = min(self.last, self.newest - 1)
            return
        self.is_fresh = True
        self.newest += 1
        self.n_predicted += 1
        more = votes, self.newest, self.n_predicted, level
        self.list.append(Prediction(row, n_learned, *more))
        self._shorten()

    def _is_newest(self, row, n_learned):
        newest = self.list[-1] if self.list else None
        same = newest is not None and (newest.row, newest.n_learned) == (row, n_learned)
        return same and not newest.is_taken

    def _shorten(self):
        def has_many():
            return len(self.list) > N_KEPT + 2 * len(self.waiting())

        while len(self.list) > self.most or (has_many() and self.list[0].is_taken):
            self.list.pop(0)

    def _learn(self, evidence):
        self.confidence = min(max(self.confidence + evidence, 0), MOST_CONFIDENCE)

    def find(self, row, n_learned, columns):
        """Take out the prediction of a row; return None if there is none, or its label at once."""
        found = self._find(row, n_learned, columns)
        self.is_fresh = False
        return found

    def _find(self, row, n_learned, columns):
        waiting, self.newest_lateness = self.waiting(), None
        if not waiting:
            return None
        newest = self.list[-1]
        if len(waiting) == 1 and self._is_newest(row, n_learned):
            self.n_missed = 0
            found = newest
        else:
            number = max(self.last + 1, self.newest - self.expected)
            expected = next((p for p in self.list if p.number == number), None)
            found = self._equal(row, n_learned, expected, number)
            found = found or self._similar(row, expected, columns)
        if found is None:
            return None
        since = self.n_predicted - found.n_predicted
        self.newest_lateness = (n_learned - found.n_learned + since) / 2
        found.is_taken = True
        if found is newest and found.n_learned == n_learned:
            self.list.pop()
            self.newest -= 1
            self.last = min(self.last, self.newest)
        self._shorten()
        return found if found.n_learned < n_learned else None

    def _equal(self, row, n_learned, expected, number):
        equal = [p for p in self.waiting() if p.row == row]
        fits = expected is not None and expected.row == row
        if not equal and not fits:
            return None
        self.n_missed = 0
        self._learn(FIT if fits else MISFIT)
        if fits:
            found = expected
            self._expect(found)
        elif self.confidence >= CONFIDENT:
            found = min(equal, key=lambda p: abs(p.number - number))
        else:
            found = equal[0]
            of_row = [p for p in self.list if p.row == row]
            self._expect(of_row[n_learned % len(of_row)])
        if self.confidence >= CONFIDENT:
            for p in equal:
                p.is_taken |= p.number < found.number
        return found

    def _expect(self, prediction):
        """Expect that this is the prediction of the label; the next one follows it."""
        self.last = prediction.number
        back = self.newest - prediction.number
        self.expected = back if self.is_fresh else max(back, self.expected)

    def _similar(self, row, expected, columns):
        self.n_missed += 1
        if self.n_missed <= PATIENCE:
            return None
        if self.confidence < CONFIDENT and self.n_missed % EVERY == 0:
            distances = [distance(row, p.row, columns) for p in self.list]
            nearest = self.list[distances.index(min(distances))]
            if nearest is not expected:
                self.confidence = 0
                self._expect(nearest)
            return None
        if expected is None:
            self._learn(MISFIT)
            return None
        at = self.list.index(expected)
        around = self.list[max(at - N_AROUND, 0) : at + N_AROUND + 1]
        distances = [distance(row, p.row, columns) for p in around]
        own = distance(row, expected.row, columns)
        mean = sum(distances) / len(distances)
        if own > SIMILAR * mean:
            self._learn(MISFIT)
            return None
        nearest = around[distances.index(min(distances))]
        if own == min(distances):
            self._learn(FIT)
        if own == min(distances) or min(distances) > SIMILAR * own:
            nearest = expected
        if self._is_to_move(nearest.number - expected.number):
            expected = nearest
        self._expect(expected)
        return expected if self.confidence >= CONFIDENT else None

    def _is_to_move(self, offset):
        if offset and offset == self.offset:
            self.n_offset += 1
        elif self.n_offset:
            self.n_offset -= 1
        else:
            self.offset = offset
        if self.n_offset < LEAST_SURPLUS:
            return False
        self.n_offset = 0
        return True
