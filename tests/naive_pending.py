"""Pending predictions (DESIGN.md: delayed labels), as a list of all there were."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from naive_features import Columns, is_missing

DELAY_SCALE = 10.0  # a delay of so many samples halves the rates of what judges


Row = dict[int, float]  # the values of a sample by column, as far as these are known


@dataclass(eq=False)
class Prediction:
    """What was predicted for a row when the forest had learned so many samples."""

    row: Row
    n_learned: int
    votes: Any


class Pending:
    """The list of predictions whose labels have not come, from the oldest to the newest."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.list: list[Prediction] = []

    def note(self, row: Row, n_learned: int, votes: Any) -> None:
        """Add a prediction; it takes the place of the same one, and perhaps of the oldest."""
        if self.most:
            self.take_back(row, n_learned)
            self.list.append(Prediction(row, n_learned, votes))
            self.list = self.list[-self.most :]

    def take_back(self, row: Row, n_learned: int) -> bool:
        """Remove the prediction of a row since which nothing was learned."""
        n_before = len(self.list)
        self.list = [p for p in self.list if (p.row, p.n_learned) != (row, n_learned)]
        return len(self.list) < n_before

    def take(self, row: Row, n_learned: int, *, at_once: bool) -> Prediction | None:
        """Take out the oldest of a row, unless its label comes at once: then none is left."""
        found = [p for p in self.list if p.row == row]
        if at_once or any(p.n_learned == n_learned for p in found):
            self.list = [p for p in self.list if p.row != row]
            return None
        if found:
            self.list = [p for p in self.list if p is not found[0]]
        return found[0] if found else None


def row_of(columns: Columns, x: dict[Hashable, Any]) -> Row:
    """Return a sample without missing values, in which -1 is an unknown category."""
    row = {}
    for name, value in columns.without_mismatches(x).items():
        column = columns.columns.get(name)
        if column is None or is_missing(value):
            continue
        if not column.is_categorical:
            row[column.index] = float(value)
        else:
            row[column.index] = column.codes.get(value, -1)
    return row
