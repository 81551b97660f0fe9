"""The classic classifiers of stream learning by name, as river models that are ready to run.

Each takes the same input as the forests: dicts of numbers, booleans and categories. Values may be
missing (key absent, None or NaN), features may appear and disappear, and labels need not be known
in advance. None of the models is implemented here: they are river's own, or scikit-learn's by way
of `river.compat`, behind scalers and encoders where they cannot use numbers or categories as they
are.

`classifiers` returns the models by name, and `DESCRIPTIONS` describes each in a few words.
`SIX_MAILS` holds the features of six e-mails and whether each is spam (`"yes"` or `"no"`), and
`QUESTION` the features of a seventh:

>>> from river_amf import baselines
>>> for name, make in baselines.classifiers(seed=1).items():
...     if name in ("majority", "knn", "hoeffding-gini", "amf"):
...         model = make()
...         for mail, label in baselines.SIX_MAILS:
...             model.learn_one(mail, label)
...         print(f"{name}: {model.predict_one(baselines.QUESTION)}")
majority: yes
knn: yes
hoeffding-gini: yes
amf: yes

They take bags of words as well, from `BagOfWords`, `TFIDF` or `FeatureHasher`, alone or in a union
with other features. What is scaled is scaled by kind (`river_amf.scaling.Scaler`): numbers that
more than half of the samples have are standardised, and the mean stands for those that are missing;
of all others, such as words, the absent ones are zeros. To `"amf"` and `"adaptive"` with their
default parameters an absent word is missing.

>>> from river.feature_extraction import BagOfWords
>>> model = BagOfWords() | baselines.classifiers()["logistic"]()
>>> for text, label in [("good news", True), ("bad news", False), ("good", True), ("bad", False)]:
...     model.learn_one(text, label)
>>> model.predict_one("good idea"), model.predict_one("bad idea")
(True, False)

River's trees and their ensembles sort the labels, so for them strings and numbers cannot both be
labels of one stream. An infinite number raises `ValueError` in all models that look at features.
"""

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

from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.dummy import OnlineDummyClassifier
from river_amf.encoding import column_order
from river_amf.kinds import Number, as_number, is_missing, is_number, plain
from river_amf.scaling import Scaler

__all__ = ["DESCRIPTIONS", "QUESTION", "SIX_MAILS", "classifiers"]

Features = dict[Any, Any]

_N_MODELS = 10  # trees in an ensemble
_N_INPUTS = 256  # of the neural network
_BUFFER = 1000  # the number of recent samples that neighbors are searched in
_GRACE_PERIODS = (50, 100, 200, 400, 800)  # of the stacked trees, in samples
_OUTERMOST = 3.0  # distance of a number's last bin from the mean, in standard deviations


def _mail(money: str, domain: str, attachment: str, time: str) -> Features:
    return {"money": money, "domain": domain, "attachment": attachment, "time": time}


SIX_MAILS: tuple[tuple[Features, str], ...] = (
    (_mail("yes", "com", "yes", "night"), "yes"),
    (_mail("yes", "edu", "no", "night"), "yes"),
    (_mail("no", "com", "yes", "night"), "yes"),
    (_mail("no", "edu", "no", "day"), "no"),
    (_mail("no", "com", "no", "day"), "no"),
    (_mail("yes", "cat", "no", "day"), "yes"),
)
QUESTION: Features = _mail("yes", "edu", "yes", "day")


# Preprocessing


def _numbers(x: Features) -> Features:
    """Return the numbers and booleans as floats, or raise ValueError if one is infinite."""
    numbers = {
        name: as_number(name, value) for name, value in x.items() if isinstance(value, Number)
    }
    return {name: value for name, value in numbers.items() if value == value}


def _categories(x: Features) -> Features:
    """Return the features that are neither numbers nor missing, or raise for dates and lists."""
    return {
        name: plain(value)
        for name, value in x.items()
        if not isinstance(value, Number) and not is_missing(value) and not is_number(name, value)
    }


def _present(x: Features) -> Features:
    """Return the features that are not missing."""
    return _numbers(x) | _categories(x)


def _sortable(x: Features) -> Features:
    """Return the features that are not missing, with their names replaced by sortable keys."""
    return {column_order(name): value for name, value in _present(x).items()}


def _bins(x: Features) -> Features:
    """Put numbers of mean 0 and standard deviation 1 into seven bins."""
    return {name: round(max(-_OUTERMOST, min(value, _OUTERMOST))) for name, value in x.items()}


def _words(x: Features) -> Features:
    """Count the words of each text, and take numbers as counts, negative ones as counts apart."""
    words = Counter(
        f"{name}={word}"
        for name, text in _categories(x).items()
        for word in str(text).lower().split()
    )
    counts = {
        name if count >= 0.0 else (name, "negative"): abs(count)
        for name, count in _numbers(x).items()
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


def _each(numbers: list[Any], categories: list[Any]) -> compose.TransformerUnion:
    """Send numbers through some steps, and categories through others."""
    return compose.TransformerUnion(
        ("numbers", compose.Pipeline(_numbers, *numbers)),
        ("categories", compose.Pipeline(_categories, *categories)),
    )


def _scaled() -> compose.TransformerUnion:
    """Scale numbers and one-hot encode categories."""
    one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
    return _each([Scaler()], [one_hot])


# The models


def _majority(_: int | None) -> base.Classifier:
    return dummy.PriorClassifier()


def _last_class(_: int | None) -> base.Classifier:
    return dummy.NoChangeClassifier()


def _knn(_: int | None) -> base.Classifier:
    engine = neighbors.LazySearch(window_size=_BUFFER)
    return _pipeline(_scaled(), neighbors.KNNClassifier(n_neighbors=10, engine=engine))


def _gaussian_nb(_: int | None) -> base.Classifier:
    # If a column has been constant for a label so far, any other value of it is next to impossible
    # to river's model. So categories are not one-hot encoded, as few of these columns would vary
    # for every label, but become codes. These are scaled too: as the scale moves a little, even a
    # code that is constant for a label varies.
    codes = _each([], [preprocessing.OrdinalEncoder()])
    model = naive_bayes.GaussianNB()  # type: ignore[no-untyped-call]
    return _pipeline(codes, Scaler(), model)


def _multinomial() -> base.Classifier:
    model = naive_bayes.MultinomialNB()  # type: ignore[no-untyped-call]
    return _pipeline(_some, model)


def _categorical_nb(_: int | None) -> base.Classifier:
    # River does not have it, but up to smoothing it is the same as multinomial naive Bayes on
    # one-hot encoded categories.
    binned = _each([Scaler(), _bins], [])
    one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
    return _pipeline(binned, one_hot, _multinomial())


def _multinomial_nb(_: int | None) -> base.Classifier:
    return _pipeline(_words, _multinomial())


def _perceptron(_: int | None) -> base.Classifier:
    return _pipeline(_scaled(), multiclass.OneVsRestClassifier(linear_model.Perceptron()))


def _logistic(_: int | None) -> base.Classifier:
    return _pipeline(_scaled(), multiclass.OneVsRestClassifier(linear_model.LogisticRegression()))


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
    return _pipeline(_scaled(), columns, multiclass.OneVsRestClassifier(network))


def _hoeffding(criterion: str = "info_gain", grace_period: int = 200) -> base.Classifier:
    return tree.HoeffdingTreeClassifier(
        grace_period=grace_period, split_criterion=criterion, binary_split=True
    )


def _hoeffding_gain(_: int | None) -> base.Classifier:
    return _pipeline(_present, _hoeffding("info_gain"))


def _hoeffding_gini(_: int | None) -> base.Classifier:
    return _pipeline(_present, _hoeffding("gini"))


def _bagging(seed: int | None) -> base.Classifier:
    return _pipeline(_present, ensemble.BaggingClassifier(_hoeffding(), _N_MODELS, seed))


def _leveraging_bagging(seed: int | None) -> base.Classifier:
    bagging = ensemble.LeveragingBaggingClassifier(_hoeffding(), _N_MODELS, seed=seed)
    return _pipeline(_present, bagging)


def _arf(seed: int | None) -> base.Classifier:
    # it sorts the features by name before it draws some of them
    return _pipeline(_sortable, forest.ARFClassifier(_N_MODELS, binary_split=True, seed=seed))


def _adaboost(seed: int | None) -> base.Classifier:
    return _pipeline(_present, ensemble.AdaBoostClassifier(_hoeffding(), _N_MODELS, seed))


def _stacking(_: int | None) -> base.Classifier:
    trees = [
        _hoeffding(criterion, grace_period)
        for criterion in ("info_gain", "gini")
        for grace_period in _GRACE_PERIODS
    ]
    combiner = multiclass.OneVsRestClassifier(linear_model.Perceptron())
    # without the features themselves, as a perceptron cannot multiply strings
    return _pipeline(_present, ensemble.StackingClassifier(trees, combiner, include_features=False))


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
        installed. The functions can be pickled, to make models in other processes.

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
