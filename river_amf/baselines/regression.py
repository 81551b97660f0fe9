"""The regressors, and the table of their names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from river import (
    base,
    compose,
    dummy,
    ensemble,
    forest,
    linear_model,
    neighbors,
    optim,
    preprocessing,
    rules,
    stats,
    tree,
)

from river_amf.baselines.preparation import Features, each, scaled, with_sortable_names
from river_amf.regressor import AdaptiveAMFRegressor, AMFRegressor
from river_amf.scaling import TargetScaler

_N_MODELS = 10  # in an ensemble
_BUFFER = 1000  # the number of recent samples that neighbors are searched in
_OUTERMOST = 3.0  # distance of a number from the mean at most, in standard deviations
_RATE = 0.1  # of AdaGrad, in standard deviations of the target


# Preparation


def clipped(x: Features) -> Features:
    """Clip numbers of mean 0 and standard deviation 1.

    River's linear models, which the leaves of its trees have too, never recover from an outlier.
    """
    return {name: max(-_OUTERMOST, min(value, _OUTERMOST)) for name, value in x.items()}


def _pipeline(*steps: Any) -> base.Regressor:
    """Chain steps; river wraps plain functions among them."""
    return cast(base.Regressor, compose.Pipeline(*steps))


def behind_scalers(model: base.Regressor) -> base.Regressor:
    """Scale what goes into a model, and the target."""
    return _pipeline(scaled(clipped), with_sortable_names, TargetScaler(model))


def linear_regression() -> base.Regressor:
    """Return the linear model, which most of the others have within."""
    # With river's default, SGD at a fixed rate, it diverges where there are a hundred features.
    return linear_model.LinearRegression(optim.AdaGrad(_RATE))


def _tree(**parameters: Any) -> base.Regressor:
    return tree.HoeffdingTreeRegressor(leaf_model=linear_regression(), **parameters)


# The models


def _mean(_: int | None) -> base.Regressor:
    return dummy.StatisticRegressor(stats.Mean())


def _last_value(_: int | None) -> base.Regressor:
    return dummy.StatisticRegressor(stats.Shift(0, fill_value=0.0))


def _linear(_: int | None) -> base.Regressor:
    return behind_scalers(linear_regression())


def _knn(_: int | None) -> base.Regressor:
    engine = neighbors.LazySearch(window_size=_BUFFER)
    nearest = neighbors.KNNRegressor(10, engine, aggregation_method="weighted_mean")
    return _pipeline(scaled(), nearest)


def _hoeffding(_: int | None) -> base.Regressor:
    return behind_scalers(_tree())


def _amrules(_: int | None) -> base.Regressor:
    return behind_scalers(rules.AMRules(pred_model=linear_regression()))


def _bagging(seed: int | None) -> base.Regressor:
    return behind_scalers(ensemble.BaggingRegressor(_tree(), _N_MODELS, seed))


def _arf(seed: int | None) -> base.Regressor:
    trees = forest.ARFRegressor(
        _N_MODELS, aggregation_method="mean", leaf_model=linear_regression(), seed=seed
    )
    return behind_scalers(trees)


def _srp(seed: int | None) -> base.Regressor:
    one = _tree(grace_period=50, delta=0.01)  # as river's own default
    return behind_scalers(ensemble.SRPRegressor(one, _N_MODELS, seed=seed))


def _river_amf(seed: int | None) -> base.Regressor:
    # A number is worth as much as its range in the eyes of these trees.
    one_hot = preprocessing.OneHotEncoder()
    prepared = each([preprocessing.MinMaxScaler()], [one_hot])
    trees = forest.AMFRegressor(_N_MODELS, seed=seed)
    return _pipeline(prepared, with_sortable_names, TargetScaler(trees))


def _amf(seed: int | None) -> base.Regressor:
    return AMFRegressor(seed=seed)


def _adaptive(seed: int | None) -> base.Regressor:
    return AdaptiveAMFRegressor(seed=seed)


class _Baseline(NamedTuple):
    """An entry of the table below."""

    make: Callable[[int | None], base.Regressor]
    description: str


_BASELINES = {
    "mean": _Baseline(_mean, "the mean of all values so far"),
    "last-value": _Baseline(_last_value, "the most recent value"),
    "linear": _Baseline(_linear, "linear regression by AdaGrad"),
    "knn": _Baseline(_knn, f"k-nearest neighbors, 10 of the last {_BUFFER} samples"),
    "hoeffding": _Baseline(_hoeffding, "Hoeffding tree with linear models in its leaves"),
    "amrules": _Baseline(_amrules, "adaptive model rules"),
    "bagging": _Baseline(_bagging, "bagging of ten Hoeffding trees"),
    "arf": _Baseline(_arf, "adaptive random forest of ten trees"),
    "srp": _Baseline(_srp, "streaming random patches of ten trees"),
    "river-amf": _Baseline(_river_amf, "river's Mondrian forest of ten trees"),
    "amf": _Baseline(_amf, "our Mondrian forest of ten trees"),
    "adaptive": _Baseline(_adaptive, "our Mondrian forest for streams that drift"),
}

REGRESSOR_DESCRIPTIONS: dict[str, str] = {
    name: baseline.description for name, baseline in _BASELINES.items()
}


def regressors(seed: int | None = None) -> dict[str, Callable[[], base.Regressor]]:
    """Return functions that make the baseline models for numbers, by name.

    Parameters
    ----------
    seed
        Seed of the models that draw random numbers. Models made with the same seed are identical.
        With `None`, these models are not reproducible.

    Returns
    -------
    dict
        From the name of each baseline, as in `REGRESSOR_DESCRIPTIONS`, to a function without
        arguments that returns a new model. Before its first sample each predicts 0. The functions
        can be pickled, to make models in other processes.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from river.datasets import TrumpApproval
    >>> from river_amf import baselines

    >>> make = baselines.regressors(seed=1)
    >>> list(make)[:5]
    ['mean', 'last-value', 'linear', 'knn', 'hoeffding']
    >>> baselines.REGRESSOR_DESCRIPTIONS["linear"]
    'linear regression by AdaGrad'
    >>> error = evaluate.progressive_val_score(TrumpApproval(), make["linear"](), metrics.MAE())
    >>> error.get() < 1.0
    True
    """
    return {name: functools.partial(baseline.make, seed) for name, baseline in _BASELINES.items()}
