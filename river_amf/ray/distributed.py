"""A forest over workers: each holds a forest with some of the trees; predictions are averaged."""

from __future__ import annotations

import functools
import os
import pickle
import zipfile
from collections.abc import Callable
from operator import attrgetter, methodcaller
from typing import IO, Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
from river import base
from river.conf import Interval

from river_amf import persistence
from river_amf.classifier import AMFClassifier
from river_amf.forest import Forest
from river_amf.inputs import frames
from river_amf.inputs.kinds import shown
from river_amf.outputs.frames import check_series, label_series, number_series, proba_frame
from river_amf.parameters import Check, CheckedParameters
from river_amf.persistence import FileError, files
from river_amf.ray.workers import CHECKS, Workers
from river_amf.regressor import AMFRegressor
from river_amf.state.layout import CLASSIFICATION


def _weighted(answers: list[Any], shares: list[float]) -> Any:
    """Return the weighted mean of answers: numbers, lists, dicts, intervals, series or frames."""
    first = answers[0]
    if first is None:  # of learning
        return None
    if isinstance(first, Interval):
        ends = [[interval.lower, interval.upper] for interval in answers]
        return Interval(*_weighted(ends, shares))
    if isinstance(first, dict):
        return {label: _weighted([a[label] for a in answers], shares) for label in first}
    native: Any = functools.partial(
        nw.from_native, eager_only=True, allow_series=True, pass_through=True
    )
    arrays = [np.asarray(native(answer), np.float64) for answer in answers]
    mean: Any = sum(share * array for share, array in zip(shares, arrays, strict=True))
    like = native(first)
    if isinstance(like, nw.DataFrame):
        return proba_frame(like, [*like.columns], mean)
    if isinstance(like, nw.Series):
        return number_series(like.to_frame(), mean)
    return mean.tolist()


def _averaged(method: Callable[..., Any]) -> Any:
    """Return a method that calls that of each worker, and averages the answers."""

    @functools.wraps(method)
    def call(self: DistributedForest, *arguments: Any, **keywords: Any) -> Any:
        function = methodcaller(method.__name__, *arguments, **keywords)
        return _weighted(self._workers.call(function), self._shares)

    return call


class DistributedForest(CheckedParameters, base.Estimator):
    """A forest whose trees learn and predict in several processes, on one machine or many.

    The trees of `model`, a forest of this package that has learned nothing, are dealt evenly to
    `n_workers` Ray actors, at most one for each tree (else ValueError). Worker i has the seed
    `seed + i`, where a seed of `None` is drawn once, and a vote and linear models of its own. All
    get all rows, and their predictions are averaged, weighted by their numbers of trees. They
    differ a little from those of one process, except with one worker. `inspection` takes forests of
    one process only.

    It is a river classifier or regressor, as `model` is, with its methods to learn and predict. It
    pays off with many trees and blocks of some hundred rows or more; a single sample takes one or
    two milliseconds. A call that raises an error leaves all workers as they were. A worker that
    dies, even in the middle of a call, is replaced by one in the same state. Against the death of
    this process, use `save` and `load`: a file has the forests of all workers. A `with` statement
    ends the workers. By default Ray starts without a dashboard or statistics; call `ray.init` first
    for another Ray.

    >>> import os
    >>> import tempfile
    >>> from river import datasets
    >>> from river_amf import AMFClassifier
    >>> from river_amf.ray import DistributedForest

    >>> path = os.path.join(tempfile.mkdtemp(), "forest.amf")
    >>> with DistributedForest(AMFClassifier(n_estimators=20, seed=1), n_workers=2) as forest:
    ...     for x, y in datasets.Phishing().take(100):
    ...         forest.learn_one(x, y)
    ...     forest.save(path)
    >>> forest = DistributedForest.load(path)
    >>> forest.predict_one(x)
    True
    >>> forest.close()
    """

    _checks: ClassVar[dict[str, Check]] = CHECKS

    def __new__(cls, model: Any, *arguments: Any, **options: Any) -> Self:
        """Return an object that is a classifier or a regressor."""
        if not isinstance(model, Forest):
            raise TypeError(f"model must be a forest of river_amf, got {shown(model)}")
        kind = _Classifier if model._task == CLASSIFICATION else _Regressor
        return object.__new__(kind)  # type: ignore[return-value]

    def __init__(self, model: Any, n_workers: int) -> None:
        self.model = model
        self.n_workers = n_workers
        if model._has_learned:
            raise ValueError("model has learned; pass model.clone()")
        if n_workers > model.n_estimators:
            what = f"at most n_estimators, {model.n_estimators}, got {n_workers}"
            raise ValueError(f"n_workers must be {what}")
        self._start(self._dealt())

    def _dealt(self) -> list[Any]:
        """Return the forests of the workers before the first sample."""
        n, k, seed = self.model.n_estimators, self.n_workers, self.model.seed
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        return [
            self.model.clone({"n_estimators": n // k + (i < n % k), "seed": seed + i})
            for i in range(k)
        ]

    def _start(self, models: list[Any]) -> None:
        self._shares = [model.n_estimators / self.model.n_estimators for model in models]
        self._workers = Workers(models)

    @property
    def _has_learned(self) -> bool:
        return "_workers" in self.__dict__  # which have the parameters from the beginning

    @property
    def _raw_memory_usage(self) -> int:
        return sum(self._workers.call(attrgetter("memory_usage")))

    learn_one = _averaged(Forest.learn_one)
    learn_many = _averaged(Forest.learn_many)
    novelty_one = _averaged(Forest.novelty_one)

    def save(self, path: persistence.PathLike) -> None:
        """Save the forests of all workers to one file, as `river_amf.save` does."""
        models = map(pickle.loads, self._workers.checkpoints())

        def write(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, "w") as archive:
                for worker, model in enumerate(models):
                    notes = {"worker": [worker, self.n_workers]}
                    entry = zipfile.ZipInfo(f"{worker}.amf")  # of one time, as in other files
                    with archive.open(entry, "w", force_zip64=True) as member:
                        persistence.save_with_notes(model, member, notes)

        files.replace(os.fsdecode(path), write)

    @classmethod
    def load(cls, path: persistence.PathLike) -> Self:
        """Load a forest from a file, with as many workers as it had, or raise FileError."""
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
                loaded = [persistence.load_with_header(archive.open(name)) for name in names]
        except (zipfile.BadZipFile, RuntimeError, EOFError) as error:
            raise FileError(f"{path} is damaged: {error}") from error
        models = [model for model, _ in loaded]
        workers = [header["notes"].get("worker") for _, header in loaded]
        if not models or workers != [[worker, len(models)] for worker in range(len(models))]:
            raise FileError(f"{path} does not hold the forests of all workers")
        n_estimators = sum(model.n_estimators for model in models)
        forest = cls(models[0].clone({"n_estimators": n_estimators}), len(models))
        if [model._parameters for model in models] != [m._parameters for m in forest._dealt()]:
            raise FileError(f"{path} holds forests that do not belong to one forest over workers")
        forest._start(models)
        return forest

    def close(self) -> None:
        """End the workers; afterwards all other calls raise RuntimeError."""
        self._workers.close()

    __reduce__: Any = Workers.__reduce__  # an error: there are no copies

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Classifier(DistributedForest, base.MiniBatchClassifier):
    predict_proba_one = _averaged(AMFClassifier.predict_proba_one)
    predict_proba_many = _averaged(AMFClassifier.predict_proba_many)
    predict_proba_then_learn_many = _averaged(AMFClassifier.predict_proba_then_learn_many)
    predict_one: Any = AMFClassifier.predict_one

    @property
    def _multiclass(self) -> bool:
        return True

    @functools.wraps(AMFClassifier.predict_then_learn_many)
    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        frame = frames.frame_of(X)
        [labels] = self._workers.call(attrgetter("_labels"), 0)
        check_series(frame, labels, y)
        X = X if frames.is_matrix(X) else frames.as_pandas(frame)
        proba = self.predict_proba_then_learn_many(X, y, w)
        return self._as_series(frame, proba)

    @functools.wraps(AMFClassifier.predict_many)
    def predict_many(self, X: Any) -> Any:  # type: ignore[override]
        frame = frames.frame_of(X)
        proba = self.predict_proba_many(X if frames.is_matrix(X) else frames.as_pandas(frame))
        return self._as_series(frame, proba)

    def _as_series(self, frame: Any, proba: Any) -> Any:
        """Return the most probable label of each row, or None if there is none."""
        labels, values, codes = [*proba.columns, None], proba.to_numpy(), None
        if values.shape[1]:
            has_none = np.isnan(values[:, 0])  # nothing had been learned
            codes = np.where(has_none, len(labels) - 1, values.argmax(axis=1))
        return label_series(frame, labels, codes)


class _Regressor(DistributedForest, base.MiniBatchRegressor):
    predict_one = _averaged(AMFRegressor.predict_one)
    predict_many = _averaged(AMFRegressor.predict_many)
    predict_interval_one = _averaged(AMFRegressor.predict_interval_one)
    predict_interval_many = _averaged(AMFRegressor.predict_interval_many)
    predict_quantile_one = _averaged(AMFRegressor.predict_quantile_one)
    predict_quantile_many = _averaged(AMFRegressor.predict_quantile_many)
    predict_then_learn_many = _averaged(AMFRegressor.predict_then_learn_many)


for _kind in (_Classifier, _Regressor):
    _kind.__name__ = _kind.__qualname__ = DistributedForest.__name__  # in messages
