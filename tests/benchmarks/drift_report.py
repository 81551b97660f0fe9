"""What `drift.py` has measured: tables in Markdown, and the picture."""

import collections
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from command import print_header, print_row
from runs import AFTERMATH, CURVES, MODELS, PIECE, SMALL, TABLE, TRACKS, WINDOW, read
from streams import DATA

# Accuracy of CapyMOA 0.15 (MOA) with default settings and 10 members, measured over the same rows,
# missing values as 0 and categories one-hot
CAPYMOA_MODELS = ("ARF", "SRP", "LevBag", "Hoeffding tree", "kNN", "naive Bayes")
CAPYMOA = {
    "elec2": (0.9054, 0.8937, 0.8981, 0.8133, 0.8407, 0.7288),
    "weather": (0.7862, 0.7927, 0.7810, 0.7413, 0.7545, 0.6922),
    "adult": (0.8419, 0.8427, 0.8356, 0.8112, 0.7999, 0.8098),
    "bank": (0.9048, 0.8987, 0.9008, 0.8963, 0.8882, 0.8692),
    "car": (0.8692, 0.8802, 0.8657, 0.8796, 0.8113, 0.8796),
    "letter": (0.6703, 0.7659, 0.6331, 0.6341, 0.6977, 0.6341),
    "satimage": (0.9026, 0.9067, 0.8427, 0.8133, 0.8940, 0.8133),
    "keystroke": (0.9169, 0.9225, 0.8675, 0.8050, 0.9050, 0.6894),
    "rialto": (0.7017, 0.7806, 0.6059, 0.3830, 0.7976, 0.2310),
    "gmsc": (0.9331, 0.9343, 0.9340, 0.9306, 0.9244, 0.9292),
    "phishing_websites": (0.9399, 0.9439, 0.9284, 0.9040, 0.9261, 0.9141),
    "spam": (0.9364, 0.9366, 0.9195, 0.8812, 0.9282, 0.9013),
}

# What was measured


class Results:
    """The rows of the table, by stream and model."""

    def __init__(self) -> None:
        self.rows = collections.defaultdict(list)
        for what, row in read(TABLE).items():
            self.rows[what.stream, what.model].append(row)
        self.models = [name for name in MODELS if any(model == name for _, model in self.rows)]

    def done(self, stream: str, model: str) -> list[dict[str, str]]:
        """Return the runs that came to their end."""
        return [row for row in self.rows[stream, model] if row["status"] == "ok"]

    def has_failed(self, stream: str, model: str) -> bool:
        """Tell whether there are runs and none came to its end."""
        return bool(self.rows[stream, model]) and not self.done(stream, model)

    def mean(self, stream: str, model: str, measure: str = "accuracy") -> float | None:
        """Return the mean over the seeds, None where nothing was measured."""
        values = [float(row[measure]) for row in self.done(stream, model) if row[measure]]
        return statistics.fmean(values) if values else None

    def at_drifts(self, stream: str, model: str, measure: str) -> list[float]:
        """Return a measure taken at each drift, the means over the seeds."""
        rows = [row[measure].replace("+", "").split() for row in self.done(stream, model)]
        return [statistics.fmean(map(float, values)) for values in zip(*rows, strict=True)]

    def never_recovered(self, stream: str, model: str, number: int) -> bool:
        """Tell whether some seed did not recover from a drift."""
        rows = self.done(stream, model)
        return any(row["recovery"].split()[number].endswith("+") for row in rows)


# Tables


def with_best(
    values: Sequence[float | None], style: str, best: Callable[..., Any] | None
) -> list[str]:
    """Show values, the best in bold if it matters, blank where there is none."""
    texts = ["" if value is None else format(value, style) for value in values]
    there = [value for value in values if value is not None]
    if best is None or len(there) < 2:
        return texts
    winner = format(best(there), style)
    return [f"**{text}**" if text == winner else text for text in texts]


class Measure(NamedTuple):
    """A column of the CSV, and how to show it."""

    title: str
    column: str
    style: str
    best: Callable[..., Any] | None


MEASURES = (
    Measure("Accuracy", "accuracy", ".4f", max),
    Measure("Kappa-temporal", "kappa_temporal", ".3f", max),
    Measure("Log-loss", "log_loss", ".4f", min),
    Measure("Microseconds a sample", "us_per_sample", ".3g", None),
    Measure("Memory at the end, MB", "memory_mb", ".3g", None),
)


def print_measure(results: Results, measure: Measure) -> None:
    """Print a measure on all streams, with the means over the data streams."""
    print(f"\n### {measure.title}\n")
    print_header("stream", *results.models)
    for stream in (*DATA, *SMALL, *TRACKS):
        values = [results.mean(stream, model, measure.column) for model in results.models]
        cells = with_best(values, measure.style, measure.best)
        for place, model in enumerate(results.models):
            if results.has_failed(stream, model):
                cells[place] = (
                    "failed" if "failed" in status(results, stream, model) else "too long"
                )
        if any(cells):
            print_row((stream, *cells))
        if stream == list(DATA)[-1]:
            print_summary(results, measure)


def status(results: Results, stream: str, model: str) -> str:
    """Return what became of a run."""
    return results.rows[stream, model][0]["status"]


def print_summary(results: Results, measure: Measure) -> None:
    """Print the means, and in how many streams if not in all; of accuracy the ranks."""
    cells = []
    for model in results.models:
        values = [results.mean(stream, model, measure.column) for stream in DATA]
        there = [value for value in values if value is not None]
        text = format(statistics.fmean(there), measure.style) if there else ""
        cells.append(text if len(there) in (0, len(DATA)) else f"{text} (of {len(there)})")
    print_row((f"mean of the {len(DATA)}", *cells))
    if measure.column == "accuracy":
        print_row(("mean rank", *mean_ranks(results)))


def mean_ranks(results: Results) -> list[str]:
    """Return the mean rank of each model; a run that did not end comes last."""
    ranks = collections.defaultdict(list)
    for stream in DATA:
        ran = [model for model in results.models if results.rows[stream, model]]
        scores = {model: results.mean(stream, model) or 0.0 for model in ran}
        for model in ran:
            better = sum(score > scores[model] for score in scores.values())
            equal = sum(score == scores[model] for score in scores.values())
            ranks[model].append(better + (equal + 1) / 2)
    return [f"{statistics.fmean(ranks[m]):.2f}" if ranks[m] else "" for m in results.models]


def print_drifts(results: Results) -> None:
    """Print what happens after each known drift."""
    models = [model for model in results.models if model != "last-label"]
    for title, measure, style, best in (
        (f"Accuracy over the {AFTERMATH} samples after a drift", "after_drift", ".4f", max),
        ("Samples until the accuracy of before the drift is back", "recovery", ".0f", None),
    ):
        print(f"\n### {title}\n")
        print_header("stream", "drift at", *models)
        for stream, track in TRACKS.items():
            by_model = [results.at_drifts(stream, model, measure) for model in models]
            for number, drift in enumerate(track.drifts):
                values = [values[number] if values else None for values in by_model]
                cells = with_best(values, style, best)
                for place, model in enumerate(models):
                    if measure == "recovery" and cells[place]:
                        cells[place] += "+" * results.never_recovered(stream, model, number)
                if any(cells):
                    print_row((stream, str(drift), *cells))


def print_capymoa(results: Results) -> None:
    """Print our accuracies beside those of CapyMOA."""
    print("\n### Accuracy beside that of CapyMOA 0.15 (defaults, 10 members)\n")
    ours = [model for model in results.models if MODELS[model].is_ours]
    print_header("stream", *ours, *(f"CapyMOA {model}" for model in CAPYMOA_MODELS))
    for stream, others in CAPYMOA.items():
        values = [*(results.mean(stream, model) for model in ours), *others]
        print_row((stream, *with_best(values, ".4f", max)))


def print_notes(results: Results) -> None:
    """Print what each model was given, which runs did not end, and what was installed."""
    print("\n### What was run\n")
    for model in results.models:
        seeds = max(len(runs) for (_, name), runs in results.rows.items() if name == model)
        means = f"; means of up to {seeds} seeds" if seeds > 1 else ""
        print(f"- {model}: {MODELS[model].note}{means}")
    print()
    for (stream, model), rows in results.rows.items():
        for row in rows:
            if row["status"] != "ok":
                print(f"- {stream}, {model}, seed {row['seed']}: {row['status']}")
    versions = {row["versions"] for rows in results.rows.values() for row in rows}
    for version in sorted(versions):
        print(f"- {version}")


def print_all() -> None:
    """Print all tables."""
    results = Results()
    for measure in MEASURES:
        print_measure(results, measure)
    print_drifts(results)
    print_capymoa(results)
    print_notes(results)


# The picture


class Mark(NamedTuple):
    """How a model is drawn."""

    shape: str
    color: str
    size: float = 28.0


# ours and those they are compared with in the colours of Okabe and Ito, others grey
MARKS = {
    "AdaptiveAMF": Mark("o", "#d55e00", 55.0),
    "AMF": Mark("o", "#0072b2", 40.0),
    "ARF": Mark("s", "#009e73"),
    "SRP": Mark("D", "#e69f00"),
    "LevBag": Mark("^", "#8a8a8a"),
    "river-AMF": Mark("v", "#8a8a8a"),
    "HAT": Mark("P", "#b0b0b0"),
    "kNN": Mark("X", "#b0b0b0"),
    "NB": Mark("p", "#b0b0b0"),
    "last-label": Mark("|", "#8a8a8a", 60.0),
}
FOLLOWED = ("SRP", "ARF", "AMF", "AdaptiveAMF")  # along the tracks; the last on top
LEFT_EDGE = 0.55  # accuracies below are drawn there


def draw(path: Path) -> None:
    """Draw accuracies, and curves along the tracks."""
    import matplotlib.pyplot as plt

    results = Results()
    followed = [name for name in TRACKS if name.endswith(("_abrupt", "_recurring"))]
    picture = plt.figure(figsize=(13, 9), layout="constrained")
    left, right = picture.subfigures(1, 2, width_ratios=(1, 1.05))
    draw_accuracies(left.subplots(), results)
    panels = right.subplots(len(followed), 1, sharex=True)
    for axes, name in zip(panels, followed, strict=True):
        draw_track(axes, name, results)
    panels[0].set_title(f"Accuracy over {WINDOW} samples; dashed: the concept changes", loc="left")
    panels[-1].set_xlabel("samples")
    add_legend(left, 4)
    add_legend(right, 4)
    picture.savefig(path, dpi=130)


def draw_accuracies(axes: Any, results: Results) -> None:
    """Draw a line of dots for each stream."""
    streams = [*DATA, *SMALL]
    places = range(len(streams))
    for model, mark in reversed(MARKS.items()):
        if model not in results.models:
            continue
        values = [results.mean(stream, model) for stream in streams]
        shown = [None if value is None else max(value, LEFT_EDGE) for value in values]
        axes.scatter(
            *zip(
                *((x, y) for x, y in zip(shown, places, strict=True) if x is not None), strict=True
            ),
            label=label(model),
            marker=mark.shape,
            c=mark.color,
            s=mark.size,
            linewidths=1.5 if mark.shape == "|" else 0.4,
            edgecolors=None if mark.shape == "|" else "white",
            clip_on=False,
            zorder=3,
        )
    axes.set_title("Accuracy, test-then-train", loc="left")
    axes.set_xlim(LEFT_EDGE, 1.0)
    axes.set_xlabel(f"accuracy (what is below {LEFT_EDGE} stands at {LEFT_EDGE})")
    axes.set_yticks(places, streams)
    axes.invert_yaxis()
    axes.grid(color="#e6e6e6")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def add_legend(picture: Any, n_columns: int) -> None:
    """Name what is drawn last first, as it is on top."""
    handles, labels = picture.axes[0].get_legend_handles_labels()
    picture.legend(
        handles[::-1],
        labels[::-1],
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        columnspacing=1.2,
        handletextpad=0.5,
    )


def label(model: str) -> str:
    """Return a name for the legend."""
    if model == "last-label":
        return "last label"
    return (
        f"river_amf {model}" if MODELS[model].is_ours else f"river {model.removeprefix('river-')}"
    )


def draw_track(axes: Any, name: str, results: Results) -> None:
    """Draw the accuracy of some models along a track."""
    curves = read(CURVES)
    for model in FOLLOWED:
        counts = [
            [int(count) for count in row["hits"].split()]
            for what, row in curves.items()
            if (what.stream, what.model) == (name, model)
        ]
        if not counts:
            continue
        means = [statistics.fmean(column) for column in zip(*counts, strict=True)]
        pieces = WINDOW // PIECE
        ends = range(pieces, len(means) + 1)
        accuracy = [sum(means[end - pieces : end]) / WINDOW for end in ends]
        width = 1.8 if MODELS[model].is_ours else 1.2
        axes.plot(
            [PIECE * end for end in ends],
            accuracy,
            color=MARKS[model].color,
            label=label(model),
            linewidth=width,
        )
    for drift in TRACKS[name].drifts:
        axes.axvline(drift, color="#606060", linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    axes.set_ylabel(name.replace("_", "\n"))
    axes.grid(axis="y", color="#e6e6e6")
    axes.set_xlim(0, max(TRACKS[each].n_samples for each in TRACKS))
    axes.spines[["top", "right"]].set_visible(False)
