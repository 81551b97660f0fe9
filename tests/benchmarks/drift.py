"""Our forests against river's classifiers: on real streams, and on tracks whose drifts are known.

    python tests/benchmarks/drift.py                         # runs what is not in drift.csv
    python tests/benchmarks/drift.py --models ARF SRP --streams elec2 car --seeds 1 2 --jobs 2
    python tests/benchmarks/drift.py --again AMF AdaptiveAMF # these, and if they have been run
    python tests/benchmarks/drift.py --table                 # tables, from drift.csv
    python tests/benchmarks/drift.py --picture drift.png     # a picture, from drift.csv

Test-then-train, one sample at a time, 10 members each. Every run is written to drift.csv beside
this file as soon as it ends, and is not repeated without `--again`: river's take hours, ours
minutes. A run that fails, or takes more than `--time-limit` seconds, becomes a row with the reason.
The tracks are those of `river_amf.evaluation.tracks`; of the streams of `origins.py` the
first 50 000 rows are taken, of spam 8 000. Columns are encoded before the run, with all categories
known as in the header of an ARFF file, at no cost to the model.

What is measured:

- accuracy without the first sample, and kappa-temporal;
- log-loss, with probabilities scaled to a sum of 1. A label that was seen before and that a model
  does not name has probability 0, which counts as 1e-15; a new label has no loss;
- microseconds per sample: the processor's time to predict and to learn it, after a warm-up of
  another model of the kind;
- memory at the end, in MB of 10^6 bytes;
- after each drift of a track, the accuracy over the next 2 000 samples.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from runs import AFTERMATH, MODELS, OURS, PIECE, SMALL, TABLE, TRACKS, Run, read, run_all
from streams import DATA, add_names, available, make_parser, print_header, print_row

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


def plan(arguments: argparse.Namespace) -> list[Run]:
    """List the runs asked for that are to be done."""
    done = read()
    asked = [
        Run(stream, model, seed)
        for model in arguments.models or arguments.again or MODELS
        for stream in arguments.streams
        for seed in arguments.seeds or ((1, 2, 3) if model in OURS else (1,))
    ]
    return [what for what in asked if what.model in arguments.again or what not in done]


def read_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = make_parser(__doc__, [*DATA, *SMALL, *TRACKS])
    add_names(parser, "--models", [*MODELS], [])
    add_names(parser, "--again", [*MODELS], [])
    add = parser.add_argument
    add("--seeds", type=int, nargs="+", help="by default 1 2 3 for our forests, 1 for others")
    add("--jobs", type=int, default=1, help="processes (default: 1)")
    add("--time-limit", type=float, default=900.0, help="seconds of a run (default: 900)")
    add("--table", action="store_true", help="print tables")
    add("--picture", type=Path, metavar="FILE.png", help="draw")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    arguments = read_arguments(argv)
    if arguments.picture:
        draw(arguments.picture)
    if arguments.table:
        print_all()
    if arguments.picture or arguments.table:
        return 0
    os.environ["PYTHONHASHSEED"] = "0"  # river's trees go through sets of strings
    planned = plan(arguments)
    if not planned:
        print(f"nothing to run: all of it is in {TABLE.name}; --again repeats the runs of a model")
        return 0
    there = available(dict.fromkeys(what.stream for what in planned), arguments.data)
    runs = [what for what in planned if what.stream in there]
    run_all(runs, arguments.data, arguments.time_limit, arguments.jobs)
    return 0 if runs else 1


if __name__ == "__main__":
    raise SystemExit(main())
