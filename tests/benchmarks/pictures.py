"""The pictures of the README that no other script draws.

    python tests/benchmarks/pictures.py            # adaptive.png and surfaces.png, beside this file
    python tests/benchmarks/pictures.py surfaces --to FOLDER

- `adaptive`: what two drifts of a generated stream do to the adaptive forest's accuracy, fading
  share and relevance.
- `surfaces`: the decisions of one forest on Bananas, by its first tree or all ten, by all prunings
  or the leaves alone.

Neither needs a stream of the folder of `--data`, which every script here takes.
"""

from pathlib import Path

import command
from river import datasets

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.evaluation import STREAMS, drift_history


def draw_drift(path: Path) -> None:
    """Draw what drift does to a forest."""
    from river_amf import plot

    stream = STREAMS["stagger_abrupt"]
    history = drift_history(stream, AdaptiveAMFClassifier(seed=1))
    axes = plot.drift(history, stream.drifts)
    axes[0].figure.savefig(path, dpi=150)


def draw_surfaces(path: Path) -> None:
    """Draw one forest by its first tree or all ten, by all prunings or the leaves alone."""
    import matplotlib.pyplot as plt

    from river_amf import plot

    samples = list(datasets.Bananas().take(300))
    model = AMFClassifier(seed=1)
    for x, y in samples:
        model.learn_one(x, y)
    figure, axes = plt.subplots(
        2, 2, figsize=(8.0, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    for row, aggregated in zip(axes, (False, True), strict=True):
        for ax, trees in zip(row, (0, None), strict=True):
            plot.decision_surface(model, samples=samples, trees=trees, aggregated=aggregated, ax=ax)
            who = "one tree" if trees is not None else "the forest"
            ax.set_title(f"{who}, {'all prunings' if aggregated else 'leaves alone'}")
            ax.get_legend().set_visible(ax is axes[0, 0])
            ax.label_outer()
    figure.savefig(path, dpi=110)


PICTURES = {"adaptive": draw_drift, "surfaces": draw_surfaces}


def main(argv: list[str] | None = None) -> int:
    """Draw what is asked for; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_parts(parser, PICTURES)
    parser.add_argument(
        "--to",
        type=Path,
        default=command.HERE,
        metavar="FOLDER",
        help="write the pictures there (default: beside the scripts)",
    )
    arguments = parser.parse_args(argv)
    for name in arguments.parts or PICTURES:
        PICTURES[name](arguments.to / f"{name}.png")
    return 0


if __name__ == "__main__":
    command.run(main)
