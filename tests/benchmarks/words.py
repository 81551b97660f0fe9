"""Classifiers on bags of words: accuracy, log-loss, time and memory. Prints Markdown.

    python tests/benchmarks/words.py
    python tests/benchmarks/words.py --models adaptive --seeds 1

Test-then-train on dicts that hold the counts of the words that are there, and nothing else; they
are made before, by river's `BagOfWords`. Microseconds are of processor time, to predict and learn
one such dict, and memory is that of the model at the end (river leaves out the weights of its
linear models); means over the seeds. README.md has the streams.

River's models have nothing between themselves and the counts; ours take `absent="zero"`.
"""

import functools
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import streams
from numpy.typing import NDArray
from river import linear_model, multiclass, naive_bayes
from river.base import Classifier
from river.feature_extraction import BagOfWords
from runs import WARM_UP, score

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.evaluation.streams import Sample

# Tweets

N_TWEETS = 5_000
VOCABULARY = 20_000  # words without sentiment
SENTIMENT = 30  # words of each sentiment
LENGTHS = (8, 16)  # of a tweet, with "not" counted
SHARE = 0.25  # of words of sentiment
NEGATION = 0.065  # of these, the share of those with "not" before them
NOISE = 0.02  # of these, the share of those of the opposite sentiment
TAIL = 0.7  # exponent of the frequencies of words of sentiment, flatter than Zipf's 1


def tweets(n_tweets: int = N_TWEETS, seed: int = 1) -> list[tuple[str, bool]]:
    """Generate tweets; those of a seed are always the same, and fewer are the first of more.

    >>> tweets(1)[0][1], tweets(1)[0][0][:39]
    (False, 'bad4 word40 word0 word157 word2177 word')
    """
    rng = np.random.default_rng(seed)
    plain, sentiment = cumulated(VOCABULARY, 1.0), cumulated(SENTIMENT, TAIL)
    made = []
    for _ in range(n_tweets):
        positive = bool(rng.random() < 0.5)
        length = int(rng.integers(LENGTHS[0], LENGTHS[1], endpoint=True))
        words: list[str] = []
        while len(words) < length:
            if rng.random() >= SHARE:
                words.append(f"word{draw(rng, plain)}")
                continue
            is_positive_word = positive == (rng.random() >= NOISE)
            if rng.random() < NEGATION:
                words.append("not")
                is_positive_word = not is_positive_word
            words.append(f"{'good' if is_positive_word else 'bad'}{draw(rng, sentiment)}")
        made.append((" ".join(words), positive))
    return made


def cumulated(n_words: int, exponent: float) -> NDArray[np.float64]:
    """Return the cumulated frequencies of words, which fall with a power of the rank."""
    sums = np.cumsum(np.arange(1, n_words + 1) ** -exponent)
    return sums / sums[-1]


def draw(rng: np.random.Generator, cumulated: NDArray[np.float64]) -> int:
    """Draw the rank of a word, from 0."""
    return int(np.searchsorted(cumulated, rng.random(), side="right"))


# Streams and models

STREAMS = ("tweets", "spam")
MODELS: dict[str, Callable[[int], Classifier]] = {
    "logistic": lambda seed: linear_model.LogisticRegression(),
    "perceptron": lambda seed: multiclass.OneVsRestClassifier(linear_model.Perceptron()),
    "multinomial-nb": lambda seed: naive_bayes.MultinomialNB(),
    "amf": lambda seed: AMFClassifier(absent="zero", seed=seed),
    "adaptive": lambda seed: AdaptiveAMFClassifier(absent="zero", seed=seed),
}


@functools.cache
def load(name: str, data: Path, seed: int) -> list[Sample]:
    """Return bags of words with their labels, which are booleans."""
    bag = BagOfWords()
    if name == "tweets":
        return [(bag.transform_one(text), label) for text, label in tweets(seed=seed)]
    counts = streams.load(name, data)
    return [({word: count for word, count in x.items() if count}, y == 1) for x, y in counts]


def run(name: str, samples: list[Sample], seed: int) -> tuple[float, ...]:
    """Return accuracy, log-loss, microseconds and megabytes of a model on a stream."""
    score(MODELS[name](seed), samples[:WARM_UP])
    model = MODELS[name](seed)
    scored = score(model, samples)
    return scored.accuracy, scored.log_loss, scored.us, model._raw_memory_usage / 1e6


def main(argv: list[str] | None = None) -> int:
    parser = streams.make_parser(__doc__, STREAMS)
    streams.add_names(parser, "--models", [*MODELS], [*MODELS])
    streams.add_seeds(parser)
    parser.add_argument("--samples", type=int, help="the first of a stream (default: all)")
    arguments = streams.begin(parser, argv)
    spam = streams.available({"spam"} & {*arguments.streams}, arguments.data)
    names = [name for name in arguments.streams if name in ("tweets", *spam)]
    if not names:
        return 1
    streams.print_header("stream", "model", "accuracy", "log-loss", "us per sample", "memory, MB")
    for stream in names:
        for model in arguments.models:
            figures = [
                run(model, load(stream, arguments.data, seed)[: arguments.samples], seed)
                for seed in arguments.seeds
            ]
            accuracy, log_loss, us, mb = map(statistics.mean, zip(*figures, strict=True))
            cells = f"{accuracy:.4f}", f"{log_loss:.4f}", f"{us:.1f}", f"{mb:.1f}"
            streams.print_row((stream, model, *cells))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
