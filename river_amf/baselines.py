"""The classic classifiers of stream learning by name, as models of river that are ready to run.

Each takes what our forests take: dicts of numbers, booleans and categories, in which values may be
missing (key absent, None, NaN), features may appear and vanish, and labels need not be known in
advance. None is written here. They are river's own, or scikit-learn's through `river.compat`,
behind river's scalers and encoders where numbers or categories do not suit them as they are.

`SIX_MAILS` are six mails and whether each is spam, and `QUESTION` is a seventh:

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

River's trees, and the ensembles of them, sort the labels: strings and numbers cannot be labels of
the same stream there. An infinite number raises `ValueError` wherever features are looked at.
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

from river_amf.dummy import OnlineDummyClassifier
from river_amf.encoding import Number, as_number, column_order, is_missing
from river_amf.forest import AdaptiveAMFClassifier, AMFClassifier

__all__ = ["DESCRIPTIONS", "QUESTION", "SIX_MAILS", "classifiers"]

Features = dict[Any, Any]

_N_MODELS = 10  # members of an ensemble of trees
_N_INPUTS = 256  # of the neural network
_BUFFER = 1000  # samples, the latest ones, among which neighbours are looked for
_GRACE_PERIODS = (50, 100, 200, 400, 800)  # samples, of the trees that are stacked
_OUTERMOST = 3.0  # standard deviations from the mean to the last bin of a number


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


# What is made of a sample


def _numbers(x: Features) -> Features:
    """Return the numbers, booleans among them, as floats; ValueError if one is infinite."""
    numbers = {
        name: as_number(name, value) for name, value in x.items() if isinstance(value, Number)
    }
    return {name: value for name, value in numbers.items() if value == value}


def _categories(x: Features) -> Features:
    """Return what is neither a number nor missing."""
    return {
        name: value
        for name, value in x.items()
        if not isinstance(value, Number) and not is_missing(value)
    }


def _present(x: Features) -> Features:
    """Return what is not missing."""
    return _numbers(x) | _categories(x)


def _sortable(x: Features) -> Features:
    """Return what is not missing, under names that can be sorted whatever they are."""
    return {column_order(name): value for name, value in _present(x).items()}


def _bins(x: Features) -> Features:
    """Cut numbers of mean 0 and standard deviation 1 into seven bins."""
    return {name: round(max(-_OUTERMOST, min(value, _OUTERMOST))) for name, value in x.items()}


def _words(x: Features) -> Features:
    """Count the words of each text, and take numbers for counts unless they are negative."""
    words = Counter(
        f"{name}={word}"
        for name, text in _categories(x).items()
        for word in str(text).lower().split()
    )
    counts = {name: count for name, count in _numbers(x).items() if count >= 0.0}
    return counts | words


def _some(x: Features) -> Features:
    """Let no sample be empty: river's multinomial naive Bayes divides by what it has met."""
    return x or {"": 0.0}


def _zeros(_: Features) -> Features:
    """Return a zero for each input of the neural network."""
    return dict.fromkeys(range(_N_INPUTS), 0.0)


def _pipeline(*steps: Any) -> base.Classifier:
    """Chain the steps; functions among them are wrapped by river."""
    return cast(base.Classifier, compose.Pipeline(*steps))


def _each(numbers: list[Any], categories: list[Any]) -> compose.TransformerUnion:
    """Take numbers through some steps, and categories through others."""
    return compose.TransformerUnion(
        ("numbers", compose.Pipeline(_numbers, *numbers)),
        ("categories", compose.Pipeline(_categories, *categories)),
    )


def _scaled() -> compose.TransformerUnion:
    """Scale numbers, and make a column of each category."""
    one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
    return _each([preprocessing.StandardScaler()], [one_hot])


# The models


def _majority(_: int | None) -> base.Classifier:
    return dummy.PriorClassifier()


def _last_class(_: int | None) -> base.Classifier:
    return dummy.NoChangeClassifier()


def _knn(_: int | None) -> base.Classifier:
    engine = neighbors.LazySearch(window_size=_BUFFER)
    return _pipeline(_scaled(), neighbors.KNNClassifier(n_neighbors=10, engine=engine))


def _gaussian_nb(_: int | None) -> base.Classifier:
    # To river, whatever value a column has is next to impossible for a label with which it has not
    # varied. So categories are codes, for few of their columns of 0 and 1 would vary with each
    # label; and codes are scaled too, by a scale that moves a little.
    codes = _each([], [preprocessing.OrdinalEncoder()])
    model = naive_bayes.GaussianNB()  # type: ignore[no-untyped-call]
    return _pipeline(codes, preprocessing.StandardScaler(), model)


def _multinomial() -> base.Classifier:
    model = naive_bayes.MultinomialNB()  # type: ignore[no-untyped-call]
    return _pipeline(_some, model)


def _categorical_nb(_: int | None) -> base.Classifier:
    # River does not have it, but that of multinomials is the same, up to smoothing, where each
    # sample has a column of 1 for each of its categories.
    binned = _each([preprocessing.StandardScaler(), _bins], [])
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
            "the model 'mlp' needs scikit-learn: pip install river-amf[sklearn]", name="sklearn"
        ) from error
    from river.compat import convert_sklearn_to_river

    # A network has as many inputs and labels as at first. So features are hashed to a fixed number
    # of columns, all of them there in each sample; and each label has a network of its own.
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
    # it draws features by name, in sorted order
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
    # by what the trees say alone: a perceptron cannot multiply strings
    return _pipeline(_present, ensemble.StackingClassifier(trees, combiner, include_features=False))


def _amf(seed: int | None) -> base.Classifier:
    return AMFClassifier(seed=seed)


def _adaptive(seed: int | None) -> base.Classifier:
    return AdaptiveAMFClassifier(seed=seed)


def _dummy(_: int | None) -> base.Classifier:
    return OnlineDummyClassifier()


class _Baseline(NamedTuple):
    """A line of the table below."""

    make: Callable[[int | None], base.Classifier]
    description: str


_BASELINES = {
    "majority": _Baseline(_majority, "the most frequent label so far"),
    "last-class": _Baseline(_last_class, "the label that came last"),
    "knn": _Baseline(_knn, f"k-nearest neighbours, 10 of the last {_BUFFER} samples"),
    "gaussian-nb": _Baseline(_gaussian_nb, "Gaussian naive Bayes, of numbers and of codes"),
    "categorical-nb": _Baseline(_categorical_nb, "categorical naive Bayes, numbers in seven bins"),
    "multinomial-nb": _Baseline(_multinomial_nb, "multinomial naive Bayes, of words and counts"),
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
    """Return what makes each of the classifiers, by name.

    Parameters
    ----------
    seed
        Seed of those that draw random numbers. Models of one seed are the same.

    Returns
    -------
    Name -> function without arguments that returns a new model. `DESCRIPTIONS` says in a few words
    what each is. The function of `"mlp"` raises `ImportError` where there is no scikit-learn. The
    functions can be pickled, to make models in other processes.

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
