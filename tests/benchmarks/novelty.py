"""How well `novelty_one` separates rows of a stream from rows that are new. Prints Markdown.

    python tests/benchmarks/novelty.py --data FOLDER

AUCs of rows that were not learned against: the same with each column shuffled by itself; rows of a
label that no learned row has (mean over three labels); rows with a category that is new, or with a
number five standard deviations higher; and, of rows whose label is predicted wrongly, all others.
Rows are shuffled, and three quarters are learned. Means over the seeds; microseconds of a call.
"""

import statistics
import time

import numpy as np
import pandas as pd
import streams

from river_amf import AdaptiveAMFClassifier, AMFClassifier

REAL = "letter", "satimage", "adult", "bank", "elec2", "weather", "rialto"
KINDS = AMFClassifier, AdaptiveAMFClassifier
LIMIT = 12_000
TESTED = 1_000
NEW_LABELS = 3


def auc(ordinary, new):
    """Return the probability that a new row has a higher novelty than an ordinary one."""
    ranks = pd.Series([*ordinary, *new]).rank().to_numpy()[len(ordinary) :]
    n = len(new)
    return (ranks.sum() - n * (n + 1) / 2) / (n * len(ordinary)) if n and len(ordinary) else np.nan


def novelties(model, frame):
    return np.array([model.novelty_one(x) for x in frame.to_dict("records")])


def measured(kind, seed, name, data):
    """Return the five AUCs, the median of ordinary rows, and the microseconds of a call."""
    X, y = streams.frame_of(name, data)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[:LIMIT]
    X, y = X.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    n = len(y) * 3 // 4
    rows, labels = X[n:][:TESTED], y[n:][:TESTED]
    model = kind(seed=seed)
    model.learn_many(X[:n], y[:n])
    samples = rows.to_dict("records")
    model.novelty_one(samples[0])  # loads the kernel
    start = time.process_time()
    usual = np.array([model.novelty_one(x) for x in samples])
    duration = 1e6 * (time.process_time() - start) / len(rows)
    shuffled = rows.apply(lambda column: rng.permutation(column))
    numeric = rows.select_dtypes("number").columns
    unseen, far = rows.astype(object), rows.copy()
    categorical = [column for column in rows if column not in numeric]
    for k, row in enumerate(rows.index):
        if categorical:
            unseen.loc[row, categorical[k % len(categorical)]] = "never seen"
        column = numeric[k % len(numeric)]
        far[column] = far[column].astype(float)
        far.loc[row, column] += 5 * X[column].std()
    is_wrong = (model.predict_many(rows) != labels).to_numpy()
    held_out = []
    for label in y.unique()[: NEW_LABELS * (y.nunique() > 2)]:
        others = kind(seed=seed)
        others.learn_many(X[:n][y[:n] != label], y[:n][y[:n] != label])
        novelty, is_new = novelties(others, rows), (labels == label).to_numpy()
        held_out.append(auc(novelty[~is_new], novelty[is_new]))
    return (
        auc(usual, novelties(model, shuffled)),
        statistics.fmean(held_out) if held_out else np.nan,
        auc(usual, novelties(model, unseen)) if categorical else np.nan,
        auc(usual, novelties(model, far)),
        auc(usual[~is_wrong], usual[is_wrong]),
        np.median(usual),
        duration,
    )


def main(argv: list[str] | None = None) -> int:
    parser = streams.make_parser(__doc__, REAL)
    streams.add_seeds(parser)
    arguments = streams.begin(parser, argv)
    names = streams.available(arguments.streams, arguments.data)
    columns = "shuffled columns", "a new label", "a new category", "a far number", "errors"
    streams.print_header("stream", "model", *columns, "median", "us")
    for name in names:
        for kind in KINDS:
            runs = [measured(kind, seed, name, arguments.data) for seed in arguments.seeds]
            streams.print_row((name, kind.__name__, *(float(v) for v in np.mean(runs, axis=0))))
    return int(not names)


if __name__ == "__main__":
    raise SystemExit(main())
