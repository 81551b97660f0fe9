"""The tables of a report: those made of predictions, and that of results as texts."""

import functools
import random
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from river.utils.pretty import humanize_bytes

from river_amf.inputs.encoding import ascending
from river_amf.outputs.printing import printable

TITLES = {"n_samples": "samples", "us_per_sample": "us/sample"}
# of the target's unit and any size
_FORMATS = dict.fromkeys(("MAE", "RMSE", "MSE", "width"), ".5g")
_FORMATS |= {"n_samples": ".0f", "us_per_sample": ".1f"}

_N_BINS = 20  # of confidence, from 0 to 1
_MOST_REPORTED = 100  # labels, the most frequent ones
_MOST_CONFUSED = 20  # labels of a confusion matrix, in which all further ones are one
_OTHERS = "(others)"
_LEAST = 1e-15  # samples, to divide by
_N_POINTS = 600  # samples drawn at random from the whole stream
_N_LATEST = 200  # last samples


def label_tables(frame: pd.DataFrame, pairs: Counter[tuple[Any, Any]]) -> dict[str, pd.DataFrame]:
    bins = (frame["confidence"].clip(0.0, 1.0) * _N_BINS).clip(upper=_N_BINS - 1) // 1
    by_bin = frame[["confidence", "accuracy"]].groupby(bins)
    reliability = by_bin.mean()
    reliability.insert(0, "n_samples", by_bin.size())
    counts = _confusion(pairs, _MOST_REPORTED)
    n_true, n_predicted = counts.to_numpy().sum(axis=1), counts.to_numpy().sum(axis=0)
    shares = {"precision": n_predicted, "recall": n_true, "F1": (n_predicted + n_true) / 2}
    report = {name: np.diag(counts) / np.maximum(n, _LEAST) for name, n in shares.items()}
    labels = pd.DataFrame({**report, "support": n_true}, counts.index)
    return {
        "reliability": reliability.reset_index(drop=True),
        "labels": labels[:_MOST_REPORTED],
        "confusion": _confusion(pairs, _MOST_CONFUSED),
    }


def _confusion(pairs: Counter[tuple[Any, Any]], most: int) -> pd.DataFrame:
    # Beyond the most frequent among labels and predictions they share a row and a column.
    totals: Counter[Any] = Counter()
    for pair, n in pairs.items():
        for label in pair:
            totals[label] += n
    frequent = sorted(ascending(totals), key=totals.__getitem__, reverse=True)
    kept = ascending(frequent[:most]) + [_OTHERS] * (len(frequent) > most)
    indices = {label: index for index, label in enumerate(kept)}
    counts = np.zeros((len(kept), len(kept)), dtype=np.int64)
    for (y, label), n in pairs.items():
        counts[indices.get(y, -1), indices.get(label, -1)] += n
    names = pd.Index(kept, dtype=object, tupleize_cols=False)  # tuples as they are
    return pd.DataFrame(counts, names.rename("label"), names.rename("prediction"))


def number_tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return samples drawn from the whole stream, and the last ones, with predictions."""
    ends = frame[["lower", "upper"]]
    frame[["lower", "upper"]] = ends.where(np.isfinite(ends))  # which cannot be drawn
    frame.insert(0, "sample", np.arange(len(frame)) + 1)
    # every model draws the same samples
    drawn = sorted(random.Random(0).sample(range(len(frame)), min(_N_POINTS, len(frame))))
    return {
        "points": frame.iloc[drawn].reset_index(drop=True),
        "latest": frame[-_N_LATEST:].reset_index(drop=True),
    }


def cell_text(column: str, value: float) -> str:
    """Return a value as it is displayed in its column, "-" if it is NaN."""
    if value != value:
        return "-"
    is_size = column == "memory"
    return humanize_bytes(round(value)) if is_size else f"{value:{_FORMATS.get(column, '.4f')}}"


def displayed(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of results as texts under titles, for a terminal or a page."""
    texts = {
        TITLES.get(name, name): table[name].map(
            printable if name == "status" else functools.partial(cell_text, name)
        )
        for name in map(str, table)
    }
    return pd.DataFrame(texts).rename(index=lambda name: printable(str(name))).rename_axis(None)
