"""The trees of a forest, which is a sequence of them, as river's ensembles are of models."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.engine.engine import Engine
from river_amf.inputs.labels import Labels, Targets
from river_amf.inputs.schema import Schema
from river_amf.outputs.predictions import first_prediction
from river_amf.outputs.votes import tree_votes, voter_probabilities
from river_amf.parameters import Parameters
from river_amf.state import layout
from river_amf.state.arena import Arena
from river_amf.state.layout import Array


def _figure(name: str, doc: str) -> Any:
    """Return a property that reads a figure of the summary."""
    return property(lambda tree: tree.summary[name], doc=doc)


@dataclass(frozen=True, repr=False)
class Tree:
    """A view of a tree of a forest, always up to date; its figures have river's names.

    >>> from river_amf import AMFClassifier
    >>> model = AMFClassifier(n_estimators=2, seed=1)
    >>> for length, label in [(1.0, "short"), (1.5, "short"), (4.0, "long"), (4.5, "long")]:
    ...     model.learn_one({"length": length}, label)
    >>> model[0]
    Tree 0 of AMFClassifier: 3 nodes, height 2, 4 samples
    >>> model[0].n_leaves, model[0].predict_one({"length": 2.0})
    (2, 'short')
    """

    forest: Ensemble
    index: int

    n_nodes = _figure("n_nodes", "Number of nodes; 0 before the first sample or after a restart.")
    n_branches = _figure("n_branches", "Number of nodes that are split.")
    n_leaves = _figure("n_leaves", "Number of nodes that are not split.")
    height = _figure("height", "Number of nodes on the longest path: 1 for a root alone.")
    n_samples = _figure("n_samples", "Sum of the weights learned since the last restart, if any.")
    is_full = _figure("is_full", "Whether the tree has reached `max_nodes`.")
    n_restarts = _figure("n_restarts", "Number of restarts.")

    @property
    def summary(self) -> dict[str, float]:
        """All figures, by name."""
        return self.forest._engine.run(_summary, self.forest, self.index)

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Hashable, float]:
        """Predict probabilities of labels by this tree alone, as `AMFClassifier` does.

        Without nodes, all labels are equally probable. A tree of a regressor raises AttributeError.
        """
        if self.forest._task == layout.REGRESSION:
            raise AttributeError("a tree of a regressor has no probabilities; use predict_one")
        return self.forest._engine.run(_predict, self.forest, self.index, x)

    def predict_one(self, x: dict[Any, Any]) -> Hashable:
        """Predict by this tree alone, plus the trend if it learns residuals (odd indices)."""
        answer: Any = self.forest._engine.run(_predict, self.forest, self.index, x)
        is_number = self.forest._task == layout.REGRESSION
        return answer if is_number else max(answer, key=answer.__getitem__, default=None)

    def __repr__(self) -> str:
        figures = "{n_nodes} nodes, height {height}, {n_samples:g} samples".format(**self.summary)
        return f"Tree {self.index} of {type(self.forest).__name__}: {figures}"


class Ensemble(Parameters):
    """A forest as the sequence of its trees, and as tables and texts see it."""

    # A forest has at least one tree, even before its first sample, so it is always true.

    _engine: Engine

    @property
    def _finished_engine(self) -> Engine:
        if self._engine.unfinished is not None:
            self._engine.catch_up()
        return self._engine

    @property
    def _features(self) -> Schema:
        return self._finished_engine.schema

    @property
    def _labels(self) -> Labels | Targets:
        return self._finished_engine.schema.labels

    @property
    def _arena(self) -> Arena:
        return self._finished_engine.arena

    def __len__(self) -> int:
        return int(self.n_estimators)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self[:])

    def __getitem__(self, index: Any) -> Any:
        """Return a `Tree`, or a list of them for a slice."""
        return [Tree(self, k) for k in range(len(self))][index]

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self._engine.run(_counters, self, "n_nodes").sum())

    @property
    def n_samples(self) -> float:
        """Sum of the weights of the samples learned, by default their number; see `learn_one`."""
        return float(self._engine.run(self._engine.weight_of, 0))  # the first tree never restarts

    @property
    def n_restarts(self) -> int:
        """Number of restarts of all trees; only odd ones restart, with a `drift_threshold`.

        >>> from river_amf import AdaptiveAMFClassifier
        >>> model = AdaptiveAMFClassifier(n_estimators=4, seed=1)
        >>> for i in range(3000):
        ...     model.learn_one({"a": i % 7}, (i % 7 < 3) is (i < 2000))
        >>> model.n_restarts, [tree.n_restarts for tree in model]
        (2, [0, 1, 0, 1])
        """
        return int(self._engine.run(_counters, self, "n_restarts").sum())


def river_model(model: Any) -> Any:
    """Return the river model in a fitted estimator of `river_amf.sklearn`; any other as it is."""
    fitted = getattr(type(model), "_fitted_model", None)
    return model if fitted is None else fitted(model)


def forest_of(model: Any) -> Ensemble:
    """Return a forest, or that of a fitted estimator of `river_amf.sklearn`; raise TypeError."""
    forest: Ensemble = river_model(model)
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    if not issubclass(type(forest), Ensemble):
        raise TypeError(
            f"model must be a forest, got {type(forest).__name__}; "
            "for a pipeline, pass its last step, such as pipeline['AMFClassifier']; "
            "for a forest over workers, train one in this process"
        )
    return forest


def levels(nodes: Array, root: int) -> list[NDArray[np.intp]]:
    """Return the numbers of the nodes of a tree by their depth."""
    below = [np.array([root] if root != kernels.NONE else [], np.intp)]
    while len(below[-1]):
        above = below[-1][nodes["left"][below[-1]] != kernels.NONE]
        below.append(np.concatenate([nodes["left"][above], nodes["right"][above]]).astype(np.intp))
    return below[:-1]


def _counters(forest: Ensemble, name: str) -> NDArray[np.int64]:
    if not forest._has_learned:
        return np.zeros(forest.n_estimators, np.int64)
    return forest._arena.trees[name].astype(np.int64)


def _summary(forest: Ensemble, index: int) -> dict[str, float]:
    n_nodes, height = int(_counters(forest, "n_nodes")[index]), 0
    if n_nodes:
        arena = forest._arena
        height = len(levels(arena.nodes[index], arena.trees["root"][index]))
    return {
        "n_nodes": n_nodes,
        "n_branches": n_nodes // 2,
        "n_leaves": (n_nodes + 1) // 2,
        "height": height,
        "n_samples": forest._engine.weight_of(index),
        "is_full": forest.max_nodes is not None and n_nodes + 2 > forest.max_nodes,
        "n_restarts": int(_counters(forest, "n_restarts")[index]),
    }


def _predict(forest: Ensemble, index: int, x: dict[Any, Any]) -> Any:
    outputs = forest._engine.expert_outputs(x)
    if outputs is None:
        return first_prediction(forest._labels)
    if forest._task == layout.REGRESSION:
        prediction: float = tree_votes(forest._arena, outputs.votes)[index]
        return prediction + (forest._labels.origin or 0.0)
    proba = voter_probabilities(forest._arena, outputs)[index]
    return dict(zip(forest._labels, (proba / proba.sum()).tolist(), strict=True))
