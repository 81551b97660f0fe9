"""What `river-amf evaluate --live` does: it shows a run on the terminal, refreshed in place.

The terminal is switched to another screen meanwhile, so nothing of it is left when the window
changes its size, or when Ctrl-C ends the run.
"""

from __future__ import annotations

import contextlib
import io
import math
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any

from river_amf.cli.screen import Console, Live, Screen
from river_amf.evaluation import STREAMS, Stream
from river_amf.evaluation.prequential import TestThenTrain, even_checkpoints
from river_amf.evaluation.streams import Sample
from river_amf.forest import Forest
from river_amf.inspection import feature_relevance

_PERIOD = 0.25  # seconds from one frame to the next,
_SHARE = 0.03  # or longer, so that drawing takes no more of the processor than that,
_LONGEST_PERIOD = 1.0  # up to this
_N_WINDOWS = 100  # of the curve, approximately

# what takes the terminal from us, on systems that have it
_TAKEN = [getattr(signal, name) for name in ("SIGTERM", "SIGTSTP") if hasattr(signal, name)]


class Display:
    """The screen of one run, for as long as it is entered; its last state stays on the terminal."""

    # The thread that runs the model also draws, between two samples: the model is not used by two
    # threads, and signals find nothing half drawn.
    def __init__(self, stream: Stream, model: Any, loop: TestThenTrain, measure: str) -> None:
        generated = None if stream.target else STREAMS.get(stream.name)  # a file has a target
        drifts = () if generated is None else generated.drifts
        self._screen = Screen(stream.name, stream.n_samples, measure, drifts)
        self._loop = loop
        self._forest = model if isinstance(model, Forest) else None
        self._drawn = (time.perf_counter(), 0)  # when the last frame was, after how many samples
        self._due = 0.0  # when the next one is
        self._handlers: dict[int, Any] = {}  # of signals, from before
        self._signals: list[int] = []  # those that came since the last sample
        self._messages = io.StringIO()  # what is written on stderr meanwhile
        # that it is a terminal has been checked; rich would believe FORCE_COLOR
        self._console = Console(force_terminal=True, highlight=False)
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Display:
        with contextlib.ExitStack() as exits:
            exits.callback(self._tell)
            exits.enter_context(contextlib.redirect_stderr(self._messages))
            for number in _TAKEN:
                self._handlers[number] = signal.signal(number, self._note) or signal.SIG_DFL
                exits.callback(signal.signal, number, self._handlers[number])
            exits.enter_context(self._live)
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exits.close()
        if self._loop.n_samples:
            self._look()
            self._console.print(self._screen)

    def run(self, samples: Iterable[Sample]) -> Iterator[int]:
        """Run the loop; yield the number of samples at each checkpoint of the table."""
        n_samples = self._screen.n_total
        checkpoints = even_checkpoints(n_samples)
        windows = even_checkpoints(n_samples, _N_WINDOWS)  # each checkpoint is the end of one
        told = 0
        for n in self._loop.run(self._watched(samples), windows):
            value = self._loop.scores.window()[self._screen.measure]
            self._screen.windows.append((n, value))
            self._count_restarts(n)
            if n in checkpoints:
                yield (told := n)
        if self._loop.n_samples > told:
            yield self._loop.n_samples

    def _watched(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the samples, and draw in between whenever it is time."""
        for sample in samples:
            if self._signals:
                self._give_way(self._signals.pop())
            if time.perf_counter() >= self._due:
                self._draw()
            yield sample

    def _draw(self) -> None:
        """Draw a frame."""
        start, busy = time.perf_counter(), time.thread_time()
        before, n_before = self._drawn
        n = self._loop.n_samples
        if n > n_before:
            self._screen.rate = (n - n_before) / (start - before)
        self._drawn = start, n
        self._look()
        self._live.update(self._screen, refresh=True)
        busy = time.thread_time() - busy
        self._due = start + min(max(_PERIOD, busy / _SHARE), _LONGEST_PERIOD)

    def _look(self) -> None:
        """Take note of where the loop and the forest are."""
        self._screen.n_samples = self._loop.n_samples
        self._screen.metrics = self._loop.scores.total()
        if self._forest is not None and self._loop.n_samples:
            if self._forest.split_intensity == "relevance":
                self._screen.relevance = feature_relevance(self._forest)
            if not math.isnan(self._forest.fading_share):
                self._screen.fading_share = self._forest.fading_share

    def _count_restarts(self, n: int) -> None:
        """Take note of trees that have started afresh in the last window."""
        if self._forest is not None:
            n_new = self._forest.n_drifts_detected() - len(self._screen.restarts)
            self._screen.restarts += [n] * n_new

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: what is to be done waits for the next sample."""
        self._signals.append(number)

    def _give_way(self, number: int) -> None:
        """Leave the screen to whom a signal hands it, and take it again if that comes back."""
        self._live.stop()
        signal.signal(number, self._handlers[number])
        signal.raise_signal(number)
        signal.signal(number, self._note)
        self._live.start()

    def _tell(self) -> None:
        """Write on stderr what could not be seen on the other screen."""
        sys.stderr.write(self._messages.getvalue())
