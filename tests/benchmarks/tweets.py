"""Generated tweets: sentences of a few words each, and whether their sentiment is positive.

Most words are drawn from a large vocabulary by Zipf's law and tell nothing. Some are words of
sentiment, and of these a few have "not" before them, which turns what they say.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 1
N_TWEETS = 5_000
VOCABULARY = 20_000  # words without sentiment
SENTIMENT = 30  # words of each sentiment
LENGTHS = (8, 16)  # of a tweet, with "not" counted
SHARE = 0.25  # of words of sentiment
NEGATION = 0.065  # of these, the share of those with "not" before them
NOISE = 0.02  # of these, the share of those that say the opposite of the label
TAIL = 0.7  # exponent of the frequencies of words of sentiment, flatter than Zipf's 1


class Tweet(NamedTuple):
    """A sentence, and whether it is positive."""

    text: str
    positive: bool


def tweets(n_tweets: int = N_TWEETS, seed: int = SEED) -> list[Tweet]:
    """Generate tweets; those of a seed are always the same, and fewer are the first of more.

    >>> tweets(1)[0].positive, tweets(1)[0].text[:39]
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
        made.append(Tweet(" ".join(words), positive))
    return made


def cumulated(n_words: int, exponent: float) -> NDArray[np.float64]:
    """Return the cumulated frequencies of words, which fall with a power of the rank."""
    sums = np.cumsum(np.arange(1, n_words + 1) ** -exponent)
    return sums / sums[-1]


def draw(rng: np.random.Generator, cumulated: NDArray[np.float64]) -> int:
    """Draw the rank of a word, from 0."""
    return int(np.searchsorted(cumulated, rng.random(), side="right"))
