"""A forest whose trees are cut over workers, and which is the same as in one process."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from river_amf import persistence
from river_amf.classifier import AMFClassifier
from river_amf.engine.forest_engine import Engine
from river_amf.explain.trees import forest_of
from river_amf.forest import Forest
from river_amf.parameters import Check, integer
from river_amf.ray.remote_engine import DistributedEngine, Options
from river_amf.ray.team import CHECKS
from river_amf.regressor import AMFRegressor
from river_amf.state.layout import CLASSIFICATION

_FILE = "forest.amf"


class DistributedForest(Forest):
    """A forest whose trees learn and predict in several processes, on one machine or many.

    Each worker, a Ray actor, has some of the trees. It gets every block of rows, and its trees
    learn all of it; then the votes of all trees meet here. The result is that of one process to the
    last bit, whatever the number of workers: the same predictions, and after `gather` the same
    model. So it pays where there are many trees, and blocks of some hundred rows or more.

    It is a river classifier or regressor, as `model` is, and has its methods. `learn_many` returns
    when a block has been checked and sent, and the workers learn it while the next one is prepared;
    all other methods wait. Single samples work, but each takes about as long as a small block:
    one or two milliseconds.

    A worker that dies is started anew as it was, from its last checkpoint and the blocks since, and
    nothing else changes. For the death of this process there are `save` and `load`.

    Parameters
    ----------
    model
        A forest of this package, new or learnt, which is not changed. Each worker uses as many
        threads as its `n_jobs` says.
    n_workers
        Number of workers, at most one for each tree. With `None`, as many as Ray has CPUs.
    block_size
        Number of rows that are sent at once; a longer block is cut.
    max_waiting
        Number of blocks that may be on their way to the workers when the next one is accepted.
    checkpoint_every
        Number of rows between two checkpoints of a worker. The rows since the last one are kept in
        Ray's object store. A checkpoint that cannot be made is warned of (RuntimeWarning).
    checkpoint_folder
        Where checkpoints of workers are written, a folder that all machines share. With `None`,
        they are kept in the object store of this machine. They serve this object only, and `close`
        removes them; other forests may use the same folder. They are pickles, so whoever can write
        to the folder can run code.

    Raises
    ------
    TypeError
        If `model` is no forest of this package.
    ValueError
        If a parameter is not valid.

    Examples
    --------
    >>> import pickle
    >>> import tempfile
    >>> import pandas as pd
    >>> from river import datasets
    >>> from river_amf import AMFClassifier
    >>> from river_amf.ray import DistributedForest

    >>> X, y = zip(*datasets.Bananas())
    >>> X, y = pd.DataFrame(X), pd.Series(y)
    >>> model = AMFClassifier(n_estimators=20, seed=1)
    >>> forest = DistributedForest(model, n_workers=2)
    >>> forest.learn_many(X[:4000], y[:4000])
    >>> bool((forest.predict_many(X[4000:]) == y[4000:]).mean() > 0.88)
    True

    It is the forest of one process:

    >>> model.learn_many(X[:4000], y[:4000])
    >>> pickle.dumps(forest.gather()) == pickle.dumps(model)
    True

    It goes on from a folder, with any number of workers. A `with` statement closes it at the end.

    >>> folder = tempfile.mkdtemp()
    >>> forest.save(folder)
    >>> forest.close()
    >>> with DistributedForest.load(folder, n_workers=3) as forest:
    ...     forest.n_workers, forest.n_estimators
    (3, 20)
    """

    model: Any
    n_workers: int | None
    block_size: int
    max_waiting: int
    checkpoint_every: int
    checkpoint_folder: str | os.PathLike[str] | None
    _engine: Any  # a DistributedEngine, in the place of an Engine

    _own_checks: ClassVar[dict[str, Check]] = {**CHECKS, "block_size": integer(1)}
    _always_writable: ClassVar[frozenset[str]] = frozenset()

    def __new__(cls, model: Any, *arguments: Any, **options: Any) -> Self:
        """Return an object that is a classifier or a regressor."""
        if cls is not DistributedForest:
            return super().__new__(cls)
        forest = forest_of(model)
        kind = _Classifier if forest.task == CLASSIFICATION else _Regressor
        return object.__new__(kind)  # type: ignore[return-value]

    def __init__(
        self,
        model: Any,
        n_workers: int | None = None,
        *,
        block_size: int = 1000,
        max_waiting: int = 2,
        checkpoint_every: int = 100_000,
        checkpoint_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        options = Options(n_workers, block_size, max_waiting, checkpoint_every, checkpoint_folder)
        for name, value in options._asdict().items():
            self._own_checks[name](name, value)
            setattr(self, name, value)
        forest = forest_of(model)
        self.model = forest.clone()
        for name in self._checks:
            setattr(self, name, getattr(forest, name))
        sent = self.model.clone()
        if sent.seed is None:  # all have to draw the same trees
            sent.seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        whole: Engine = copy.deepcopy(forest._engine)
        self._engine = DistributedEngine(whole, sent, options)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._own_checks and self._has_learnt:
            self._refuse(name, value)
        super().__setattr__(name, value)

    @property
    def _has_learnt(self) -> bool:
        # Parameters belong to the workers from the beginning.
        return hasattr(self, "_engine")

    @property
    def _features(self) -> Any:
        return self._engine.features

    @property
    def _labels(self) -> Any:
        return self._engine.labels

    @property
    def _settled(self) -> Engine:
        """The engine of the whole forest, for whoever looks inside."""
        return self._engine.gathered()  # type: ignore[no-any-return]

    def gather(self) -> Any:
        """Return the model that one process would have.

        Returns
        -------
        AMFClassifier, AdaptiveAMFClassifier, AMFRegressor or AdaptiveAMFRegressor
            A model of the same class as `model`, which has learned all that this forest has, with
            equal pickles. It is independent: learning with the one does not change the other.
        """
        model = self.model.clone()
        model._engine = self._engine.taken()
        return model

    def save(self, path: Any) -> None:
        """Write a checkpoint to a folder, from which `load` goes on.

        It is one file, `forest.amf`, of the gathered model, which `river_amf.load` reads too. An
        existing one is replaced once the new one is complete.

        Parameters
        ----------
        path
            The folder, which is made if it does not exist.

        Raises
        ------
        OSError, TypeError, ValueError
            As `river_amf.save` does.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.gather().save(folder / _FILE)

    @classmethod
    def load(cls, path: Any, n_workers: int | None = None, **options: Any) -> Self:
        """Return a forest that goes on from a checkpoint.

        Parameters
        ----------
        path
            A folder that `save` has written to.
        n_workers
            Number of workers, which may be another than before.
        options
            The other parameters of the class, but for `model`.

        Raises
        ------
        FileNotFoundError
            If there is no checkpoint.
        river_amf.FileError
            If it is damaged.
        """
        return cls(persistence.load(Path(path) / _FILE), n_workers, **options)

    def close(self) -> None:
        """End the workers; afterwards only another call of `close` does anything.

        Workers also end with the process, and with the last reference to the forest.
        """
        self._engine.close()

    def __reduce__(self) -> Any:
        raise TypeError("a DistributedForest cannot be copied or pickled; what it gathers can")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Classifier(DistributedForest, AMFClassifier):
    pass


class _Regressor(DistributedForest, AMFRegressor):
    pass


for _kind in (_Classifier, _Regressor):
    _kind.__name__ = _kind.__qualname__ = DistributedForest.__name__  # in messages
