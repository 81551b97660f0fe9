"""What a page shows of a classifier, recorded along a stream: hits, losses, confusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base

from river_amf.encoding import column_order
from river_amf.evaluation.predictors import Answer
from river_amf.evaluation.recording import Recorder, Steps, Sums
from river_amf.importance import feature_index
from river_amf.pages.records import OTHERS

N_BINS = 20  # of confidence, from 0 to 1
_MOST_LABELS = 100  # with rows of their own in the matrix of confusion
_LEAST = 1e-15  # probability, as in the metric


class LabelRecorder(Recorder):
    """Records a classifier.

    What counts is what `Scores` counts: a sample without a prediction is not scored, and one whose
    label is new to the stream has no loss unless the prediction names it.
    """

    def __init__(self, model: base.Estimator, steps: Steps) -> None:
        super().__init__(model, steps)
        self._seen: set[Hashable] = set()
        self._pairs: list[tuple[Hashable, Hashable]] = []
        self._hits: list[bool] = []
        self._losses: list[float] = []  # probabilities of the labels that came
        self._confidences: list[tuple[float, bool]] = []
        self._bins = np.zeros((3, N_BINS))  # samples, sums of confidence, hits
        self._kept: set[Hashable] = set()
        self._confusion: Counter[tuple[Hashable, Hashable]] = Counter()

    def _note(self, n: int, y: Any, answer: Answer) -> None:
        label, proba = answer.prediction, answer.beside
        if label is not None:
            hit = bool(label == y)
            self._hits.append(hit)
            self._pairs.append((y, label))
            self._note_error(1.0 - hit)
            if proba and label in proba:
                self._confidences.append((proba[label], hit))
        if proba:
            p = proba.get(y)
            if p is not None or y in self._seen:
                self._losses.append(p or 0.0)
        self._seen.add(y)

    def _sums(self) -> Sums:
        p = np.clip(np.array(self._losses, dtype=np.float64), _LEAST, 1.0 - _LEAST)
        sums = {
            "n_scored": len(self._hits),
            "n_hits": sum(self._hits),
            "n_losses": len(p),
            "losses": float(-np.log(p).sum()),
        }
        self._count_confidences()
        self._count_pairs()
        self._hits.clear()
        self._losses.clear()
        return sums

    def _metrics(self, table: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.float64]]]:
        yield from self._means("accuracy", table["n_hits"], table["n_scored"])
        yield from self._means("log-loss", table["losses"], table["n_losses"])

    def _count_confidences(self) -> None:
        if not self._confidences:
            return
        confidence, hit = np.array(self._confidences, dtype=np.float64).T
        place = np.clip(confidence * N_BINS, 0, N_BINS - 1).astype(np.intp)
        for row, weights in zip(self._bins, (None, confidence, hit), strict=True):
            row += np.bincount(place, weights, N_BINS)
        self._confidences.clear()

    def _count_pairs(self) -> None:
        for (y, label), n in Counter(self._pairs).items():
            self._confusion[self._named(y), self._named(label)] += n
        self._pairs.clear()

    def _named(self, label: Hashable) -> Hashable:
        """Return a label that has a row, or `OTHERS`."""
        if label not in self._kept and len(self._kept) < _MOST_LABELS:
            self._kept.add(label)
        return label if label in self._kept else OTHERS

    def reliability(self) -> pd.DataFrame:
        """Return how often predictions were right, by the probability that they were given.

        A row for each twentieth that any of them fell into: the number of samples, their mean
        `confidence` and the `accuracy`.
        """
        n, confidence, hits = self._bins[:, self._bins[0] > 0]
        columns = {"n_samples": n.astype(np.int64), "confidence": confidence / n}
        return pd.DataFrame({**columns, "accuracy": hits / n})

    def confusion(self) -> pd.DataFrame:
        """Return how often each label, in the rows, was predicted as each, in the columns."""
        labels = _sorted(self._kept)
        if any(OTHERS in pair for pair in self._confusion):
            labels.append(OTHERS)
        places = {label: k for k, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for (y, label), n in self._confusion.items():
            counts[places[y], places[label]] = n
        index = feature_index(labels)
        return pd.DataFrame(counts, index.rename("label"), index.rename("prediction"))


def _sorted(labels: Iterable[Any]) -> list[Hashable]:
    """Return labels in ascending order, or by type where there are several."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=column_order)
