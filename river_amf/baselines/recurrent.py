"""A recurrent network that learns online: Keras's GRU over the last samples, run by JAX."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, preprocessing

_N_INPUTS = 256  # for features, by a hash of their names
_N_UNITS = 32
_MAX_LABELS = 64
_OUTERMOST = 10.0  # of an input, in standard deviations: float32 holds no 1e39, nor its square
_RATE = 0.01  # of Adam

Features = dict[Any, Any]
Arrays = list[Any]


def _keras() -> Any:
    """Import Keras on JAX."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    return keras


@functools.cache  # all models of one length share what is compiled
def _network(length: int) -> tuple[Callable[..., Any], ...]:
    """Return functions: the weights and optimizer for a seed, a step, and a prediction."""
    keras = _keras()
    import jax
    from jax import numpy as jnp

    def build(seed: int) -> tuple[Any, Any]:
        draw = keras.initializers  # without a seed they draw from Python's own generator
        kernel, recurrent = draw.GlorotUniform(seed), draw.Orthogonal(seed=seed)
        options = {"kernel_initializer": kernel, "recurrent_initializer": recurrent, "seed": seed}
        layers = [
            keras.Input((length, _N_INPUTS + _MAX_LABELS)),
            keras.layers.GRU(_N_UNITS, **options),
            keras.layers.Dense(_MAX_LABELS, kernel_initializer="zeros"),
        ]
        model, optimizer = keras.Sequential(layers), keras.optimizers.Adam(_RATE, clipnorm=1.0)
        optimizer.build(model.trainable_variables)
        return model, optimizer

    model, optimizer = build(0)
    fixed = [variable.value for variable in model.non_trainable_variables]
    n_weights = len(model.trainable_variables)

    def start(seed: int) -> Arrays:
        seeded, its_optimizer = build(seed)
        variables = [*seeded.trainable_variables, *its_optimizer.variables]
        return [np.array(variable.value) for variable in variables]

    def log_probabilities(weights: Arrays, window: Any, n_seen: Any) -> Any:
        scores, _ = model.stateless_call(weights, fixed, window[None])
        return jax.nn.log_softmax(jnp.where(jnp.arange(_MAX_LABELS) < n_seen, scores[0], -jnp.inf))

    def learn(state: Arrays, window: Any, label: Any, n_seen: Any) -> Arrays:
        weights, memory = state[:n_weights], state[n_weights:]
        gradients = jax.grad(lambda w: -log_probabilities(w, window, n_seen)[label])(weights)
        weights, memory = optimizer.stateless_apply(memory, gradients, weights)
        return [*weights, *memory]

    def predict(state: Arrays, window: Any, n_seen: Any) -> Any:
        return jnp.exp(log_probabilities(state[:n_weights], window, n_seen))

    return start, jax.jit(learn), jax.jit(predict)


class RecurrentClassifier(base.Classifier):
    """A GRU over the last `length` samples, with a softmax over the labels seen so far, 64 at most.

    Each sample is one step of Adam on the log-loss of its label. The network reads the features of
    the last samples, the new one included, each with the label before it. Features, which must be
    finite numbers of a size of about 1, share 256 inputs by a hash of their names.

    >>> from river_amf.baselines.recurrent import RecurrentClassifier
    >>> model = RecurrentClassifier(seed=1)
    >>> for i in range(100):
    ...     model.learn_one({}, i % 2 == 0)
    >>> model.predict_one({})
    True
    """

    _multiclass = True

    def __init__(self, length: int = 8, seed: int | None = None) -> None:
        _keras()
        self.length = length
        self.seed = seed
        self._hasher = preprocessing.FeatureHasher(_N_INPUTS, seed=0)
        self._labels: dict[Hashable, int] = {}
        self._last: int | None = None  # the code of the last label
        self._state: Arrays = []
        self._window = np.zeros((length, _N_INPUTS + _MAX_LABELS), np.float32)

    def _with(self, x: Features) -> NDArray[np.float32]:
        """Return the last samples and one more, a row for each."""
        window = np.roll(self._window, -1, axis=0)
        window[-1] = 0.0
        hashed = self._hasher.transform_one(x)  # type: ignore[no-untyped-call]
        window[-1, list(hashed)] = np.clip(list(hashed.values()), -_OUTERMOST, _OUTERMOST)
        if self._last is not None:
            window[-1, _N_INPUTS + self._last] = 1.0
        return window

    def learn_one(self, x: Features, y: Hashable) -> None:
        """Learn one sample."""
        if y not in self._labels and len(self._labels) == _MAX_LABELS:
            raise ValueError(f"label {y!r} is one more than the {_MAX_LABELS} that a network takes")
        start, learn, _ = _network(self.length)
        window = self._with(x)
        state = self._state or start(int(np.random.default_rng(self.seed).integers(2**31)))
        label = self._labels.setdefault(y, len(self._labels))
        self._state = learn(state, window, label, len(self._labels))
        self._window, self._last = window, label

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label seen so far; empty before the first sample."""
        if not self._labels:
            return {}
        *_, predict = _network(self.length)
        proba = np.asarray(predict(self._state, self._with(x), len(self._labels)), np.float64)
        proba = proba[: len(self._labels)]
        proba /= proba.sum()  # in float32 they sum to 1 only nearly
        return dict(zip(self._labels, proba.tolist(), strict=True))
