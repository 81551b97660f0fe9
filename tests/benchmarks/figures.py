"""Accuracy and log-loss of `AMFClassifier`: did it change? Prints Markdown.

    python tests/benchmarks/figures.py
    python tests/benchmarks/figures.py --streams elec2,letter

Test-then-train with default parameters and 10 trees, the mean of three seeds, and nodes a tree.
"Goal" is what the project set out to reach. The exit status is 1 if a goal was missed, or if there
was nothing to measure.
"""

import statistics

import command
from river import metrics
from streams import available, load

from river_amf import AMFClassifier
from river_amf.evaluation import progressive_val_score

SEEDS = (1, 2, 3)

# rows, goals: accuracy at least, log-loss at most
STREAMS = {
    "Bananas": (None, 0.885, 0.275),
    "Phishing": (None, 0.90, 0.29),
    "ImageSegments": (None, 0.93, 0.33),
    "Shuttle": (20_000, 0.997, None),
    "elec2": (None, 0.81, None),
    "letter": (None, 0.85, None),
    "adult": (None, 0.825, None),
    "airlines": (50_000, 0.63, None),
}


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    missed: list[str] = []
    command.print_header(
        "stream", "samples", "accuracy", "goal", "log-loss", "goal", "nodes a tree"
    )
    for name in names:
        limit, least_accuracy, most_log_loss = STREAMS[name]
        stream = load(name, arguments.data, limit)
        scores, losses, nodes = [], [], []
        for seed in SEEDS:
            model = AMFClassifier(seed=seed)
            both = metrics.Accuracy() + metrics.CrossEntropy()
            score, loss = progressive_val_score(stream, model, both).get()
            scores.append(score)
            losses.append(loss)
            nodes.append(model._arena.trees["n_nodes"].mean())
        accuracy, log_loss = statistics.mean(scores), statistics.mean(losses)
        if accuracy < least_accuracy:
            missed.append(f"accuracy on {name}")
        if most_log_loss is not None and log_loss > most_log_loss:
            missed.append(f"log-loss on {name}")
        goal = "" if most_log_loss is None else f"<= {most_log_loss}"
        cells = [f"{accuracy:.4f}", f">= {least_accuracy}", f"{log_loss:.4f}", goal]
        command.print_row((name, stream.n_samples, *cells, f"{statistics.mean(nodes):.0f}"))
    return command.verdict(missed) if names else 1


if __name__ == "__main__":
    command.run(main)
