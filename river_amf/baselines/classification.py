"""The classifiers, and the table of their names."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, cast

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
    preprocessing,
    tree,
)

from river_amf.baselines.preparation import (
    Features,
    categories,
    each,
    numbers,
    present,
    scaled,
    sortable,
)
from river_amf.baselines.recurrent import NEEDED, RecurrentClassifier, is_installed
from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.dummy import OnlineDummyClassifier
from river_amf.scaling import Scaler

_N_MODELS = 10  # trees in an ensemble
_N_INPUTS = 256  # of the neural network
_BUFFER = 1000  # the number of recent samples that neighbors are searched in
_GRACE_PERIODS = (50, 100, 200, 400, 800)  # of the stacked trees, in samples
_OUTERMOST = 3.0  # distance of a number's last bin from the mean, in standard deviations


# Preparation


def _bins(x: Features) -> Features:
    """Put numbers of mean 0 and standard deviation 1 into seven bins."""
    return {name: round(max(-_OUTERMOST, min(value, _OUTERMOST))) for name, value in x.items()}


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


def _pipeline(*steps: Any) -> base.Classifier:
    """Chain steps; river wraps plain functions among them."""
    return cast(base.Classifier, compose.Pipeline(*steps))


# The models


def _majority(_: int | None) -> base.Classifier:
    return dummy.PriorClassifier()


def _last_class(_: int | None) -> base.Classifier:
    return dummy.NoChangeClassifier()


def _knn(_: int | None) -> base.Classifier:
    engine = neighbors.LazySearch(window_size=_BUFFER)
    return _pipeline(scaled(), neighbors.KNNClassifier(n_neighbors=10, engine=engine))


def _gaussian_nb(_: int | None) -> base.Classifier:
    # If a column has been constant for a label so far, any other value of it is next to impossible
    # to river's model. So categories are not one-hot encoded, as few of these columns would vary
    # for every label, but become codes. These are scaled too: as the scale moves a little, even a
    # code that is constant for a label varies.
    codes = each([], [preprocessing.OrdinalEncoder()])
    model = naive_bayes.GaussianNB()  # type: ignore[no-untyped-call]
    return _pipeline(codes, Scaler(), model)


def _multinomial() -> base.Classifier:
    model = naive_bayes.MultinomialNB()  # type: ignore[no-untyped-call]
    return _pipeline(_some, model)


def _categorical_nb(_: int | None) -> base.Classifier:
    # River does not have it, but up to smoothing it is the same as multinomial naive Bayes on
    # one-hot encoded categories.
    binned = each([Scaler(), _bins], [])
    one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
    return _pipeline(binned, one_hot, _multinomial())


def _multinomial_nb(_: int | None) -> base.Classifier:
    return _pipeline(_words, _multinomial())


def _perceptron(_: int | None) -> base.Classifier:
    return _pipeline(scaled(), multiclass.OneVsRestClassifier(linear_model.Perceptron()))


def _logistic(_: int | None) -> base.Classifier:
    return _pipeline(scaled(), multiclass.OneVsRestClassifier(linear_model.LogisticRegression()))


def _mlp(seed: int | None) -> base.Classifier:
    try:
        from sklearn.neural_network import MLPClassifier
    except ImportError as error:
        raise ImportError(
            "the model 'mlp' needs scikit-learn: pip install \"scikit-learn>=1.6\"", name="sklearn"
        ) from error
    from river.compat import convert_sklearn_to_river

    # The numbers of inputs and labels of a network are fixed by the first sample. So features are
    # hashed to a fixed number of columns, present in every sample, and each label gets its own
    # network.
    hashed = preprocessing.FeatureHasher(n_features=_N_INPUTS, seed=seed)
    columns = compose.TransformerUnion(hashed, _zeros)
    network = convert_sklearn_to_river(MLPClassifier(random_state=seed), classes=[False, True])
    return _pipeline(scaled(), columns, multiclass.OneVsRestClassifier(network))


def _rnn(seed: int | None) -> base.Classifier:
    return _pipeline(scaled(), RecurrentClassifier(seed=seed))


def _hoeffding(criterion: str = "info_gain", grace_period: int = 200) -> base.Classifier:
    return tree.HoeffdingTreeClassifier(
        grace_period=grace_period, split_criterion=criterion, binary_split=True
    )


def _hoeffding_gain(_: int | None) -> base.Classifier:
    return _pipeline(present, _hoeffding("info_gain"))


def _hoeffding_gini(_: int | None) -> base.Classifier:
    return _pipeline(present, _hoeffding("gini"))


def _bagging(seed: int | None) -> base.Classifier:
    return _pipeline(present, ensemble.BaggingClassifier(_hoeffding(), _N_MODELS, seed))


def _leveraging_bagging(seed: int | None) -> base.Classifier:
    bagging = ensemble.LeveragingBaggingClassifier(_hoeffding(), _N_MODELS, seed=seed)
    return _pipeline(present, bagging)


def _arf(seed: int | None) -> base.Classifier:
    # it sorts the features by name before it draws some of them
    return _pipeline(sortable, forest.ARFClassifier(_N_MODELS, binary_split=True, seed=seed))


def _adaboost(seed: int | None) -> base.Classifier:
    return _pipeline(present, ensemble.AdaBoostClassifier(_hoeffding(), _N_MODELS, seed))


def _stacking(_: int | None) -> base.Classifier:
    trees = [
        _hoeffding(criterion, grace_period)
        for criterion in ("info_gain", "gini")
        for grace_period in _GRACE_PERIODS
    ]
    combiner = multiclass.OneVsRestClassifier(linear_model.Perceptron())
    # without the features themselves, as a perceptron cannot multiply strings
    return _pipeline(present, ensemble.StackingClassifier(trees, combiner, include_features=False))


def _amf(seed: int | None) -> base.Classifier:
    return AMFClassifier(seed=seed)


def _adaptive(seed: int | None) -> base.Classifier:
    return AdaptiveAMFClassifier(seed=seed)


def _dummy(_: int | None) -> base.Classifier:
    return OnlineDummyClassifier()


class _Baseline(NamedTuple):
    """An entry of the table below."""

    make: Callable[[int | None], base.Classifier]
    description: str


_BASELINES = {
    "majority": _Baseline(_majority, "the most frequent label so far"),
    "last-class": _Baseline(_last_class, "the most recent label"),
    "knn": _Baseline(_knn, f"k-nearest neighbors, 10 of the last {_BUFFER} samples"),
    "gaussian-nb": _Baseline(_gaussian_nb, "Gaussian naive Bayes on numbers and category codes"),
    "categorical-nb": _Baseline(_categorical_nb, "categorical naive Bayes, numbers in seven bins"),
    "multinomial-nb": _Baseline(_multinomial_nb, "multinomial naive Bayes on words and counts"),
    "perceptron": _Baseline(_perceptron, "perceptron, one for each label"),
    "logistic": _Baseline(_logistic, "logistic regression by SGD, one for each label"),
    "mlp": _Baseline(_mlp, "scikit-learn's neural network, one for each label"),
    "rnn": _Baseline(_rnn, "Keras's recurrent network (GRU) over the last 8 samples"),
    "hoeffding-gain": _Baseline(_hoeffding_gain, "Hoeffding tree, split by information gain"),
    "hoeffding-gini": _Baseline(_hoeffding_gini, "Hoeffding tree, split by the Gini index"),
    "bagging": _Baseline(_bagging, "bagging of ten Hoeffding trees"),
    "leveraging-bagging": _Baseline(_leveraging_bagging, "leveraging bagging of ten trees"),
    "arf": _Baseline(_arf, "adaptive random forest of ten trees"),
    "adaboost": _Baseline(_adaboost, "AdaBoost of ten Hoeffding trees"),
    "stacking": _Baseline(_stacking, "ten Hoeffding trees, combined by a perceptron"),
    "amf": _Baseline(_amf, "our Mondrian forest of ten trees"),
    "adaptive": _Baseline(_adaptive, "our Mondrian forest for streams that drift"),
    "dummy": _Baseline(_dummy, "the label frequencies so far"),
}
MISSING: dict[str, str] = {}  # what the baselines need that are not there, by name
if not is_installed():
    del _BASELINES["rnn"]
    MISSING["rnn"] = NEEDED

DESCRIPTIONS: dict[str, str] = {name: baseline.description for name, baseline in _BASELINES.items()}


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
        returns a new model. The function of `"mlp"` raises `ImportError` if scikit-learn is not
        installed, and `"rnn"` is there only if Keras and JAX are. The functions can be pickled, to
        make models in other processes.

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
    return {name: functools.partial(baseline.make, seed) for name, baseline in _BASELINES.items()}
