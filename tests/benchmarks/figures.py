"""The figures of the README except those of speed. Prints Markdown.

    python tests/benchmarks/figures.py                     # all parts
    python tests/benchmarks/figures.py accuracy            # or one
    python tests/benchmarks/figures.py accuracy --streams elec2,letter

- `accuracy`: accuracy, log-loss and nodes a tree, with default parameters and 10 trees.
- `river`: accuracy beside that of `river.forest.AMFClassifier`, as it is and behind a scaler.

Accuracy and log-loss are test-then-train, the mean of three seeds. "Goal" is what the project set
out to reach. The exit status is 1 if a goal was missed, or if there was nothing to measure.
"""

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

import command
from peers import river_forest
from river import metrics
from river.base import Classifier
from river.preprocessing import MinMaxScaler
from streams import available, load

from river_amf import AMFClassifier
from river_amf.evaluation import Stream, progressive_val_score

missed: list[str] = []  # goals, in this run

SEEDS = (1, 2, 3)

# stream, rows, goals: accuracy at least, log-loss at most
ACCURACY = [
    ("Bananas", None, 0.885, 0.275),
    ("Phishing", None, 0.90, 0.29),
    ("ImageSegments", None, 0.93, 0.33),
    ("Shuttle", 20_000, 0.997, None),
    ("elec2", None, 0.81, None),
    ("letter", None, 0.85, None),
    ("adult", None, 0.825, None),
    ("airlines", 50_000, 0.63, None),
]
AGAINST_RIVER = [("Bananas", None), ("elec2", 20_000)]


def accuracy(names: list[str], data: Path) -> None:
    """Print accuracy and log-loss on each stream."""
    print("| stream | samples | accuracy | goal | log-loss | goal | nodes a tree |")
    print("|---|---|---|---|---|---|---|")
    for name, limit, least_accuracy, most_log_loss in ACCURACY:
        if name not in names:
            continue
        stream = load(name, data, limit)
        scores, losses, nodes = [], [], []
        for seed in SEEDS:
            model = AMFClassifier(seed=seed)
            both = metrics.Accuracy() + metrics.CrossEntropy()
            score, loss = progressive_val_score(stream, model, both).get()
            scores.append(score)
            losses.append(loss)
            nodes.append(model._arena.trees["n_nodes"].mean())
        if statistics.mean(scores) < least_accuracy:
            missed.append(f"accuracy on {name}")
        if most_log_loss is not None and statistics.mean(losses) > most_log_loss:
            missed.append(f"log-loss on {name}")
        goal = "" if most_log_loss is None else f"<= {most_log_loss}"
        print(
            f"| {name} | {stream.n_samples} | {statistics.mean(scores):.4f} | >= {least_accuracy} "
            f"| {statistics.mean(losses):.4f} | {goal} | {statistics.mean(nodes):.0f} |",
            flush=True,
        )


def as_numbers(stream: Stream) -> Stream:
    """Turn codes back into numbers: river's forest takes no categories."""
    samples = [({name: float(value) for name, value in x.items()}, y) for x, y in stream]
    return Stream(stream.name, len(samples), stream.n_numeric, stream.n_categorical, samples)


def mean_accuracy(make_model: Callable[..., Classifier], stream: Stream) -> float:
    """Return the test-then-train accuracy, the mean over the seeds."""
    return statistics.mean(
        progressive_val_score(stream, make_model(seed=seed), metrics.Accuracy()).get()
        for seed in SEEDS
    )


def against_river(names: list[str], data: Path) -> None:
    """Print accuracies, ours and river's; `speed.py` has the time that they take."""
    print("| stream | river_amf | river | river, scaled |")
    print("|---|---|---|---|")
    for name, limit in AGAINST_RIVER:
        if name not in names:
            continue
        stream = as_numbers(load(name, data, limit))
        scores = [
            mean_accuracy(AMFClassifier, stream),
            mean_accuracy(river_forest, stream),
            mean_accuracy(lambda seed: MinMaxScaler() | river_forest(seed=seed), stream),
        ]
        print(f"| {name} | {scores[0]:.4f} | {scores[1]:.4f} | {scores[2]:.4f} |", flush=True)


PARTS = {"accuracy": accuracy, "river": against_river}
STREAMS_OF = {
    "accuracy": [name for name, *_ in ACCURACY],
    "river": [name for name, _ in AGAINST_RIVER],
}


def read_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = command.make_parser(__doc__)
    command.add_parts(parser, PARTS)
    command.add_streams(parser, STREAMS_OF["accuracy"])
    arguments = parser.parse_args(argv)
    command.match_parts(parser, arguments, STREAMS_OF)
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Print the parts asked for; returns the exit status."""
    arguments = read_arguments(argv)
    names = available(arguments.streams, arguments.data)
    parts = command.parts_left(arguments.parts, STREAMS_OF, names)
    for part in parts:
        PARTS[part](names, arguments.data)
        print()
    return command.verdict(missed) if parts else 1


if __name__ == "__main__":
    command.run(main)
