"""The common calls for single samples: one closure each, over the present schema and arena.

They handle samples and labels that bring nothing new, and leave all others to the engine. They are
made anew when features, labels or arena have changed. They get the engine as an argument, as an
engine that refers to itself would be freed late.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

from river_amf import kernels
from river_amf.engine.known import Known
from river_amf.engine.lock import refuse_within
from river_amf.kernels import DONE

Predict = Callable[[Any, Any], Any]  # engine, x
Learn = Callable[[Any, Any, Any, float, Any], None]  # engine, x, y, weight, parameters


def fast_predict(known: Known, slow: Predict) -> Predict:
    """Return a function that predicts a sample, by `slow`, under the lock, unless it is common."""
    features, labels, arena = known
    assert arena is not None
    encode, sample, read = features.encode_known, features.sample, labels.answer
    buffer = sample.prediction.buffer
    addresses = arena.address, sample.address, sample.prediction.address
    predict_sample = kernels.predict_sample.of(arena.kind)

    def predict(engine: Any, x: Any) -> Any:
        lock = engine.lock
        if lock._is_owned():
            refuse_within()
        with lock:
            if (
                engine.known is known
                and engine.pending is None
                and encode(x) is not None
                and predict_sample(*addresses) == DONE
            ):
                return read(buffer)
            return slow(engine, x)

    return predict


def fast_learn(known: Known, slow: Learn) -> Learn:
    """Return a function that learns a sample, by `slow`, under the lock, unless it is common."""
    features, labels, arena = known
    assert arena is not None
    encode, sample, number_of = features.encode_known, features.sample, labels.get
    n_learned, is_bounded = arena.n_learned, features.bounded
    address, of_sample, of_prediction = arena.address, sample.address, sample.prediction.address
    learn_sample = kernels.learn_sample.of(arena.kind)

    def learn(engine: Any, x: Any, y: Hashable, weight: float, parameters: Any) -> None:
        lock = engine.lock
        if lock._is_owned():
            refuse_within()
        with lock:
            n = n_learned[0]
            if (
                engine.known is known
                and engine.pending is None
                and n & (n - 1)  # warnings are given at powers of two
                and weight > 0.0
                and not engine.late.waiting
                and encode(x) is not None
            ):
                try:
                    label = number_of(y)
                except TypeError:  # which `slow` raises with a better text
                    label = None
                if label is not None:
                    target = float(label)
                    engine.pending = engine.finish_sample
                    if is_bounded:
                        engine.pending = functools.partial(engine.finish_sample, n)
                    status = learn_sample(address, of_sample, target, weight, of_prediction, 0)
                    if status == DONE and not is_bounded:
                        engine.pending = None
                    else:
                        engine.finish_call(status, x, target, weight, parameters)
                    return
            slow(engine, x, y, weight, parameters)

    return learn
