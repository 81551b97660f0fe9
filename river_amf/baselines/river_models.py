"""The classifiers and regressors, and the tables of their names."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

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

from river_amf.baselines.boosting import BoostingClassifier, BoostingRegressor
from river_amf.baselines.preparation import (
    Features,
    TargetScaler,
    categories,
    clip,
    numbers,
    present,
    scale_and_encode,
    split,
)
from river_amf.baselines.recurrent import NEEDED, RecurrentClassifier, is_installed
from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.regressor import AdaptiveAMFRegressor, AMFRegressor

_N_MODELS = 10  # in an ensemble
_N_INPUTS = 256  # of the neural network
_BUFFER = 1000  # recent samples among which neighbors are searched
_GRACE_PERIODS = (50, 100, 200, 400, 800)  # of the stacked trees, in samples
_RATE = 0.1  # of AdaGrad, in standard deviations of the target

_Table = dict[str, tuple[str, Callable[[int | None], Any]]]  # a description, and a function

# Classifiers


def _bins(x: Features) -> Features:
    """Put standardized numbers into seven bins."""
    return {name: round(value) for name, value in clip(x).items()}


def _words(x: Features) -> Features:
    """Count the words of each text, and take numbers as counts, negative ones as other counts."""
    words = Counter(
        f"{name}={word}"
        for name, text in categories(x).items()
        for word in str(text).lower().split()
    )
    counts = {
        name if count >= 0.0 else f"{name} (negative)": abs(count)
        for name, count in numbers(x).items()
    }
    return counts | words


def _some(x: Features) -> Features:
    """Return the features, or a constant if there are none, by whose number river divides."""
    return x or {"": 0.0}


def _zeros(_: Features) -> Features:
    """Return zero for each input of the neural network."""
    return dict.fromkeys(range(_N_INPUTS), 0.0)


def _pipeline(*steps: Any) -> base.Estimator:
    """Chain steps; river wraps plain functions among them."""
    return cast(base.Estimator, compose.Pipeline(*steps))


def _nearest() -> Any:
    return neighbors.LazySearch(window_size=_BUFFER)


def _one_per_label(model: base.Classifier) -> base.Estimator:
    return _pipeline(scale_and_encode(), multiclass.OneVsRestClassifier(model))


def _gaussian_nb(_: int | None) -> base.Estimator:
    # Codes, not one-hot columns: any other value of a column that was constant for a label is next
    # to impossible to river's model. Scaled, because then even a constant code varies a little.
    codes = split([], [preprocessing.OrdinalEncoder()])
    model = naive_bayes.GaussianNB()  # type: ignore[no-untyped-call]
    return _pipeline(codes, preprocessing.StandardScaler(), model)


def _multinomial() -> base.Estimator:
    model = naive_bayes.MultinomialNB()  # type: ignore[no-untyped-call]
    return _pipeline(_some, model)


def _categorical_nb(_: int | None) -> base.Estimator:
    # Up to smoothing it is multinomial naive Bayes on one-hot encoded categories.
    binned = split([preprocessing.StandardScaler(), _bins], [])
    return _pipeline(binned, preprocessing.OneHotEncoder(drop_zeros=True), _multinomial())


def _need_sklearn(name: str) -> None:
    """Raise ImportError if scikit-learn is missing."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'the model {name!r} needs scikit-learn: pip install "scikit-learn>=1.6"',
            name="sklearn",
        ) from error


def _boosting(kind: type[base.Estimator], seed: int | None) -> base.Estimator:
    _need_sklearn("boosting")
    return kind(seed=seed)  # type: ignore[call-arg]


def _mlp(seed: int | None) -> base.Estimator:
    _need_sklearn("mlp")
    from river.compat import convert_sklearn_to_river
    from sklearn.neural_network import MLPClassifier

    # The first sample fixes the numbers of inputs and labels of a network: features are hashed to
    # so many columns, and each label gets a network.
    hashed = preprocessing.FeatureHasher(n_features=_N_INPUTS, seed=seed)
    columns = compose.TransformerUnion(hashed, _zeros)
    network = convert_sklearn_to_river(MLPClassifier(random_state=seed), classes=[False, True])
    return _pipeline(scale_and_encode(), columns, multiclass.OneVsRestClassifier(network))


def _hoeffding(criterion: str = "info_gain", grace_period: int = 200) -> base.Classifier:
    return tree.HoeffdingTreeClassifier(
        grace_period=grace_period, split_criterion=criterion, binary_split=True
    )


def _stacking(_: int | None) -> base.Estimator:
    trees = [_hoeffding(kind, grace) for kind in ("info_gain", "gini") for grace in _GRACE_PERIODS]
    combiner = multiclass.OneVsRestClassifier(linear_model.Perceptron())
    # without the features themselves, as a perceptron cannot multiply strings
    return _pipeline(present, ensemble.StackingClassifier(trees, combiner, include_features=False))


def _trees(make: Callable[..., Any], **options: Any) -> Callable[[int | None], base.Estimator]:
    """Return a function that makes an ensemble of Hoeffding trees."""
    return lambda seed: _pipeline(present, make(_hoeffding(), _N_MODELS, seed=seed, **options))


_CLASSIFIERS: _Table = {
    "majority": ("the most frequent label so far", lambda _: dummy.PriorClassifier()),
    "last-class": ("the most recent label", lambda _: dummy.NoChangeClassifier()),
    "knn": (
        f"k-nearest neighbors, 10 of the last {_BUFFER} samples",
        lambda _: _pipeline(
            scale_and_encode(), neighbors.KNNClassifier(n_neighbors=10, engine=_nearest())
        ),
    ),
    "gaussian-nb": ("Gaussian naive Bayes on numbers and category codes", _gaussian_nb),
    "categorical-nb": ("categorical naive Bayes, numbers in seven bins", _categorical_nb),
    "multinomial-nb": (
        "multinomial naive Bayes on words and counts",
        lambda _: _pipeline(_words, _multinomial()),
    ),
    "perceptron": (
        "perceptron, one per label",
        lambda _: _one_per_label(linear_model.Perceptron()),
    ),
    "logistic": (
        "logistic regression by SGD, one per label",
        lambda _: _one_per_label(linear_model.LogisticRegression()),
    ),
    "mlp": ("scikit-learn's neural network, one per label", _mlp),
    "rnn": (
        "Keras's recurrent network (GRU) over the last 8 samples",
        lambda seed: _pipeline(scale_and_encode(), RecurrentClassifier(seed=seed)),
    ),
    "hoeffding-gain": (
        "Hoeffding tree, split by information gain",
        lambda _: _pipeline(present, _hoeffding("info_gain")),
    ),
    "hoeffding-gini": (
        "Hoeffding tree, split by the Gini index",
        lambda _: _pipeline(present, _hoeffding("gini")),
    ),
    "bagging": ("bagging of ten Hoeffding trees", _trees(ensemble.BaggingClassifier)),
    "leveraging-bagging": (
        "leveraging bagging of ten trees",
        _trees(ensemble.LeveragingBaggingClassifier),
    ),
    "arf": (
        "adaptive random forest of ten trees",
        lambda seed: _pipeline(
            present, forest.ARFClassifier(_N_MODELS, binary_split=True, seed=seed)
        ),
    ),
    "adaboost": ("AdaBoost of ten Hoeffding trees", _trees(ensemble.AdaBoostClassifier)),
    "boosting": (
        "scikit-learn's boosting, retrained every 1000 samples",
        lambda seed: _boosting(BoostingClassifier, seed),
    ),
    "stacking": ("ten Hoeffding trees, combined by a perceptron", _stacking),
    "amf": ("our Mondrian forest of ten trees", lambda seed: AMFClassifier(seed=seed)),
    "adaptive": (
        "our Mondrian forest for streams that drift",
        lambda seed: AdaptiveAMFClassifier(seed=seed),
    ),
}
MISSING: dict[str, str] = {}  # what the baselines need that are not there, by name
if not is_installed():
    del _CLASSIFIERS["rnn"]
    MISSING["rnn"] = NEEDED

# Regressors


def behind_scalers(model: base.Regressor) -> base.Estimator:
    """Scale the features and the target of a model."""
    return _pipeline(scale_and_encode(clip), TargetScaler(model))


def linear_regression() -> base.Regressor:
    """Return the linear model, which most of the others contain."""
    # With river's default, SGD at a fixed rate, it diverges where there are a hundred features.
    return linear_model.LinearRegression(optim.AdaGrad(_RATE))


def _tree(**parameters: Any) -> base.Regressor:
    return tree.HoeffdingTreeRegressor(leaf_model=linear_regression(), **parameters)


def _arf_regressor(seed: int | None) -> base.Estimator:
    leaf = linear_regression()
    trees = forest.ARFRegressor(_N_MODELS, aggregation_method="mean", leaf_model=leaf, seed=seed)
    return behind_scalers(trees)


def _srp(seed: int | None) -> base.Estimator:
    one = _tree(grace_period=50, delta=0.01)  # as river's own default
    return behind_scalers(ensemble.SRPRegressor(one, _N_MODELS, seed=seed))


def _amf_of_river(seed: int | None) -> base.Estimator:
    # These trees split a number the more often the larger its range is.
    prepared = split([preprocessing.MinMaxScaler()], [preprocessing.OneHotEncoder()])
    return _pipeline(prepared, TargetScaler(forest.AMFRegressor(_N_MODELS, seed=seed)))


_REGRESSORS: _Table = {
    "mean": ("the mean of all values so far", lambda _: dummy.StatisticRegressor(stats.Mean())),
    "last-value": (
        "the most recent value",
        lambda _: dummy.StatisticRegressor(stats.Shift(0, fill_value=0.0)),
    ),
    "linear": ("linear regression by AdaGrad", lambda _: behind_scalers(linear_regression())),
    "knn": (
        f"k-nearest neighbors, 10 of the last {_BUFFER} samples",
        lambda _: _pipeline(
            scale_and_encode(),
            neighbors.KNNRegressor(10, _nearest(), aggregation_method="weighted_mean"),
        ),
    ),
    "hoeffding": (
        "Hoeffding tree with linear models in its leaves",
        lambda _: behind_scalers(_tree()),
    ),
    "amrules": (
        "adaptive model rules",
        lambda _: behind_scalers(rules.AMRules(pred_model=linear_regression())),
    ),
    "bagging": (
        "bagging of ten Hoeffding trees",
        lambda seed: behind_scalers(ensemble.BaggingRegressor(_tree(), _N_MODELS, seed)),
    ),
    "arf": ("adaptive random forest of ten trees", _arf_regressor),
    "srp": ("streaming random patches of ten trees", _srp),
    "boosting": (
        "scikit-learn's boosting, retrained every 1000 samples",
        lambda seed: _boosting(BoostingRegressor, seed),
    ),
    "amf-of-river": ("river's Mondrian forest of ten trees", _amf_of_river),
    "amf": ("our Mondrian forest of ten trees", lambda seed: AMFRegressor(seed=seed)),
    "adaptive": (
        "our Mondrian forest for streams that drift",
        lambda seed: AdaptiveAMFRegressor(seed=seed),
    ),
}

# The tables

DESCRIPTIONS: dict[str, str] = {name: text for name, (text, _) in _CLASSIFIERS.items()}
REGRESSOR_DESCRIPTIONS: dict[str, str] = {name: text for name, (text, _) in _REGRESSORS.items()}


def make_baseline(is_regression: bool, name: str, seed: int | None) -> Any:
    """Make a baseline; the functions below are partial ones of this, which can be pickled."""
    _, make = (_REGRESSORS if is_regression else _CLASSIFIERS)[name]
    return make(seed)


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
        returns a new model. The functions of `"mlp"` and `"boosting"` raise `ImportError` if
        scikit-learn is not installed, and `"rnn"` is there only if Keras and JAX are. The functions
        can be pickled.

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
    >>> accuracy = evaluate.progressive_val_score(
    ...     Phishing(), make["logistic"](), metrics.Accuracy()
    ... )
    >>> accuracy.get() > 0.85
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
    >>> make = baselines.regressors(seed=1)
    >>> list(make)[:5]
    ['mean', 'last-value', 'linear', 'knn', 'hoeffding']
    >>> baselines.REGRESSOR_DESCRIPTIONS["linear"]
    'linear regression by AdaGrad'
    >>> error = evaluate.progressive_val_score(TrumpApproval(), make["linear"](), metrics.MAE())
    >>> error.get() < 1.0
    True
    """
    return {name: functools.partial(make_baseline, True, name, seed) for name in _REGRESSORS}
