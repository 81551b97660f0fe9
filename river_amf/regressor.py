"""The forest regressors: their parameters, documentation and thin methods over the engine."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base
from river.conf import Interval

from river_amf import frames
from river_amf.engine import Answers, Engine
from river_amf.forest import Forest
from river_amf.layout import LOCATION, LOWER, REGRESSION, UPPER
from river_amf.parameters import MOST_TREES, Check, cores, flag, integer, one_of, positive
from river_amf.settings import check_together
from river_amf.targets import Targets

_LEVEL = 0.9  # of an interval, unless another one is asked for

check_level = positive(below=1)


class Predictions(NamedTuple):
    """The predictions for a block of rows, with intervals if there is a level."""

    prediction: NDArray[np.float64]
    lower: NDArray[np.float64] | None
    upper: NDArray[np.float64] | None


class AMFRegressor(Forest, base.MiniBatchRegressor):
    """Aggregated Mondrian Forest regressor for data streams."""

    task = REGRESSION
    _file_kind = "AMFRegressor"
    _checks: ClassVar[dict[str, Check]] = {
        "n_estimators": integer(1, MOST_TREES),
        "step": positive(),
        "split_prior": positive(below=1),
        "use_aggregation": flag,
        "max_nodes": integer(1, optional=True),
        "max_categories": integer(1, optional=True),
        "max_bytes": integer(1, optional=True),
        "split_intensity": one_of("range", "relevance", "unit"),
        "fading_factor": positive(below=1, optional=True),
        "restart_threshold": positive(optional=True),
        "vote": one_of("mean", "learned"),
        "trend": one_of(None, "ridge"),
        "on_mismatch": one_of("raise", "missing"),
        "n_jobs": cores,
        "seed": integer(0, math.inf, optional=True),
    }

    # what the engine asks for that is fixed here: cells have no labels to be pure in
    n_classes = None
    dirichlet = None
    split_pure = True
    absent = "missing"
    max_columns = 0
    max_vocabulary = None
    linear = None

    def __init__(
        self,
        n_estimators: int = 10,
        step: float = 1.0,
        use_aggregation: bool = True,
        max_nodes: int | None = None,
        seed: int | None = None,
        *,
        split_prior: float = 0.5,
        max_categories: int | None = None,
        max_bytes: int | None = None,
        split_intensity: str = "range",
        fading_factor: float | None = None,
        restart_threshold: float | None = None,
        vote: str = "mean",
        trend: str | None = None,
        on_mismatch: str = "raise",
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.step = step
        self.use_aggregation = use_aggregation
        self.max_nodes = max_nodes
        self.seed = seed
        self.split_prior = split_prior
        self.max_categories = max_categories
        self.max_bytes = max_bytes
        self.split_intensity = split_intensity
        self.fading_factor = fading_factor
        self.restart_threshold = restart_threshold
        self.vote = vote
        self.trend = trend
        self.on_mismatch = on_mismatch
        self.n_jobs = n_jobs
        check_together(self)
        self._engine = Engine(Targets())

    def predict_one(self, x: dict[Any, Any], with_interval: bool = False, **kwargs: Any) -> Any:
        """Predict the target."""
        return self.predict_interval_one(x) if with_interval else self._answer(x)

    def predict_interval_one(self, x: dict[Any, Any], level: float = _LEVEL) -> Interval:
        """Predict an interval that holds the target with a given probability."""
        check_level("level", level)
        return Interval(*self._engine.lock.run(self._engine.predict_interval, x, float(level)))

    def predict_many(self, X: Any) -> Any:
        """Predict the target of each row."""
        frame = self._frame_of(X)
        return frames.number_series(frame, self._predictions(self._predict_block(X)).prediction)

    def predict_interval_many(self, X: Any, level: float = _LEVEL) -> Any:
        """Predict an interval for each row, that holds the target with a given probability."""
        check_level("level", level)
        frame = self._frame_of(X)
        answers = self._predict_block(X, float(level))
        _, lower, upper = self._predictions(answers, has_intervals=True)
        return frames.proba_frame(frame, ["lower", "upper"], np.stack([lower, upper], axis=1))

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one."""
        return frames.number_series(self._frame_of(X), self._test_then_train(X, y, w).prediction)

    def _test_then_train(self, X: Any, y: Any, w: Any, level: float | None = None) -> Predictions:
        """Predict each row, with an interval if there is a level, then learn it."""
        answers, n_known, _ = self._learn_block(X, y, w, predicts=True, level=level or 0.0)
        return self._predictions(answers, n_known > 0, has_intervals=level is not None)

    def _predictions(
        self,
        answers: Answers,
        is_known: NDArray[np.bool_] | bool = True,
        *,
        has_intervals: bool = False,
    ) -> Predictions:
        """Return predictions, given the forest's answers and which of them had learned anything."""
        origin = self._labels.origin
        if origin is None:
            origin, is_known = 0.0, False
        known = np.broadcast_to(is_known, len(answers))
        ends = (LOCATION, LOWER, UPPER) if has_intervals else (LOCATION,)
        columns = [np.where(known, answers[:, end] + origin, 0.0) for end in ends]
        return Predictions(*columns, *[None] * (3 - len(columns)))

    def _read_labels(self, y: Any, n_rows: int) -> frames.Column:
        return frames.read_targets(y, n_rows)


class AdaptiveAMFRegressor(AMFRegressor):
    """Aggregated Mondrian Forest regressor for streams that drift."""

    _file_kind = "AdaptiveAMFRegressor"
