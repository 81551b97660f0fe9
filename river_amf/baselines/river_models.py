"""The classifiers and regressors, and the tables of their names."""

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
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    rules,
    stats,
    tree,
)
from river.multiclass import OneVsRestClassifier
from river.neighbors import LazySearch

from river_amf.baselines import preparation
from river_amf.baselines.boosting import BoostingClassifier, BoostingRegressor
from river_amf.baselines.preparation import Features, TargetScaler, present, scale_and_encode, split
from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.dummy import OnlineDummyClassifier
from river_amf.regressor import AdaptiveAMFRegressor, AMFRegressor

_N_MODELS = 10  # in an ensemble
_N_INPUTS = 256  # of the neural network
_BUFFER = 1000  # recent samples among which neighbors are searched
_GRACE_PERIODS = (50, 100, 200, 400, 800)  # of the stacked trees, in samples
_RATE = 0.1  # of AdaGrad, in standard deviations of the target

_Makers = dict[str, Callable[[int | None], Any]]  # functions that make a model for a seed


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
    return dict.fromkeys(range(_N_INPUTS), 0.0)


def _scaled(model: Any) -> Any:
    return compose.Pipeline(scale_and_encode(), model)


def _gaussian_nb() -> Any:
    # Codes, not one-hot columns: any other value of a column that was constant for a label is next
    # to impossible to river's model. Scaled, because then even a constant code varies a little.
    codes = split([], [preprocessing.OrdinalEncoder()])
    model = naive_bayes.GaussianNB()  # type: ignore[no-untyped-call]
    return compose.Pipeline(codes, preprocessing.StandardScaler(), model)


def _multinomial_nb(*steps: Any) -> Any:
    model = naive_bayes.MultinomialNB()  # type: ignore[no-untyped-call]
    return compose.Pipeline(*steps, compose.Pipeline(_some, model))


def _categorical_nb() -> Any:
    # Up to smoothing it is multinomial naive Bayes on one-hot encoded categories.
    binned = split([preprocessing.StandardScaler(), _bins], [])
    return _multinomial_nb(binned, preprocessing.OneHotEncoder(drop_zeros=True))


def _mlp(seed: int | None) -> Any:
    from river.compat import convert_sklearn_to_river
    from sklearn.neural_network import MLPClassifier

    # The first sample fixes the numbers of inputs and labels of a network: features are hashed to
    # so many columns, and each label gets a network.
    hashed = preprocessing.FeatureHasher(n_features=_N_INPUTS, seed=seed)
    columns = compose.TransformerUnion(hashed, _zeros)
    network = convert_sklearn_to_river(MLPClassifier(random_state=seed), classes=[False, True])
    return compose.Pipeline(scale_and_encode(), columns, OneVsRestClassifier(network))


def _hoeffding(criterion: str = "info_gain", grace_period: int = 200) -> base.Classifier:
    return tree.HoeffdingTreeClassifier(grace_period, split_criterion=criterion, binary_split=True)


def _unscaled(model: base.Classifier) -> Any:
    return compose.Pipeline(present, model)


def _trees(kind: Callable[..., base.Classifier], seed: int | None) -> Any:
    return _unscaled(kind(_hoeffding(), _N_MODELS, seed=seed))


def _stacking() -> Any:
    trees = [_hoeffding(kind, grace) for kind in ("info_gain", "gini") for grace in _GRACE_PERIODS]
    combiner = OneVsRestClassifier(linear_model.Perceptron())
    # without the features themselves, as a perceptron cannot multiply strings
    return _unscaled(ensemble.StackingClassifier(trees, combiner, include_features=False))


_CLASSIFIERS: _Makers = {
    "majority": lambda _: OnlineDummyClassifier(),
    "last-class": lambda _: dummy.NoChangeClassifier(),
    "knn": lambda _: _scaled(neighbors.KNNClassifier(10, engine=LazySearch(_BUFFER))),
    "gaussian-nb": lambda _: _gaussian_nb(),
    "categorical-nb": lambda _: _categorical_nb(),
    "multinomial-nb": lambda _: _multinomial_nb(_words),
    "perceptron": lambda _: _scaled(OneVsRestClassifier(linear_model.Perceptron())),
    "logistic": lambda _: _scaled(OneVsRestClassifier(linear_model.LogisticRegression())),
    "mlp": _mlp,
    "hoeffding-gain": lambda _: _unscaled(_hoeffding()),
    "hoeffding-gini": lambda _: _unscaled(_hoeffding("gini")),
    "bagging": lambda seed: _trees(ensemble.BaggingClassifier, seed),
    "leveraging-bagging": lambda seed: _trees(ensemble.LeveragingBaggingClassifier, seed),
    "arf": lambda seed: _unscaled(forest.ARFClassifier(_N_MODELS, binary_split=True, seed=seed)),
    "adaboost": lambda seed: _trees(ensemble.AdaBoostClassifier, seed),
    "boosting": lambda seed: BoostingClassifier(seed=seed),
    "stacking": lambda _: _stacking(),
    "amf": lambda seed: AMFClassifier(seed=seed),
    "adaptive": lambda seed: AdaptiveAMFClassifier(seed=seed),
}


def behind_scalers(model: base.Regressor) -> Any:
    return compose.Pipeline(scale_and_encode(preparation.clip), TargetScaler(model))


def linear_regression() -> base.Regressor:
    """Return the linear model, which is also in the leaves of trees and in the rules."""
    # With river's default, SGD at a fixed rate, it diverges where there are a hundred features.
    return linear_model.LinearRegression(optim.AdaGrad(_RATE))


def _tree(**parameters: Any) -> base.Regressor:
    return tree.HoeffdingTreeRegressor(leaf_model=linear_regression(), **parameters)


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


_REGRESSORS: _Makers = {
    "mean": lambda _: dummy.StatisticRegressor(stats.Mean()),
    "last-value": lambda _: dummy.StatisticRegressor(stats.Shift(0, fill_value=0.0)),
    "linear": lambda _: behind_scalers(linear_regression()),
    "knn": lambda _: _scaled(neighbors.KNNRegressor(10, LazySearch(_BUFFER), "weighted_mean")),
    "hoeffding": lambda _: behind_scalers(_tree()),
    "amrules": lambda _: behind_scalers(rules.AMRules(pred_model=linear_regression())),
    "bagging": lambda seed: behind_scalers(ensemble.BaggingRegressor(_tree(), _N_MODELS, seed)),
    "arf": _arf_regressor,
    "srp": _srp,
    "boosting": lambda seed: BoostingRegressor(seed=seed),
    "amf-of-river": _amf_of_river,
    "amf": lambda seed: AMFRegressor(seed=seed),
    "adaptive": lambda seed: AdaptiveAMFRegressor(seed=seed),
}

DESCRIPTIONS: dict[str, str] = {
    "majority": "the most frequent label so far",
    "last-class": "the most recent label",
    "mean": "the mean of all values so far",
    "last-value": "the most recent value",
    "linear": "linear regression by AdaGrad",
    "knn": f"k-nearest neighbors, 10 of the last {_BUFFER} samples",
    "gaussian-nb": "Gaussian naive Bayes on numbers and category codes",
    "categorical-nb": "categorical naive Bayes, numbers in seven bins",
    "multinomial-nb": "multinomial naive Bayes on words and counts",
    "perceptron": "perceptron, one per label",
    "logistic": "logistic regression by SGD, one per label",
    "mlp": "scikit-learn's neural network, one per label",
    "hoeffding": "Hoeffding tree with linear models in its leaves",
    "hoeffding-gain": "Hoeffding tree, split by information gain",
    "hoeffding-gini": "Hoeffding tree, split by the Gini index",
    "amrules": "adaptive model rules",
    "bagging": "bagging of ten Hoeffding trees",
    "leveraging-bagging": "leveraging bagging of ten trees",
    "arf": "adaptive random forest of ten trees",
    "srp": "streaming random patches of ten trees",
    "adaboost": "AdaBoost of ten Hoeffding trees",
    "boosting": "scikit-learn's boosting, retrained every 1000 samples",
    "stacking": "ten Hoeffding trees, combined by a perceptron",
    "amf-of-river": "river's Mondrian forest of ten trees",
    "amf": "our Mondrian forest of ten trees",
    "adaptive": "our Mondrian forest for streams that drift",
}

# Models that need an extra which is not installed are in none of the tables.
_SKLEARN = 'needs scikit-learn: pip install "scikit-learn>=1.6"'
_HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None
MISSING: dict[str, str] = {} if _HAS_SKLEARN else {"mlp": _SKLEARN, "boosting": _SKLEARN}
for _table in (DESCRIPTIONS, _CLASSIFIERS, _REGRESSORS):
    for _name in MISSING.keys() & _table.keys():
        del _table[_name]


def make_baseline(is_regression: bool, name: str, seed: int | None) -> Any:
    """Make a baseline; the functions below are partial ones of this, which can be pickled."""
    return (_REGRESSORS if is_regression else _CLASSIFIERS)[name](seed)


def classifiers(seed: int | None = None) -> dict[str, Callable[[], base.Classifier]]:
    """Return functions that make the baseline models, by the names in `DESCRIPTIONS`.

    They have no arguments, and can be pickled. `seed` is that of the models that draw random
    numbers. `"mlp"` and `"boosting"` are there if scikit-learn is installed. River's trees and
    their ensembles sort the labels, so for them strings and numbers cannot both be labels of one
    stream.

    >>> from river import evaluate, metrics
    >>> from river.datasets import Phishing
    >>> from river_amf import baselines
    >>> model = baselines.classifiers(seed=1)["logistic"]()
    >>> evaluate.progressive_val_score(Phishing(), model, metrics.Accuracy()).get() > 0.85
    True
    """
    return {name: functools.partial(make_baseline, False, name, seed) for name in _CLASSIFIERS}


def regressors(seed: int | None = None) -> dict[str, Callable[[], base.Regressor]]:
    """Return functions that make the baseline regressors, as `classifiers` does.

    >>> from river_amf import baselines
    >>> baselines.regressors(seed=1)["linear"]().predict_one({"a": 1.0})
    0.0
    """
    return {name: functools.partial(make_baseline, True, name, seed) for name in _REGRESSORS}
