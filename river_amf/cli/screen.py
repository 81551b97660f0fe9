"""What a terminal shows of a run: how far it is, the curve of its metric, what the forest keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.emphasis import COLORS
from river_amf.evaluation import figures
from river_amf.wording import name

try:
    from rich.bar import Bar
    from rich.console import Console, ConsoleOptions, ConsoleRenderable
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise ImportError(
        '--live needs rich (the extra live): pip install "rich>=13"', name="rich"
    ) from error

__all__ = ["Console", "Live", "Screen"]

_BLUE, _VERMILION, *_ = COLORS
_WIDEST = 100  # columns; curves and bars get no clearer beyond
_FEWEST_ROWS, _MOST_ROWS = 2, 8  # of the curve
_MOST_FEATURES = 10
_LONGEST_NAME = 24  # columns
_LEVELS = " ▁▂▃▄▅▆▇█"
_LEVELS_OF_ASCII = " #"
_MARK = "^"
_GAP = "   "  # between what stands side by side


@dataclass
class Screen:
    """A run as it is by now, which rich draws into the room that there is."""

    # title: the name of the stream.
    # measure: the metric of the curve, one of `metrics`, which are over all samples so far.
    # windows: the number of samples at the end of each window, and the metric over it, or NaN.
    # drifts: where the stream is known to drift, in samples.
    # restarts: after how many samples trees were seen to have started afresh.
    # relevance, fading_share: those of the forest, if it has them.
    title: str
    n_total: int
    measure: str
    drifts: Sequence[float] = ()
    n_samples: int = 0
    rate: float = math.nan  # samples a second
    metrics: dict[str, float] = field(default_factory=dict)
    windows: list[tuple[int, float]] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    relevance: pd.Series | None = None
    fading_share: float | None = None

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[ConsoleRenderable]:
        """Yield the lines from top to bottom; fewer of them where there is little room."""
        width = min(options.max_width, _WIDEST)
        marks = self._marks()
        share = self.n_samples / self.n_total
        above = [*_flow(self._progress(), width)], [*_flow(self._figures(), width)]
        # what a bar, two lines around the curve and the marks leave to the curve and below
        room = options.max_height - sum(map(len, above)) - 3 - len(marks)
        n_bars = 0 if self.relevance is None else min(len(self.relevance), _MOST_FEATURES)
        n_rows = min(max(room - n_bars - 1, room // 2, _FEWEST_ROWS), _MOST_ROWS)
        n_bars = max(min(n_bars, room - n_rows - 1), 0)
        gap = [Text()] if room >= n_rows + n_bars + 3 else []
        yield from above[0]
        yield _bars([(f"{share:.0%}", share, "")], 1.0, width, options.ascii_only)
        yield from [*above[1], *gap]
        levels = _LEVELS_OF_ASCII if options.ascii_only else _LEVELS
        yield from self._curve(width, n_rows, levels, marks)
        if self.relevance is not None and n_bars > 0:
            yield from [*gap, Text("relevance", "bold")]
            most = self.relevance.nlargest(n_bars)
            rows = [
                (name(feature), float(value), f"{value:.3f}") for feature, value in most.items()
            ]
            yield _bars(rows, max(float(most.max()), 1e-9), width, options.ascii_only)

    def _progress(self) -> Iterator[Text]:
        """Yield how far the run is."""
        yield Text(self.title, "bold")
        yield Text(f"{self.n_samples:,} of {self.n_total:,} samples")
        if self.rate > 0.0:
            yield Text(f"{self.rate:,.0f} a second")
        if self.rate > 0.0 and self.n_samples < self.n_total:
            left = (self.n_total - self.n_samples) / self.rate
            yield Text(f"{timedelta(seconds=round(left))} left")

    def _figures(self) -> Iterator[Text]:
        """Yield the metrics over all samples, and what shows drift in the forest."""
        for title, value in self.metrics.items():
            if not math.isnan(value):
                shown = f"{title} {figures.cell(title, value)}"
                yield Text(shown, f"bold {_BLUE}" if title == self.measure else "")
        if self.fading_share is not None:
            yield Text(f"fading share {self.fading_share:.2f}")
        if self.restarts:
            yield Text(f"{len(self.restarts)} restarts of trees", _VERMILION)

    def _marks(self) -> dict[str, Sequence[float]]:
        """Return the places of each kind of mark below the curve, if there are any, in samples."""
        drifts = [place for place in self.drifts if place <= self.n_samples]
        marks: dict[str, Sequence[float]] = {"drift": drifts, "restart": self.restarts}
        return {title: places for title, places in marks.items() if places}

    def _curve(
        self, width: int, n_rows: int, levels: str, marks: dict[str, Sequence[float]]
    ) -> Iterator[Text]:
        """Yield the curve over the whole stream, with its title, range, marks and axis."""
        known = [value for _, value in self.windows if not math.isnan(value)]
        ends = [figures.cell(self.measure, end(known)) for end in (max, min)] if known else ["", ""]
        n_before = max(map(len, [*ends, *marks])) + 1
        columns = resampled(self.windows, self.n_total, max(width - n_before, 1))
        titles = [ends[0], *[""] * (n_rows - 2), ends[1]]
        yield Text(f"{self.measure} along the stream", "bold")
        for title, row in zip(titles, _rows(columns, n_rows, levels), strict=True):
            yield _line(f"{title:>{n_before - 1}} ", row, _BLUE)
        for title, places in marks.items():
            marked = [" "] * len(columns)
            for place in places:
                marked[min(int(place / self.n_total * len(columns)), len(columns) - 1)] = _MARK
            yield _line(f"{title:<{n_before}}", "".join(marked), _VERMILION)
        yield _line(" " * n_before, f"{self.n_total:>{len(columns)},}", "")


def _line(title: str, text: str, style: str) -> Text:
    """Return a line of text with its title before it."""
    return Text(title, no_wrap=True, overflow="crop").append(text, style)


def _rows(values: NDArray[np.float64], n_rows: int, levels: str) -> list[str]:
    """Return columns as high as the values, from the lowest to the highest, as rows of text.

    >>> _rows(np.array([0.5, 0.6, math.nan, 0.7]), 2, " -#")
    [' - #', '-# #']
    """
    known = values[~np.isnan(values)]
    n_levels = len(levels) - 1  # of a cell that is not empty
    heights = np.zeros(len(values), dtype=np.int64)
    if len(known):
        low, span = known.min(), np.ptp(known)
        shares = (values - low) / span if span > 0.0 else np.where(np.isnan(values), values, 1.0)
        above = np.round(shares * (n_rows * n_levels - 1))
        heights = np.where(np.isnan(values), 0, 1 + np.nan_to_num(above)).astype(np.int64)
    return [
        "".join(levels[height] for height in np.clip(heights - row * n_levels, 0, n_levels))
        for row in reversed(range(n_rows))
    ]


def _flow(parts: Iterable[Text], width: int) -> list[Text]:
    """Return parts side by side, in as many lines as they need."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + len(_GAP) + part.cell_len <= width:
            lines[-1].append(_GAP).append_text(part)
        else:
            lines.append(Text(no_wrap=True, overflow="ellipsis").append_text(part))
    return lines


def _bars(
    rows: Iterable[tuple[str, float, str]], total: float, width: int, in_ascii: bool
) -> Table:
    """Return lines of a name, a bar and a number each."""
    table = Table.grid(expand=True, padding=(0, 1), pad_edge=False)
    table.width = width
    table.add_column(no_wrap=True, max_width=min(_LONGEST_NAME, width // 3), overflow="ellipsis")
    table.add_column(ratio=1)
    table.add_column(no_wrap=True, justify="right")
    for title, value, shown in rows:
        bar: Bar | ProgressBar = Bar(total, 0.0, value, color=_BLUE)
        if in_ascii:  # which the other one does not know
            bar = ProgressBar(total, value, complete_style=_BLUE, finished_style=_BLUE)
        table.add_row(Text(title), bar, Text(shown))
    return table


def resampled(
    windows: Sequence[tuple[int, float]], n_total: int, width: int
) -> NDArray[np.float64]:
    """Return the mean in each column of windows spread over all samples, NaN where none is known.

    >>> resampled([(1, 0.5), (2, 0.7), (3, 0.9), (4, 0.9)], n_total=8, width=4)
    array([0.6, 0.9, nan, nan])
    """
    ends = np.array([0, *(end for end, _ in windows)], dtype=np.float64)
    values = np.array([value for _, value in windows], dtype=np.float64)
    weights = np.where(np.isnan(values), 0.0, np.diff(ends))
    edges = np.linspace(0.0, n_total, width + 1)
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values) * weights)])
    lengths = np.concatenate([[0.0], np.cumsum(weights)])
    known = np.diff(np.interp(edges, ends, lengths))
    with np.errstate(invalid="ignore"):
        return np.where(known > 0.0, np.diff(np.interp(edges, ends, sums)) / known, np.nan)
