"""The classic models of stream learning by name, as river models that are ready to run.

Each takes the same input as the forests: dicts of numbers, booleans and categories. Values may be
missing (key absent, None or NaN), features may appear and disappear, and labels need not be known
in advance. None of the models is implemented here: they are river's own, or scikit-learn's by way
of `river.compat`, behind scalers and encoders where they cannot use numbers or categories as they
are. `"rnn"`, a recurrent network of Keras on JAX, is among them where both are installed.

`classifiers` returns the models by name, and `DESCRIPTIONS` describes each in a few words; for
numbers to predict there are `regressors` and `REGRESSOR_DESCRIPTIONS`. `SIX_MAILS` holds the
features of six e-mails and whether each is spam (`"yes"` or `"no"`), and `QUESTION` the features of
a seventh:

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
with other features. What is scaled is scaled by kind (`baselines.preparation.Scaler`): numbers that
more than half of the samples have are standardised, and the mean stands for those that are missing;
of all others, such as words, the absent ones are zeros. To `"amf"` and `"adaptive"` with their
default parameters an absent word is missing.

River's trees and their ensembles sort the labels, so for them strings and numbers cannot both be
labels of one stream. An infinite number raises `ValueError` in all models that look at features.

What regressors learn is scaled too, in most of them: the target is standardised by the mean and
standard deviation so far, as the linear models that they are or consist of cannot do without.
"""

from river_amf.baselines.preparation import Features as _Features
from river_amf.baselines.river_models import (
    DESCRIPTIONS,
    REGRESSOR_DESCRIPTIONS,
    classifiers,
    regressors,
)

__all__ = [
    "DESCRIPTIONS",
    "QUESTION",
    "REGRESSOR_DESCRIPTIONS",
    "SIX_MAILS",
    "classifiers",
    "regressors",
]


def _mail(money: str, domain: str, attachment: str, time: str) -> _Features:
    return {"money": money, "domain": domain, "attachment": attachment, "time": time}


SIX_MAILS: tuple[tuple[_Features, str], ...] = (
    (_mail("yes", "com", "yes", "night"), "yes"),
    (_mail("yes", "edu", "no", "night"), "yes"),
    (_mail("no", "com", "yes", "night"), "yes"),
    (_mail("no", "edu", "no", "day"), "no"),
    (_mail("no", "com", "no", "day"), "no"),
    (_mail("yes", "cat", "no", "day"), "yes"),
)
QUESTION: _Features = _mail("yes", "edu", "yes", "day")
