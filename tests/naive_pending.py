"""Pending predictions (DESIGN.md: delayed labels), as a list of all there were."""

from typing import Any, NamedTuple

DELAY_SCALE = 10.0  # a delay of so many samples halves the rates of what learns from it


class Prediction(NamedTuple):
    """A prediction for a row when the forest had learned so many samples."""

    row: dict  # values by column, -1 for a new category
    n_learned: int
    votes: Any


class Pending:
    """The list of predictions whose labels have not come, from the oldest to the newest."""

    def __init__(self, most):
        self.most = most
        self.list = []

    def note(self, row, n_learned, votes):
        """Add a prediction; it takes the place of the same one, and perhaps of the oldest."""
        if self.most:
            self.take_back(row, n_learned)
            self.list.append(Prediction(row, n_learned, votes))
            self.list = self.list[-self.most :]

    def take_back(self, row, n_learned):
        """Remove the prediction of a row since which nothing was learned; return whether it was."""
        n_before = len(self.list)
        self.list = [p for p in self.list if (p.row, p.n_learned) != (row, n_learned)]
        return len(self.list) < n_before

    def take(self, row, n_learned, *, at_once):
        """Take out the oldest of a row, unless its label comes at once: then none is left."""
        of_row = [p for p in self.list if p.row == row]
        if at_once or any(p.n_learned == n_learned for p in of_row):
            self.list = [p for p in self.list if p.row != row]
            return None
        if of_row:
            self.list = [p for p in self.list if p is not of_row[0]]
        return of_row[0] if of_row else None
