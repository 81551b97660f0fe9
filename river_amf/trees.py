"""The trees of a forest, to look at one by one: a forest is a sequence of them.

The sequence is that of river's ensembles, and the names are those of its Hoeffding trees. A `Tree`
holds nothing but the forest and its index, so that it always shows the tree as it is now.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels, layout, paths, trends
from river_amf.kinds import shown

__all__ = ["Ensemble", "Tree"]


@dataclass(frozen=True, repr=False)
class Tree:
    """A tree of a forest, as it is whenever it is looked at; it can not learn by itself.

    Parameters
    ----------
    forest
        The forest.
    index
        Index of the tree, from 0.

    Examples
    --------
    >>> from river_amf import AMFClassifier
    >>> model = AMFClassifier(n_estimators=2, seed=1)
    >>> for length, label in [(1.0, "short"), (1.5, "short"), (4.0, "long"), (4.5, "long")]:
    ...     model.learn_one({"length": length}, label)
    >>> model[0]
    Tree 0 of AMFClassifier: 3 nodes, height 2, 4 samples
    >>> model[0].n_leaves
    2
    """

    forest: Any
    index: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes; 0 before the first sample, and right after a restart."""
        return int(_numbers_of_nodes(self.forest)[self.index])

    @property
    def n_branches(self) -> int:
        """Number of nodes that are split."""
        return self.n_nodes // 2

    @property
    def n_leaves(self) -> int:
        """Number of nodes that are not split."""
        return (self.n_nodes + 1) // 2

    @property
    def height(self) -> int:
        """Number of nodes on the longest path: 1 for a root alone, 0 without nodes, as in river."""
        height: int = self.forest._read(_height, self.forest, self.index)
        return height

    @property
    def n_samples(self) -> float:
        """Sum of the weights of the samples learned, since the last restart if there was one."""
        weight: float = self.forest._read(_weight, self.forest, self.index)
        return weight

    @property
    def summary(self) -> dict[str, float]:
        """All of these figures, by name.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model[0].summary
        {'n_nodes': 1, 'n_branches': 0, 'n_leaves': 1, 'height': 1, 'n_samples': 1.0}
        """
        summary: dict[str, float] = self.forest._read(self._summary)
        return summary

    def _summary(self) -> dict[str, float]:
        names = ("n_nodes", "n_branches", "n_leaves", "height", "n_samples")
        return {name: getattr(self, name) for name in names}

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Hashable, float]:
        """Predict the probability of each label that a classifier has seen, by this tree alone.

        Parameters
        ----------
        x
            Features, as in `AMFClassifier.predict_proba_one`.

        Returns
        -------
        dict
            Probability of each label; they sum to 1. Empty before the first sample. Without nodes,
            all labels are equally probable.

        Raises
        ------
        TypeError, ValueError
            If `x` is invalid, as in `learn_one`.
        AttributeError
            If the forest is a regressor.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(n_estimators=2, seed=1)
        >>> for length, label in [(1.0, "short"), (1.5, "short"), (4.0, "long")]:
        ...     model.learn_one({"length": length}, label)
        >>> x = {"length": 1.2}
        >>> mean = sum(tree.predict_proba_one(x)["short"] for tree in model) / len(model)
        >>> abs(mean - model.predict_proba_one(x)["short"]) < 1e-12
        True
        """
        if self.forest.task == layout.REGRESSION:
            raise AttributeError(
                f"a tree of {type(self.forest).__name__} predicts a number, not probabilities of "
                "labels; use predict_one"
            )
        proba: dict[Hashable, float] = self.forest._read(_predict_proba, self.forest, self.index, x)
        return proba

    def predict_one(self, x: dict[Any, Any]) -> Hashable:
        """Predict the label or target by this tree alone.

        Of a classifier, it is the most probable label, in a tie that seen first. In a regressor
        with a trend, trees with odd indices learn what that leaves of the target, and their
        predictions include the trend.

        Parameters
        ----------
        x
            Features, as in `AMFClassifier.predict_proba_one`.

        Returns
        -------
        Hashable
            The label, None before the first sample; or the target, 0.0 before the first sample.

        Raises
        ------
        TypeError, ValueError
            If `x` is invalid, as in `learn_one`.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model[-1].predict_one({"length": 2.0})
        'short'
        """
        if self.forest.task == layout.REGRESSION:
            number: float = self.forest._read(_predict, self.forest, self.index, x)
            return number
        proba = self.predict_proba_one(x)
        return max(proba, key=lambda label: proba[label], default=None)

    def debug_one(self, x: dict[Any, Any]) -> str:
        """Explain the forest's prediction with the path down this tree, as the forest's method.

        Parameters
        ----------
        x
            Features, as in `AMFClassifier.debug_one`.

        Returns
        -------
        str
            The explanation.

        Raises
        ------
        TypeError, ValueError
            If `x` is invalid, as in `learn_one`.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model[3].debug_one({"length": 2.0}) == model.debug_one({"length": 2.0}, tree=3)
        True
        """
        text: str = self.forest.debug_one(x, tree=self.index)
        return text

    def __repr__(self) -> str:
        figures = self.summary
        return (
            f"Tree {self.index} of {type(self.forest).__name__}: {figures['n_nodes']} nodes, "
            f"height {figures['height']}, {figures['n_samples']:g} samples"
        )


class Ensemble:
    """Mixin that makes a forest the sequence of its trees, as river's ensembles are of models."""

    # A forest has at least one tree, also before its first sample, so that it is always true.

    def __len__(self: Any) -> int:
        """Return the number of trees."""
        return int(self.n_estimators)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.models)

    @overload
    def __getitem__(self, index: int) -> Tree: ...

    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...

    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        """Return a tree, or the trees of a slice as a list."""
        if isinstance(index, slice):
            return self.models[index]
        n_trees = len(self)
        try:
            place = operator.index(index)
        except TypeError:
            raise TypeError(
                f"the index of a tree must be an integer or a slice, got {shown(index)} of type "
                f"{type(index).__name__}"
            ) from None
        if not -n_trees <= place < n_trees:
            raise IndexError(
                f"the index of a tree must be between {-n_trees} and {n_trees - 1}, got {place}"
            )
        return Tree(self, place % n_trees)

    @property
    def models(self) -> list[Tree]:
        """The trees as a list, under the name that river's ensembles have for it.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(n_estimators=3, seed=1)
        >>> [tree.n_nodes for tree in model], model.models == list(model)
        ([0, 0, 0], True)
        """
        return [Tree(self, index) for index in range(len(self))]

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(n_estimators=3, seed=1)
        >>> for length, label in [(1.0, "short"), (4.0, "long")]:
        ...     model.learn_one({"length": length}, label)
        >>> model.n_nodes, model.n_branches, model.n_leaves, model.n_samples
        (9, 3, 6, 2.0)
        """
        return int(_numbers_of_nodes(self).sum())

    @property
    def n_branches(self) -> int:
        """Number of nodes of all trees that are split."""
        return int((_numbers_of_nodes(self) // 2).sum())

    @property
    def n_leaves(self) -> int:
        """Number of nodes of all trees that are not split."""
        return int(((_numbers_of_nodes(self) + 1) // 2).sum())

    @property
    def n_samples(self: Any) -> float:
        """Sum of the weights of the samples learned, by default their number."""
        return float(self._read(_weight, self, 0))  # the first tree never restarts

    def n_drifts_detected(self: Any, tree_id: int | None = None) -> int:
        """Return how often trees have started afresh, as river's `ARFClassifier` has it.

        Only every second tree can, and only with a `restart_threshold`.

        Parameters
        ----------
        tree_id
            Index of a tree, from 0. With `None`, the restarts of all trees are counted.

        Returns
        -------
        int
            The number of restarts.

        Raises
        ------
        TypeError, IndexError
            If `tree_id` is not an integer, or there is no such tree.

        Examples
        --------
        >>> from river_amf import AdaptiveAMFClassifier
        >>> model = AdaptiveAMFClassifier(n_estimators=4, seed=1)
        >>> for i in range(3000):
        ...     model.learn_one({"a": i % 7}, (i % 7 < 3) is (i < 2000))
        >>> model.n_drifts_detected(), model.n_drifts_detected(tree_id=0)
        (2, 0)
        """
        trees = slice(None)
        if tree_id is not None:
            tree = paths.check_tree(len(self), tree_id)
            trees = slice(tree, tree + 1)
        return int(self._read(_restarts, self, trees))


def _restarts(forest: Any, trees: slice) -> int:
    """Return the number of restarts of some trees."""
    return 0 if forest._arena is None else int(forest._arena.trees["n_restarts"][trees].sum())


def _numbers_of_nodes(forest: Any) -> NDArray[np.int64]:
    """Return the number of nodes of each tree."""
    numbers: NDArray[np.int64] = forest._read(_read_numbers, forest)
    return numbers


def _read_numbers(forest: Any) -> NDArray[np.int64]:
    if forest._arena is None:
        return np.zeros(forest.n_estimators, np.int64)
    numbers: NDArray[np.int64] = forest._arena.trees["n_nodes"].astype(np.int64)
    return numbers


def _weight(forest: Any, index: int) -> float:
    """Return the sum of the weights of the samples that a tree has learned."""
    arena = forest._arena
    root = kernels.NONE if arena is None else int(arena.trees["root"][index])
    return 0.0 if root == kernels.NONE else float(arena.nodes["n_samples"][index, root])


def _height(forest: Any, index: int) -> int:
    """Return the number of nodes on the longest path down a tree."""
    arena = forest._arena
    if arena is None:
        return 0
    return len(paths.levels(arena.nodes[index], int(arena.trees["root"][index])))


def _predict(forest: Any, index: int, x: dict[Any, Any]) -> float:
    """Return the target predicted by a tree alone."""
    heard = forest._engine.lock.run(forest._engine.listen, x)
    if heard is None:
        return 0.0
    return float(forest._labels.origin + trends.of_trees(forest._arena, heard)[index])


def _predict_proba(forest: Any, index: int, x: dict[Any, Any]) -> dict[Hashable, float]:
    """Return the probabilities of the labels by a tree alone."""
    values = forest._encode(x)
    if values is None:
        return {}
    labels = list(forest._labels)
    proba = paths.predict(forest._arena, index, values)[: len(labels)]
    return dict(zip(labels, (proba / proba.sum()).tolist(), strict=True))
