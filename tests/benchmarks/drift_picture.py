"""The picture of the README of what drift does to a forest.

python tests/benchmarks/drift_picture.py    # writes tests/benchmarks/adaptive.png
"""

from pathlib import Path

import matplotlib

from river_amf import AdaptiveAMFClassifier, plot
from river_amf.evaluation import STREAMS, drift_history

PICTURE = Path(__file__).with_name("adaptive.png")


def main() -> None:
    """Run the stream and draw."""
    matplotlib.use("Agg")
    stream = STREAMS["stagger_abrupt"]
    history = drift_history(stream, AdaptiveAMFClassifier(seed=1))
    axes = plot.drift(history, stream.drifts)
    axes[0].figure.savefig(PICTURE, dpi=150)


if __name__ == "__main__":
    main()
