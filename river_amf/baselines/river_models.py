"""The classifiers and regressors, and the tables of their names."""

from __future__ import annotations

import functools
import importlib.util
from collections import Counter
from collections.abc import Callable
from typing import Any

from river import (
    base,
    compose,
    dummy,
    ensemble,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    rules,
    stats,
    tree,
)

from river_amf.baselines import preparation
from river_amf.baselines.boosting import BoostingClassifier, BoostingRegressor
from river_amf.baselines.preparation import Features, TargetScaler, present, scale_and_encode, split
from river_amf.baselines.recurrent import NEEDED, RecurrentClassifier
from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.regressor import AdaptiveAMFRegressor, AMFRegressor

_N_MODELS = 10  # in an ensemble
_N_INPUTS = 256  # of the neural network
_BUFFER = 1000  # recent samples among which neighbors are searched
_GRACE_PERIODS = (50, 100, 200, 400, 800)  # of the stacked trees, in samples
_RATE = 0.1  # of AdaGrad, in standard deviations of the target

_Make = Callable[..., Any]  # a model, with the seed as keyword
_Table = dict[str, tuple[str, _Make]]  # a description, and a function

# Classifiers


def _bins(x: Features) -> Features:
    """Put standardized numbers into seven bins."""
    return {name: round(value) for name, value in preparation.clip(x).items()}


def _words(x: Features) -> Features:
    """Count the words of each text, and take numbers as counts, negative ones as other counts."""
    texts = preparation.categories(x).items()
    words = Counter(f"{name}={word}" for name, text in texts for word in str(text).lower().split())
    counts = preparation.numbers(x).items()
    return {n if c >= 0.0 else f"{n} (negative)": abs(c) for n, c in counts} | words


def _some(x: Features) -> Features:
    """Return the features, or a constant if there are none, by whose number river divides."""
    return x or {"": 0.0}


def _zeros(_: Features) -> Features:
    """Return zero for each input of the neural network."""
    return dict.fromkeys(range(_N_INPUTS), 0.0)


def _one_per_label(make: Callable[[], base.Classifier]) -> _Make:
    """Return a function that makes a model for each label, behind scaler and encoder."""
    return lambda **_: compose.Pipeline(scale_and_encode(), multiclass.OneVsRestClassifier(make()))


def _nearest() -> Any:
    return neighbors.LazySearch(window_size=_BUFFER)


def _knn(**_: Any) -> Any:
    model = neighbors.KNNClassifier(n_neighbors=10, engine=_nearest())
    return compose.Pipeline(scale_and_encode(), model)


def _gaussian_nb(**_: Any) -> Any:
    # Codes, not one-hot columns: any other value of a column that was constant for a label is next
    # to impossible to river's model. Scaled, because then even a constant code varies a little.
    codes = split([], [preprocessing.OrdinalEncoder()])
    model = naive_bayes.GaussianNB()  # type: ignore[no-untyped-call]
    return compose.Pipeline(codes, preprocessing.StandardScaler(), model)


def _multinomial(*steps: Any) -> Any:
    model = naive_bayes.MultinomialNB()  # type: ignore[no-untyped-call]
    return compose.Pipeline(*steps, compose.Pipeline(_some, model))


def _categorical_nb(**_: Any) -> Any:
    # Up to smoothing it is multinomial naive Bayes on one-hot encoded categories.
    binned = split([preprocessing.StandardScaler(), _bins], [])
    return _multinomial(binned, preprocessing.OneHotEncoder(drop_zeros=True))


def _mlp(seed: int | None) -> Any:
    from river.compat import convert_sklearn_to_river
    from sklearn.neural_network import MLPClassifier

    # The first sample fixes the numbers of inputs and labels of a network: features are hashed to
    # so many columns, and each label gets a network.
    hashed = preprocessing.FeatureHasher(n_features=_N_INPUTS, seed=seed)
    columns = compose.TransformerUnion(hashed, _zeros)
    network = convert_sklearn_to_river(MLPClassifier(random_state=seed), classes=[False, True])
    return compose.Pipeline(scale_and_encode(), columns, multiclass.OneVsRestClassifier(network))


def _hoeffding(criterion: str = "info_gain", grace_period: int = 200) -> base.Classifier:
    return tree.HoeffdingTreeClassifier(grace_period, split_criterion=criterion, binary_split=True)


def _stacking(**_: Any) -> Any:
    trees = [_hoeffding(kind, grace) for kind in ("info_gain", "gini") for grace in _GRACE_PERIODS]
    combiner = multiclass.OneVsRestClassifier(linear_model.Perceptron())
    # without the features themselves, as a perceptron cannot multiply strings
    stack = ensemble.StackingClassifier(trees, combiner, include_features=False)
    return compose.Pipeline(present, stack)


def _hoeffding_by(criterion: str) -> _Make:
    return lambda **_: compose.Pipeline(present, _hoeffding(criterion))


def _trees(make: Callable[..., Any]) -> _Make:
    """Return a function that makes an ensemble of Hoeffding trees."""
    return lambda seed: compose.Pipeline(present, make(_hoeffding(), _N_MODELS, seed=seed))


def _arf(seed: int | None) -> Any:
    return compose.Pipeline(present, forest.ARFClassifier(_N_MODELS, binary_split=True, seed=seed))


_CLASSIFIERS: _Table = {
    "majority": ("the most frequent label so far", lambda **_: dummy.PriorClassifier()),
    "last-class": ("the most recent label", lambda **_: dummy.NoChangeClassifier()),
    "knn": (f"k-nearest neighbors, 10 of the last {_BUFFER} samples", _knn),
    "gaussian-nb": ("Gaussian naive Bayes on numbers and category codes", _gaussian_nb),
    "categorical-nb": ("categorical naive Bayes, numbers in seven bins", _categorical_nb),
    "multinomial-nb": (
        "multinomial naive Bayes on words and counts",
        lambda **_: _multinomial(_words),
    ),
    "perceptron": ("perceptron, one per label", _one_per_label(linear_model.Perceptron)),
    "logistic": (
        "logistic regression by SGD, one per label",
        _one_per_label(linear_model.LogisticRegression),
    ),
    "mlp": ("scikit-learn's neural network, one per label", _mlp),
    "rnn": (
        "Keras's recurrent network (GRU) over the last 8 samples",
        lambda seed: compose.Pipeline(scale_and_encode(), RecurrentClassifier(seed=seed)),
    ),
    "hoeffding-gain": ("Hoeffding tree, split by information gain", _hoeffding_by("info_gain")),
    "hoeffding-gini": ("Hoeffding tree, split by the Gini index", _hoeffding_by("gini")),
    "bagging": ("bagging of ten Hoeffding trees", _trees(ensemble.BaggingClassifier)),
    "leveraging-bagging": (
        "leveraging bagging of ten trees",
        _trees(ensemble.LeveragingBaggingClassifier),
    ),
    "arf": ("adaptive random forest of ten trees", _arf),
    "adaboost": ("AdaBoost of ten Hoeffding trees", _trees(ensemble.AdaBoostClassifier)),
    "boosting": ("scikit-learn's boosting, retrained every 1000 samples", BoostingClassifier),
    "stacking": ("ten Hoeffding trees, combined by a perceptron", _stacking),
    "amf": ("our Mondrian forest of ten trees", AMFClassifier),
    "adaptive": ("our Mondrian forest for streams that drift", AdaptiveAMFClassifier),
}

# Regressors


def behind_scalers(model: base.Regressor) -> Any:
    """Scale the features and the target of a model."""
    return compose.Pipeline(scale_and_encode(preparation.clip), TargetScaler(model))


def linear_regression() -> base.Regressor:
    """Return the linear model, which most of the others contain."""
    # With river's default, SGD at a fixed rate, it diverges where there are a hundred features.
    return linear_model.LinearRegression(optim.AdaGrad(_RATE))


def _tree(**parameters: Any) -> base.Regressor:
    return tree.HoeffdingTreeRegressor(leaf_model=linear_regression(), **parameters)


def _knn_regressor(**_: Any) -> Any:
    model = neighbors.KNNRegressor(10, _nearest(), aggregation_method="weighted_mean")
    return compose.Pipeline(scale_and_encode(), model)


def _arf_regressor(seed: int | None) -> Any:
    leaf = linear_regression()
    trees = forest.ARFRegressor(_N_MODELS, aggregation_method="mean", leaf_model=leaf, seed=seed)
    return behind_scalers(trees)


def _srp(seed: int | None) -> Any:
    one = _tree(grace_period=50, delta=0.01)  # as river's own default
    return behind_scalers(ensemble.SRPRegressor(one, _N_MODELS, seed=seed))


def _amf_of_river(seed: int | None) -> Any:
    # These trees split a number the more often the larger its range is.
    prepared = split([preprocessing.MinMaxScaler()], [preprocessing.OneHotEncoder()])
    return compose.Pipeline(prepared, TargetScaler(forest.AMFRegressor(_N_MODELS, seed=seed)))


_REGRESSORS: _Table = {
    "mean": ("the mean of all values so far", lambda **_: dummy.StatisticRegressor(stats.Mean())),
    "last-value": (
        "the most recent value",
        lambda **_: dummy.StatisticRegressor(stats.Shift(0, fill_value=0.0)),
    ),
    "linear": ("linear regression by AdaGrad", lambda **_: behind_scalers(linear_regression())),
    "knn": (_CLASSIFIERS["knn"][0], _knn_regressor),
    "hoeffding": (
        "Hoeffding tree with linear models in its leaves",
        lambda **_: behind_scalers(_tree()),
    ),
    "amrules": (
        "adaptive model rules",
        lambda **_: behind_scalers(rules.AMRules(pred_model=linear_regression())),
    ),
    "bagging": (
        "bagging of ten Hoeffding trees",
        lambda seed: behind_scalers(ensemble.BaggingRegressor(_tree(), _N_MODELS, seed)),
    ),
    "arf": ("adaptive random forest of ten trees", _arf_regressor),
    "srp": ("streaming random patches of ten trees", _srp),
    "boosting": (_CLASSIFIERS["boosting"][0], BoostingRegressor),
    "amf-of-river": ("river's Mondrian forest of ten trees", _amf_of_river),
    "amf": (_CLASSIFIERS["amf"][0], AMFRegressor),
    "adaptive": (_CLASSIFIERS["adaptive"][0], AdaptiveAMFRegressor),
}

# The tables, without the models that need what is not installed

_SKLEARN = ("sklearn",), 'needs scikit-learn: pip install "scikit-learn>=1.6"'
_KERAS = ("keras", "jax"), NEEDED
_NEEDED = {"mlp": _SKLEARN, "boosting": _SKLEARN, "rnn": _KERAS}
MISSING: dict[str, str] = {
    name: needed
    for name, (packages, needed) in _NEEDED.items()
    if not all(map(importlib.util.find_spec, packages))
}
for _name in MISSING:
    _CLASSIFIERS.pop(_name, None)
    _REGRESSORS.pop(_name, None)
DESCRIPTIONS: dict[str, str] = {name: text for name, (text, _) in _CLASSIFIERS.items()}
REGRESSOR_DESCRIPTIONS: dict[str, str] = {name: text for name, (text, _) in _REGRESSORS.items()}


def make_baseline(is_regression: bool, name: str, seed: int | None) -> Any:
    """Make a baseline; the functions below are partial ones of this, which can be pickled."""
    _, make = (_REGRESSORS if is_regression else _CLASSIFIERS)[name]
    return make(seed=seed)


def classifiers(seed: int | None = None) -> dict[str, Callable[[], base.Classifier]]:
    """Return functions that make the baseline models, by name.

    Parameters
    ----------
    seed
        Seed of the models that draw random numbers. Models made with the same seed are identical.
        With `None`, these models are not reproducible.

    Returns
    -------
    dict
        From the name of each baseline, as in `DESCRIPTIONS`, to a function without arguments that
        returns a new model. The functions can be pickled. `"mlp"` and `"boosting"` are there if
        scikit-learn is installed, `"rnn"` if Keras and JAX are.

    Notes
    -----
    River's trees and their ensembles sort the labels, so for them strings and numbers cannot both
    be labels of one stream. An infinite number raises `ValueError` in all models that look at
    features.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from river.datasets import Phishing
    >>> from river_amf import baselines
    >>> make = baselines.classifiers(seed=1)
    >>> list(make)[:5]
    ['majority', 'last-class', 'knn', 'gaussian-nb', 'categorical-nb']
    >>> baselines.DESCRIPTIONS["logistic"]
    'logistic regression by SGD, one per label'
    >>> score = evaluate.progressive_val_score(Phishing(), make["logistic"](), metrics.Accuracy())
    >>> score.get() > 0.85
    True
    """
    return {name: functools.partial(make_baseline, False, name, seed) for name in _CLASSIFIERS}


def regressors(seed: int | None = None) -> dict[str, Callable[[], base.Regressor]]:
    """Return functions that make the baseline regressors, by name.

    They are as those of `classifiers`, described in `REGRESSOR_DESCRIPTIONS`. In most of them the
    target is standardized, too. Before its first sample each predicts 0.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from river.datasets import TrumpApproval
    >>> from river_amf import baselines
    >>> model = baselines.regressors(seed=1)["linear"]()
    >>> evaluate.progressive_val_score(TrumpApproval(), model, metrics.MAE()).get() < 1.0
    True
    """
    return {name: functools.partial(make_baseline, True, name, seed) for name in _REGRESSORS}
