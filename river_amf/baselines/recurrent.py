"""A recurrent network that learns online: Keras's GRU over the last samples, run by JAX.

The network, its gradients and its optimizer are the libraries'. Here are only what they need to be
a model of a stream: an input of fixed size, the last samples, and room for new labels.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import base, preprocessing

from river_amf.inputs.encoding import column_order

_N_INPUTS = 256  # for features
_FEWEST_LABELS = 8  # that there is room for; it doubles whenever it is used up
_OUTERMOST = 10.0  # of an input, in standard deviations: float32 holds no 1e39, nor its square
_RATE = 0.01  # of Adam

NEEDED = 'needs Keras and JAX: pip install "keras>=3.8" "jax>=0.5"'

Features = dict[Any, Any]
Arrays = list[Any]


def is_installed() -> bool:
    """Tell whether Keras and JAX can be imported, without doing so."""
    try:
        found = [importlib.util.find_spec(name) for name in ("keras", "jax")]
    except ValueError:  # something else has been put in the place of one of them
        return False
    return all(spec is not None and spec.origin is not None for spec in found)


def _keras() -> Any:
    """Import Keras, on JAX unless the user has chosen another backend, which is an error."""
    if "keras" not in sys.modules:
        os.environ.setdefault("KERAS_BACKEND", "jax")
    try:
        import jax  # noqa: F401
        import keras
    except ImportError as error:
        raise ImportError(f"the model 'rnn' {NEEDED}", name=error.name) from error
    backend = keras.backend.backend()
    if backend != "jax":
        raise RuntimeError(
            f"the model 'rnn' needs Keras on JAX, but Keras runs on {backend!r} in this process:"
            " set KERAS_BACKEND=jax before Keras is imported"
        )
    return keras


class _Network(NamedTuple):
    """Functions of a network's state, which is its weights and those of the optimizer."""

    start: Callable[[int], Arrays]  # the state for a seed
    learn: Callable[[Arrays, NDArray[np.float32], int, int], Arrays]  # the state after a step
    predict: Callable[[Arrays, NDArray[np.float32], int], Any]  # the probabilities


@functools.cache  # all models of one shape share what is compiled
def _network(length: int, n_units: int, n_labels: int) -> _Network:
    """Return a network for `length` samples and up to `n_labels` labels."""
    keras = _keras()
    import jax
    from jax import numpy as jnp

    def build(seed: int) -> tuple[Any, Any]:
        # Keras draws from Python's own generator where it is given no seed.
        layers = keras.layers
        model = keras.Sequential(
            [
                keras.Input((length, _N_INPUTS + n_labels)),
                layers.GRU(
                    n_units,
                    kernel_initializer=keras.initializers.GlorotUniform(seed),
                    recurrent_initializer=keras.initializers.Orthogonal(seed=seed),
                    seed=seed,
                ),
                layers.Dense(n_labels, kernel_initializer="zeros"),
            ]
        )
        optimizer = keras.optimizers.Adam(_RATE, clipnorm=1.0)
        optimizer.build(model.trainable_variables)
        return model, optimizer

    model, optimizer = build(0)
    fixed = [variable.value for variable in model.non_trainable_variables]
    n_weights = len(model.trainable_variables)

    def start(seed: int) -> Arrays:
        of_seed, its_optimizer = build(seed)
        variables = [*of_seed.trainable_variables, *its_optimizer.variables]
        return [np.array(variable.value) for variable in variables]

    def log_probabilities(weights: Arrays, window: Any, n_seen: Any) -> Any:
        scores, _ = model.stateless_call(weights, fixed, window[None])
        is_seen = jnp.arange(n_labels) < n_seen
        return jax.nn.log_softmax(jnp.where(is_seen, scores[0], -jnp.inf))

    def learn(state: Arrays, window: Any, label: Any, n_seen: Any) -> Arrays:
        weights, memory = state[:n_weights], state[n_weights:]
        gradients = jax.grad(lambda w: -log_probabilities(w, window, n_seen)[label])(weights)
        weights, memory = optimizer.stateless_apply(memory, gradients, weights)
        return [*weights, *memory]

    def predict(state: Arrays, window: Any, n_seen: Any) -> Any:
        return jnp.exp(log_probabilities(state[:n_weights], window, n_seen))

    return _Network(start, jax.jit(learn), jax.jit(predict))


def _enlarged(old: Arrays, new: Arrays) -> Arrays:
    """Return new arrays whose first entries along each axis are those of the old ones."""
    for smaller, larger in zip(old, new, strict=True):
        larger[tuple(map(slice, np.shape(smaller)))] = smaller
    return new


class RecurrentClassifier(base.Classifier):
    """A GRU over the last samples, with a softmax over the labels seen so far.

    Each sample is one step of gradient descent, by Adam, on the log-loss of its label. The network
    takes the features of the last `length` samples, that sample being the last of them, and with
    each the label that came before it. It remembers samples when they are learned:
    those that are only predicted leave no trace.

    New features may come at any time. The first 256 have an input each; later ones share these, by
    a hash of their names. What is absent is 0. New labels may come at any time, too. There is room
    for eight in the beginning; when it is used up, it doubles, all weights are kept, and a larger
    network is compiled, which takes some seconds. Otherwise a network is compiled once in a
    process.

    Parameters
    ----------
    length
        How many samples the network takes, at least 1.
    n_units
        Units of the GRU, at least 1.
    seed
        Seed of the first weights. With the same seed the same samples give the same predictions;
        with `None`, they do not.

    Notes
    -----
    Without Keras on JAX, ImportError or RuntimeError is raised. Where Keras has not been imported
    and `KERAS_BACKEND` is not set, it is set to `"jax"`.

    Features must be finite numbers of a size of about 1. `baselines.classifiers()["rnn"]` has what
    scales numbers, encodes categories and fills gaps before it.

    Examples
    --------
    The label is whether the last sample was red:

    >>> import random
    >>> from river_amf.baselines.recurrent import RecurrentClassifier
    >>> model, rng = RecurrentClassifier(seed=1), random.Random(1)
    >>> was_red, n_right = False, 0
    >>> for _ in range(300):
    ...     x = {"red": rng.choice([0, 1])}
    ...     n_right += model.predict_one(x) == was_red
    ...     model.learn_one(x, was_red)
    ...     was_red = x["red"] == 1
    >>> n_right > 250
    True
    """

    def __init__(self, length: int = 8, n_units: int = 32, seed: int | None = None) -> None:
        _keras()
        for name, value in (("length", length), ("n_units", n_units)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self.length = length
        self.n_units = n_units
        self.seed = seed
        self._drawn = int(np.random.default_rng(seed).integers(2**31))
        self._hasher = preprocessing.FeatureHasher(_N_INPUTS, seed=0)
        self._inputs: dict[Any, int] = {}  # by the names of features
        self._labels: dict[Hashable, int] = {}
        self._n_labels = 0  # that there is room for
        self._last: int | None = None  # the label that came last
        self._state: Arrays = []
        self._window = np.zeros((length, _N_INPUTS), np.float32)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_state": [np.asarray(array) for array in self._state]}

    def __sizeof__(self) -> int:
        # River adds up what objects say of themselves, and arrays of JAX do not say how large they
        # are; those of NumPy it knows.
        of_jax = [int(array.nbytes) for array in self._state if not isinstance(array, np.ndarray)]
        return super().__sizeof__() + sum(of_jax)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _network(self) -> _Network:
        return _network(self.length, self.n_units, self._n_labels)

    def _make_room(self) -> None:
        """Double the number of labels that there is room for."""
        n_labels = 2 * self._n_labels or _FEWEST_LABELS
        state = _network(self.length, self.n_units, n_labels).start(self._drawn)
        if self._state:
            state = _enlarged(self._state, state)
        window = np.zeros((self.length, _N_INPUTS + n_labels), np.float32)
        (self._window,) = _enlarged([self._window], [window])
        self._state, self._n_labels = state, n_labels

    def _add_inputs(self, x: Features) -> None:
        """Give new features an input each, while there are any, in order of their names."""
        n_free = _N_INPUTS - len(self._inputs)
        if n_free:
            for name in sorted(x.keys() - self._inputs.keys(), key=column_order)[:n_free]:
                self._inputs[name] = len(self._inputs)

    def _with(self, x: Features) -> NDArray[np.float32]:
        """Return the last samples and one more, a row for each."""
        row = np.zeros(_N_INPUTS)
        known = [name for name in x if name in self._inputs]
        row[[self._inputs[name] for name in known]] = [x[name] for name in known]
        if len(known) < len(x) and len(self._inputs) == _N_INPUTS:
            others = {name: value for name, value in x.items() if name not in self._inputs}
            shared = self._hasher.transform_one(others)  # type: ignore[no-untyped-call]
            for number, value in shared.items():
                row[number] += value
        window = np.roll(self._window, -1, axis=0)
        window[-1] = 0.0
        window[-1, :_N_INPUTS] = np.clip(row, -_OUTERMOST, _OUTERMOST)
        if self._last is not None:
            window[-1, _N_INPUTS + self._last] = 1.0
        return window

    def learn_one(self, x: Features, y: Hashable) -> None:
        """Learn one sample: a dict of numbers, and any hashable as its label."""
        if y not in self._labels:
            if len(self._labels) == self._n_labels:
                self._make_room()
            self._labels[y] = len(self._labels)
        self._add_inputs(x)
        label, window = self._labels[y], self._with(x)
        self._state = self._network.learn(self._state, window, label, len(self._labels))
        self._window, self._last = window, label

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label seen so far; empty before the first sample."""
        n_seen = len(self._labels)
        if not n_seen:
            return {}
        answer = self._network.predict(self._state, self._with(x), n_seen)
        probabilities = np.asarray(answer, np.float64)[:n_seen]
        probabilities /= probabilities.sum()  # in float32 they sum to 1 only nearly
        return dict(zip(self._labels, probabilities.tolist(), strict=True))
