"""The pictures of the README that no other script draws.

python tests/benchmarks/pictures.py    # writes adaptive.png and surfaces.png beside it
"""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from river import datasets

from river_amf import AdaptiveAMFClassifier, AMFClassifier, plot
from river_amf.evaluation import STREAMS, drift_history

HERE = Path(__file__).parent


def main() -> None:
    """Draw both."""
    matplotlib.use("Agg")
    draw_drift(HERE / "adaptive.png")
    draw_surfaces(HERE / "surfaces.png")


def draw_drift(path: Path) -> None:
    """Draw what drift does to a forest."""
    stream = STREAMS["stagger_abrupt"]
    history = drift_history(stream, AdaptiveAMFClassifier(seed=1))
    axes = plot.drift(history, stream.drifts)
    axes[0].figure.savefig(path, dpi=150)


def draw_surfaces(path: Path) -> None:
    """Draw one forest by its first tree or all ten, by all prunings or the leaves alone."""
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


if __name__ == "__main__":
    main()
