"""Prequential evaluation: the test-then-train loop over a stream.

Each sample is predicted before it is learned, so no prediction has seen its own label. The loop
computes the same values of river's metrics as `river.evaluate.progressive_val_score`, for several
at once, and measures only the time that the model takes. As in river, the predicted label is the
result of `predict_one`; metrics that need probabilities are NaN for a classifier without them, and
metrics of intervals for a regressor without those.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from river import base
from tqdm import tqdm

from river_amf import kernels
from river_amf.evaluation.predictors import Answer, predictor_of, timed
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.streams import Features, Sample, Target

OnPrediction = Callable[[int, Features, Target, Answer], None]

WARM_UP = 100  # samples; enough to meet every compiled function of an early stream


class TestThenTrain:
    """The loop of one model over a stream, whose results can be read at any time."""

    __test__ = False  # or pytest would collect it

    # A sample counts once it is learned: if the loop is interrupted, the results are those of the
    # n_samples before. As in river, a sample without a prediction, such as the first, is not
    # scored. on_prediction is called before each sample is learned, with its number from 1, its
    # features and target, and the answer; on_learned is called once the sample counts.
    def __init__(
        self,
        model: base.Estimator,
        scores: Scores,
        on_prediction: OnPrediction | None = None,
        on_learned: OnPrediction | None = None,
    ) -> None:
        self.n_samples = 0
        self.scores = scores
        self._seconds = 0.0
        self._model: Any = model
        is_watched = on_prediction is not None or on_learned is not None
        with_intervals = scores.need_intervals or is_watched
        self._predict = predictor_of(model, with_intervals=with_intervals)
        self._on_prediction = on_prediction
        self._on_learned = on_learned

    def run(self, samples: Iterable[Sample], checkpoints: Container[int] = ()) -> Iterator[int]:
        """Predict, learn and score each sample; yield their number at checkpoints and the end."""
        for x, y in samples:
            self._step(x, y)
            if self.n_samples in checkpoints:
                yield self.n_samples
        if self.n_samples and self.n_samples not in checkpoints:
            yield self.n_samples

    def figures(self) -> dict[str, float]:
        """Return the metrics, microseconds per sample and bytes after at least one sample."""
        return {
            **self.scores.total(),
            "us_per_sample": 1e6 * self._seconds / self.n_samples,
            "memory": self._model._raw_memory_usage,
        }

    def _step(self, x: Features, y: Target) -> None:
        n = self.n_samples + 1
        answer = self._predict(n, x)
        if self._on_prediction is not None:
            self._on_prediction(n, x, y, answer)
        answer = answer.kept()
        _, learning = timed(n, self._model.learn_one, x, y)
        self.scores.update(y, answer.prediction, answer.beside)
        self._seconds += answer.seconds + learning
        self.n_samples = n
        if self._on_learned is not None:
            self._on_learned(n, x, y, answer)


def warm_up(model: base.Estimator, samples: Iterable[Sample]) -> None:
    """Let a copy of a model learn up to a hundred samples, to trigger all compilation."""
    for _ in TestThenTrain(model, Scores({})).run(itertools.islice(samples, WARM_UP)):
        pass
    if kernels.are_in_use():  # one of our forests is in it, and may need more later on
        kernels.warm_up()


def progress_bar(
    n_samples: int, samples: Iterable[Sample] | None = None, *, is_shown: bool = True
) -> tqdm[Any]:
    """Return a progress bar on stderr, which counts the samples given as they are iterated over."""
    return tqdm(
        samples,
        total=n_samples,
        unit=" samples",
        leave=False,
        file=sys.stderr,
        disable=not is_shown,
    )


def every(n_samples: int) -> range:
    """Return endless checkpoints, one every n_samples samples."""
    return range(int(n_samples), sys.maxsize, int(n_samples))


def even_checkpoints(n_samples: int, n_checkpoints: int = 10) -> range:
    """Return about n_checkpoints sample counts, spaced by 1, 2 or 5 times a power of ten."""
    wanted = max(n_samples / n_checkpoints, 1)
    power = 10 ** math.floor(math.log10(wanted))
    round_numbers = (power, 2 * power, 5 * power, 10 * power)
    interval = min(round_numbers, key=lambda number: abs(math.log(number / wanted)))
    return range(interval, n_samples + 1, interval)
