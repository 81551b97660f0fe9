"""What independent forests lose that share a stream, as in `PartitionedForest`. Prints Markdown.

    python tests/benchmarks/partitioned.py                     # 1, 2, 4 and 8 partitions
    python tests/benchmarks/partitioned.py --streams elec2 --partitions 2

Test-then-train accuracy of `AdaptiveAMFClassifier`, in blocks of 1,000 rows, over the first 50 000
of a stream, mean of the seeds. A partition has ten trees. The forests beside it see all rows: one
has as many trees as one partition, the other as many as all of them. The partitions are all in this
process, without Ray; a test makes sure that over Ray the predictions are the same.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import command
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from streams import available
from trees import frame_of

from river_amf import AdaptiveAMFClassifier, frames, sparse_rows
from river_amf.partitions import Dealer, Partition, mean_numbers, mean_proba, new_partitions
from river_amf.settings import has_words

STREAMS = ("letter", "elec2", "weather", "rialto")
N_PARTITIONS = (1, 2, 4, 8)
N_TREES = 10
ROWS = 1000  # of a block


class Together:
    """What `PartitionedForest` does, with all partitions in this process."""

    def __init__(self, model: Any, n_partitions: int) -> None:
        self._model = model
        self._dealer = Dealer(model, n_partitions)
        self._partitions = [Partition(state) for state in new_partitions(model, n_partitions)]

    @property
    def models(self) -> list[Any]:
        """The forests."""
        return [partition.model for partition in self._partitions]

    def _deal(self, X: Any, y: Any, w: Any) -> Any:
        frame = self._model._frame_of(X)
        table = sparse_rows.read_rows(X) if has_words(self._model) else frames.read_columns(frame)
        weights = frames.read_weights(w, len(frame))
        return self._dealer.deal(table, self._model._read_labels(y, len(frame)), weights)

    def learn(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn a block."""
        block = self._deal(X, y, w).block
        for partition in self._partitions:
            assert partition.learn(block) is None

    def predict_then_learn(self, X: Any, y: Any, w: Any = None) -> NDArray[np.float64]:
        """Predict the target of each row of a block, then learn it."""
        dealt = self._deal(X, y, w)
        answers = [p.answer_and_learn(dealt.block, 0.0) for p in self._partitions]
        return mean_numbers(answers, len(X))

    def predict_proba_then_learn(self, X: Any, y: Any, w: Any = None) -> pd.DataFrame:
        """Predict the probabilities of each row of a block, then learn it."""
        dealt = self._deal(X, y, w)
        answers = [p.answer_and_learn(dealt.block, 0.0) for p in self._partitions]
        proba = mean_proba(answers, dealt.labels, len(X))
        proba[dealt.n_known == 0] = np.nan
        return pd.DataFrame(proba, columns=pd.Index(dealt.labels, dtype=object))


def blocks_of(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a stream in blocks."""
    for start in range(0, len(X), ROWS):
        yield X[start : start + ROWS], y[start : start + ROWS]


def accuracy(predict: Any, X: pd.DataFrame, y: pd.Series) -> float:
    """Return the share of rows whose label is the most probable one before it is learned."""
    n_right = 0
    for rows, labels in blocks_of(X, y):
        proba = predict(rows, labels)
        best = proba.columns.to_numpy()[np.nan_to_num(proba.to_numpy(), nan=-1.0).argmax(axis=1)]
        is_predicted = proba.notna().any(axis=1).to_numpy()
        n_right += int((best == labels.to_numpy())[is_predicted].sum())
    return n_right / (len(X) - 1)  # the first row has no prediction


def forest(n_trees: int, seed: int) -> AdaptiveAMFClassifier:
    """Return a new forest."""
    return AdaptiveAMFClassifier(n_estimators=n_trees, seed=seed)


def run(name: str, data: Path, partitions: list[int], seeds: list[int]) -> None:
    """Print the rows of a stream."""
    X, y = frame_of(name, data)
    alone: dict[int, float] = {}  # by number of trees

    def of_one(n_trees: int) -> float:
        if n_trees not in alone:
            alone[n_trees] = statistics.mean(
                accuracy(forest(n_trees, seed).predict_proba_then_learn_many, X, y)
                for seed in seeds
            )
        return alone[n_trees]

    for n in partitions:
        shared = statistics.mean(
            accuracy(Together(forest(N_TREES, seed), n).predict_proba_then_learn, X, y)
            for seed in seeds
        )
        cells = f"{shared:.4f} | {of_one(N_TREES):.4f} | {of_one(N_TREES * n):.4f}"
        print(f"| {name} | {n} | {cells} |", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    parser.add_argument(
        "--seeds", type=command.wholes, default=[1], metavar="1,2", help="default: 1"
    )
    parser.add_argument(
        "--partitions",
        type=command.wholes,
        default=[*N_PARTITIONS],
        metavar="2,4",
        help="default: 1,2,4,8",
    )
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    if not names:
        return 1
    print("| stream | partitions | their mean | one forest, 10 trees | one forest, as many trees |")
    print("|---|---|---|---|---|")
    for name in names:
        run(name, arguments.data, arguments.partitions, arguments.seeds)
    return 0


if __name__ == "__main__":
    command.run(main)
