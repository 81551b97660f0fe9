"""What `drift.py` has measured: tables in Markdown, and the picture."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from runs import AFTERMATH, MODELS, PIECE, SMALL, TABLE, TRACKS
from streams import DATA, print_header, print_row

MEASURES = {  # by column: a title, how to show it, and what is best
    "accuracy": ("Accuracy", ".4f", max),
    "kappa_temporal": ("Kappa-temporal", ".3f", max),
    "log_loss": ("Log-loss", ".4f", min),
    "us_per_sample": ("Microseconds a sample", ".3g", None),
    "memory_mb": ("Memory at the end, MB", ".3g", None),
}
ALL = (*DATA, *SMALL, *TRACKS)


def read_means(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return a measure by stream and model, the mean over the seeds, NaN where there is none."""
    means = table.pivot_table(measure, "stream", "model", "mean", dropna=False)
    return means.reindex(index=ALL, columns=[name for name in MODELS if name in means])


def with_best(values: Any, style: str, best: Any) -> list[str]:
    """Show values, the best in bold if it matters, blank where there is none."""
    texts = ["" if pd.isna(value) else format(value, style) for value in values]
    winner = format(best(v for v in values if not pd.isna(v)), style) if best else ""
    return [f"**{text}**" if text and text == winner else text for text in texts]


def print_measure(table: pd.DataFrame, measure: str) -> None:
    """Print a measure on all streams, with the means over the data streams."""
    title, style, best = MEASURES[measure]
    means = read_means(table, measure)
    print(f"\n### {title}\n")
    print_header("stream", *means.columns)
    for stream, row in means.dropna(how="all").iterrows():
        print_row((stream, *with_best(row, style, best)))
        if stream == list(DATA)[-1]:
            real = means.loc[list(DATA)]
            cells = [
                f"{mean:{style}}" + (f" (of {n})" if n < len(DATA) else "") if n else ""
                for mean, n in zip(real.mean(), real.count(), strict=True)
            ]
            print_row((f"mean of the {len(DATA)}", *cells))


def print_drifts(table: pd.DataFrame) -> None:
    print(f"\n### Accuracy over the {AFTERMATH} samples after a drift\n")
    models = [name for name in MODELS if name in set(table["model"]) and name != "last-label"]
    print_header("stream", "drift at", *models)
    for stream, track in TRACKS.items():
        rows = table[(table["stream"] == stream) & table["after_drift"].notna()]
        parts = rows["after_drift"].str.split(expand=True).astype(float)
        means = parts.groupby(rows["model"]).mean().reindex(models)
        for number, drift in enumerate(track.drifts if len(rows) else ()):
            print_row((stream, drift, *with_best(means[number], ".4f", max)))


def print_all() -> None:
    """Print all tables, what each model was given, and which runs did not end."""
    table = pd.read_csv(TABLE)
    for measure in MEASURES:
        print_measure(table, measure)
    print_drifts(table)
    print("\n### What was run\n")
    for model, entry in MODELS.items():
        print(f"- {model}: {entry.note}")
    for row in table[table["status"] != "ok"].itertuples():
        print(f"- {row.stream}, {row.model}, seed {row.seed}: {row.status}")
    for versions in sorted(set(table["versions"])):
        print(f"- {versions}")


# The picture

MOA = Path(__file__).with_name("moa.csv")  # measured once, through CapyMOA
STYLES = {  # a label, shape and color (those of Okabe and Ito); the last on top
    "last-label": ("last label", "|", "#8a8a8a"),
    "kNN": ("kNN", "X", "#b0b0b0"),
    "ARF": ("river's ARF", "s", "#009e73"),
    "SRP": ("river's SRP", "D", "#e69f00"),
    "MOA ARF": ("MOA's ARF", "v", "#56b4e9"),
    "MOA SRP": ("MOA's SRP", "^", "#cc79a7"),
    "AMF": ("AMFClassifier", "o", "#0072b2"),
    "AdaptiveAMF": ("AdaptiveAMFClassifier", "o", "#d55e00"),
}
FOLLOWED = ("SRP", "ARF", "AMF", "AdaptiveAMF")  # along the tracks
LEFT_EDGE = 0.55  # accuracies below are drawn there


def draw(path: Path) -> None:
    """Draw the accuracies on the real streams, and curves along the tracks with abrupt drifts."""
    import matplotlib.pyplot as plt

    table = pd.read_csv(TABLE)
    tracks = [name for name in TRACKS if name.endswith("_abrupt")]
    picture = plt.figure(figsize=(13, 6.5), layout="constrained")
    left, right = picture.subfigures(1, 2)
    axes = left.subplots()
    means = read_means(table, "accuracy").join(pd.read_csv(MOA, index_col="stream"))
    means = means.loc[list(DATA)].clip(lower=LEFT_EDGE)
    for model, (label, shape, color) in STYLES.items():
        size = 60 if "AMF" in model else 28
        axes.scatter(means[model], means.index, size, color, marker=shape, label=label, zorder=3)
    axes.set_title(f"Accuracy on {len(means)} streams, test-then-train", loc="left")
    axes.set_xlabel(f"accuracy (what is below {LEFT_EDGE} stands at {LEFT_EDGE})")
    axes.invert_yaxis()
    axes.grid(color="#e6e6e6")
    panels = right.subplots(len(tracks), 1, sharex=True)
    for axes, name in zip(panels, tracks, strict=True):
        for model in FOLLOWED:
            hits = table.loc[(table["stream"] == name) & (table["model"] == model), "hits"]
            counts = np.array([list(map(int, each.split())) for each in hits.dropna()])
            if len(counts):
                of_two = counts.mean(axis=0)[1:] + counts.mean(axis=0)[:-1]
                ends = PIECE * np.arange(2, len(of_two) + 2)
                label, _, color = STYLES[model]
                axes.plot(ends, of_two / (2 * PIECE), color=color, label=label)
        for drift in TRACKS[name].drifts:
            axes.axvline(drift, color="#606060", linestyle="--", linewidth=0.9, zorder=1)
        axes.set_ylabel(name.replace("_", "\n"))
    panels[0].set_title(f"Accuracy over {2 * PIECE} samples; dashed: drifts", loc="left")
    panels[-1].set_xlabel("samples")
    for part in (left, right):
        handles, labels = part.axes[0].get_legend_handles_labels()
        part.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=4, frameon=False)
    picture.savefig(path, dpi=110)
