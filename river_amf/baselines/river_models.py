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
    Scaler,
    TargetScaler,
    categories,
    each,
    numbers,
    present,
    scale_and_encode,
    sortable,
    with_sortable_names,
)
from river_amf.baselines.recurrent import NEEDED, RecurrentClassifier, is_installed
from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.dummy import OnlineDummyClassifier
from river_amf.regressor import AdaptiveAMFRegressor, AMFRegressor

_N_MODELS = 10  # in an ensemble
_N_INPUTS = 256  # of the neural network
_BUFFER = 1000  # the number of recent samples that neighbors are searched in
_GRACE_PERIODS = (50, 100, 200, 400, 800)  # of the stacked trees, in samples
_OUTERMOST = 3.0  # distance of a number from the mean at most, in standard deviations
_RATE = 0.1  # of AdaGrad, in standard deviations of the target

_Table = dict[str, tuple[str, Callable[[int | None], Any]]]  # a description, and what makes it


# Preparation


def clipped(x: Features) -> Features:
    """Clip numbers of mean 0 and standard deviation 1.

    River's linear models, which the leaves of its trees have too, never recover from an outlier.
    """
    return {name: max(-_OUTERMOST, min(value, _OUTERMOST)) for name, value in x.items()}


def _bins(x: Features) -> Features:
    """Put numbers of mean 0 and standard deviation 1 into seven bins."""
    return {name: round(value) for name, value in clipped(x).items()}


def _words(x: Features) -> Features:
    """Count the words of each text, and take numbers as counts, negative ones as counts apart."""
    words = Counter(
        f"{name}={word}"
        for name, text in categories(x).items()
        for word in str(text).lower().split()
    )
    counts = {
        name if count >= 0.0 else (name, "negative"): abs(count)
        for name, count in numbers(x).items()
    }
    return counts | words


def _some(x: Features) -> Features:
    """Return the features, or a dummy feature if there are none."""
    return x or {"": 0.0}  # river's multinomial naive Bayes divides by the number of features seen


def _zeros(_: Features) -> Features:
    """Return zero for each input of the neural network."""
    return dict.fromkeys(range(_N_INPUTS), 0.0)


def _pipeline(*steps: Any) -> base.Estimator:
    """Chain steps; river wraps plain functions among them."""
    return cast(base.Estimator, compose.Pipeline(*steps))


def _nearest() -> Any:
    return neighbors.LazySearch(window_size=_BUFFER)


# Classifiers


def _for_each_label(model: base.Classifier) -> base.Estimator:
    """Give each label a model of its own, behind scalers."""
    return _pipeline(scale_and_encode(), multiclass.OneVsRestClassifier(model))


def _gaussian_nb(_: int | None) -> base.Estimator:
    # If a column has been constant for a label so far, any other value of it is next to impossible
    # to river's model. So categories are not one-hot encoded, as few of these columns would vary
    # for every label, but become codes. These are scaled too: as the scale moves a little, even a
    # code that is constant for a label varies.
    codes = each([], [preprocessing.OrdinalEncoder()])
    model = naive_bayes.GaussianNB()  # type: ignore[no-untyped-call]
    return _pipeline(codes, Scaler(), model)


def _multinomial() -> base.Estimator:
    model = naive_bayes.MultinomialNB()  # type: ignore[no-untyped-call]
    return _pipeline(_some, model)


def _categorical_nb(_: int | None) -> base.Estimator:
    # River does not have it, but up to smoothing it is the same as multinomial naive Bayes on
    # one-hot encoded categories.
    binned = each([Scaler(), _bins], [])
    one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
    return _pipeline(binned, one_hot, _multinomial())


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

    # The numbers of inputs and labels of a network are fixed by the first sample. So features are
    # hashed to a fixed number of columns, present in every sample, and each label gets its own
    # network.
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
        "perceptron, one for each label",
        lambda _: _for_each_label(linear_model.Perceptron()),
    ),
    "logistic": (
        "logistic regression by SGD, one for each label",
        lambda _: _for_each_label(linear_model.LogisticRegression()),
    ),
    "mlp": ("scikit-learn's neural network, one for each label", _mlp),
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
    "bagging": (
        "bagging of ten Hoeffding trees",
        lambda seed: _pipeline(present, ensemble.BaggingClassifier(_hoeffding(), _N_MODELS, seed)),
    ),
    "leveraging-bagging": (
        "leveraging bagging of ten trees",
        lambda seed: _pipeline(
            present, ensemble.LeveragingBaggingClassifier(_hoeffding(), _N_MODELS, seed=seed)
        ),
    ),
    "arf": (
        "adaptive random forest of ten trees",
        # it sorts the features by name before it draws some of them
        lambda seed: _pipeline(
            sortable, forest.ARFClassifier(_N_MODELS, binary_split=True, seed=seed)
        ),
    ),
    "adaboost": (
        "AdaBoost of ten Hoeffding trees",
        lambda seed: _pipeline(present, ensemble.AdaBoostClassifier(_hoeffding(), _N_MODELS, seed)),
    ),
    "boosting": (
        "scikit-learn's boosting, trained anew every 1000 samples",
        lambda seed: _boosting(BoostingClassifier, seed),
    ),
    "stacking": ("ten Hoeffding trees, combined by a perceptron", _stacking),
    "amf": ("our Mondrian forest of ten trees", lambda seed: AMFClassifier(seed=seed)),
    "adaptive": (
        "our Mondrian forest for streams that drift",
        lambda seed: AdaptiveAMFClassifier(seed=seed),
    ),
    "dummy": ("the label frequencies so far", lambda _: OnlineDummyClassifier()),
}
MISSING: dict[str, str] = {}  # what the baselines need that are not there, by name
if not is_installed():
    del _CLASSIFIERS["rnn"]
    MISSING["rnn"] = NEEDED


# Regressors


def behind_scalers(model: base.Regressor) -> base.Estimator:
    """Scale what goes into a model, and the target."""
    return _pipeline(scale_and_encode(clipped), with_sortable_names, TargetScaler(model))


def linear_regression() -> base.Regressor:
    """Return the linear model, which most of the others have within."""
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


def _river_amf(seed: int | None) -> base.Estimator:
    # A number is worth as much as its range in the eyes of these trees.
    prepared = each([preprocessing.MinMaxScaler()], [preprocessing.OneHotEncoder()])
    trees = forest.AMFRegressor(_N_MODELS, seed=seed)
    return _pipeline(prepared, with_sortable_names, TargetScaler(trees))


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
        "scikit-learn's boosting, trained anew every 1000 samples",
        lambda seed: _boosting(BoostingRegressor, seed),
    ),
    "river-amf": ("river's Mondrian forest of ten trees", _river_amf),
    "amf": ("our Mondrian forest of ten trees", lambda seed: AMFRegressor(seed=seed)),
    "adaptive": (
        "our Mondrian forest for streams that drift",
        lambda seed: AdaptiveAMFRegressor(seed=seed),
    ),
}


# The tables

DESCRIPTIONS: dict[str, str] = {name: text for name, (text, _) in _CLASSIFIERS.items()}
REGRESSOR_DESCRIPTIONS: dict[str, str] = {name: text for name, (text, _) in _REGRESSORS.items()}


def _make(is_of_numbers: bool, name: str, seed: int | None) -> Any:  # by name, to be pickled
    _, make = (_REGRESSORS if is_of_numbers else _CLASSIFIERS)[name]
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
        can be pickled, to make models in other processes.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from river.datasets import Phishing
    >>> from river_amf import baselines
    >>> make = baselines.classifiers(seed=1)
    >>> list(make)[:5]
    ['majority', 'last-class', 'knn', 'gaussian-nb', 'categorical-nb']
    >>> baselines.DESCRIPTIONS["logistic"]
    'logistic regression by SGD, one for each label'
    >>> accuracy = evaluate.progressive_val_score(
    ...     Phishing(), make["logistic"](), metrics.Accuracy()
    ... )
    >>> accuracy.get() > 0.85
    True
    """
    return {name: functools.partial(_make, False, name, seed) for name in _CLASSIFIERS}


def regressors(seed: int | None = None) -> dict[str, Callable[[], base.Regressor]]:
    """Return functions that make the baseline models for numbers, by name.

    They are as those of `classifiers`, described in `REGRESSOR_DESCRIPTIONS`. Before its first
    sample each predicts 0.

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
    return {name: functools.partial(_make, True, name, seed) for name in _REGRESSORS}
