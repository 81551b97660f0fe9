"""The baselines on bags of words: as good as river's own models there, alone and in unions."""

import functools
import itertools

import pytest
from river import linear_model, multiclass, naive_bayes, neighbors
from river.compose import FuncTransformer
from river.feature_extraction import TFIDF, BagOfWords
from river.preprocessing import FeatureHasher
from words import tweets

from river_amf import AdaptiveAMFClassifier, baselines, evaluation
from river_amf.baselines.preparation import Scaler


def as_categories(x):
    return {(name, round(count)): 1 for name, count in x.items()}


# River's, with nothing between them and the counts. River has no categorical naive Bayes, which is
# the multinomial one of words if each of their counts is a word of its own.
PLAIN = {
    "knn": lambda: neighbors.KNNClassifier(10, neighbors.LazySearch(window_size=1000)),
    "gaussian-nb": naive_bayes.GaussianNB,
    "categorical-nb": lambda: FuncTransformer(as_categories) | naive_bayes.MultinomialNB(),
    "multinomial-nb": naive_bayes.MultinomialNB,
    "perceptron": lambda: multiclass.OneVsRestClassifier(linear_model.Perceptron()),
    "logistic": lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
}
LATER = {"knn", "categorical-nb"}  # on TF-IDF they catch up only after some thousand tweets
UNSIGNED = {"categorical-nb", "multinomial-nb"}  # river's, which take counts alone


@functools.cache
def bags(kind, n_tweets=500):
    """Return tweets as dicts, with their labels."""
    encode = {
        "counts": BagOfWords(),
        "pairs": BagOfWords(ngram_range=(1, 2)),
        "tfidf": TFIDF(),
        "hashes": BagOfWords() | FeatureHasher(seed=1),
        "hashes of counts": BagOfWords() | FeatureHasher(seed=1, alternate_sign=False),
    }[kind]
    samples = []
    for text, label in tweets(n_tweets):
        samples.append((encode.transform_one(text), label))
        encode.learn_one(text)
    return samples


def make(name):
    return baselines.classifiers(1)[name]()


def accuracy(model, samples):
    hits = 0
    for x, y in samples:
        hits += model.predict_one(x) == y
        model.learn_one(x, y)
    return hits / len(samples)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name, kind in itertools.product(PLAIN, ["counts", "pairs", "tfidf", "hashes"])
        if name not in LATER or kind != "tfidf"
    ],
)
def test_as_good_as_river_s_own(name, kind):
    samples, river_s = bags(kind), bags(kind)
    if kind == "hashes" and name in UNSIGNED:
        river_s = bags("hashes of counts")
    assert accuracy(make(name), samples) > accuracy(PLAIN[name](), river_s) - 0.01


# The scaler


def scaled(samples, x):
    scaler = Scaler()
    for sample in samples:
        scaler.learn_one(sample)
    return scaler.transform_one(x)


def test_counts_of_words_stay_as_they_are():
    samples = [{"a": 1.0}, {}, {}, {"a": 2.0}, {}, {"b": -1.0}, {}, {}]
    assert scaled(samples, {"a": 1.0, "b": 2.0}) == {"a": 1.0, "b": 2.0}


def test_a_missing_text_is_named_with_what_to_do():
    samples = [("win a prize", True), (None, False), ("see you", False)] * 3
    forest = AdaptiveAMFClassifier(2, absent="zero", seed=1)
    models = {
        "words": BagOfWords() | forest,
        "empty": (lambda text: text or "") | BagOfWords() | forest.clone(),
    }
    status = evaluation.compare(samples, models).table["status"]
    assert "sample 2: AttributeError" in status["words"]
    assert "a missing text must become '' before BagOfWords: (lambda" in status["words"]
    assert status["empty"] == "ok"
