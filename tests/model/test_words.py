"""Words: numeric features of which an absent one is 0 (`absent="zero"`)."""

import math
import pickle
import random
import sys
from collections import defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from forests import learn, state_of
from naive_aggregation import add_up
from naive_growth import relative
from river import compose, feature_extraction

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.inputs.encoding import column_order

Forest = AdaptiveAMFClassifier


def bags(n_samples, seed=1, n_words=60, n_labels=2):
    """Return bags of words by Zipf's law, with one to three words that depend on the label."""
    rng = random.Random(seed)
    frequencies = [1.0 / (1 + k) for k in range(n_words)]
    result = []
    for i in range(n_samples):
        label = rng.randrange(n_labels if i > n_samples // 4 else min(n_labels, 2))
        x = defaultdict(int)
        for k in rng.choices(range(n_words), frequencies, k=rng.randint(2, 8)):
            x[f"word {k}"] += 1
        for _ in range(rng.randint(1, 3)):
            x[f"tells {label} {rng.randrange(3)}"] += 1
        result.append((dict(x), f"label {label}"))
    return result


def indices_of(model):
    return model._features.words


class NaiveWords:
    """The words of a forest, and the linear expert that takes them, by the text of DESIGN.md."""

    def __init__(self, max_split_words=30, max_words=math.inf):
        self.max_split_words, self.max_words = max_split_words, max_words
        self.indices = {}  # in order of arrival
        self.columns, self.chosen = [], []
        self.uses = defaultdict(int)
        self.past = defaultdict(list)  # by word, and None for the constant: (value, label, weight)
        self.weights = defaultdict(lambda: defaultdict(float))
        self.squares = defaultdict(lambda: defaultdict(lambda: 1.0))
        self.labels = []

    def scale(self, word):
        weight = add_up(m for _, _, m in self.past[word])
        squares = add_up(m * v * v for v, _, m in self.past[word])
        return math.sqrt(squares / weight) if self.past[word] else None

    def inputs(self, x):
        """Return the inputs of the words that a sample has, in order of their slots."""
        values = {None: 1.0}
        for word in sorted(
            (word for word in x if x[word] and word in self.indices), key=self.indices.get
        ):
            value = x[word] / (self.scale(word) or abs(x[word]))
            values[word] = min(max(value, -10.0), 10.0)
        return values

    def vote(self, x):
        scores = []
        for label in self.labels:
            scores.append(add_up(self.weights[v][label] * u for v, u in self.inputs(x).items()))
        largest = max(scores)
        offset = largest + math.log(add_up(math.exp(score - largest) for score in scores))
        return [score - offset for score in scores]

    def admit(self, x, label):
        """Take in what is new in a sample, before it is learned."""
        self.columns += sorted(self.chosen, key=column_order)
        self.chosen = []
        if label not in self.labels:
            self.labels.append(label)
        if len(self.indices) + len(self.new(x)) > self.max_words:
            self.forget()
        for word in self.new(x):
            if len(self.indices) < self.max_words:
                self.indices[word] = 1 + len(self.indices)

    def new(self, x):
        return sorted(word for word in x if x[word] and word not in self.indices)

    def forget(self):
        arrived = list(self.indices)
        rank = {word: (word in self.columns, self.uses[word], k) for k, word in enumerate(arrived)}
        n_kept = max(len(arrived) // 2, len(self.columns))
        gone = sorted(arrived, key=rank.get)[: len(arrived) - n_kept]
        for word in gone:
            del self.indices[word]
            for table in (self.uses, self.past, self.weights, self.squares):
                table.pop(word, None)
        for index, word in enumerate(self.indices, start=1):
            self.indices[word] = index
            self.uses[word] //= 2

    def learn(self, x, label, weight):
        m = min(weight, 1.0)
        vote = self.vote(x)
        for word, u in self.inputs(x).items():
            for c, log_p in zip(self.labels, vote, strict=True):
                error = math.exp(log_p) - (c == label)
                if abs(error) >= 0.01:
                    gradient = weight * error * u
                    self.squares[word][c] += gradient * gradient
                    self.weights[word][c] -= 0.1 * gradient / math.sqrt(self.squares[word][c])
        for word in self.inputs(x):
            value = 1.0 if word is None else x[word]
            if add_up(w for _, _, w in self.past[word]) > 20:
                value = min(max(value, -10 * self.scale(word)), 10 * self.scale(word))
            self.uses[word] += 1
            self.past[word].append((value, label, m))
        for word in [*self.inputs(x)][1:]:
            has_room = len(self.columns) + len(self.chosen) < self.max_split_words
            if word not in self.columns and has_room and self.is_informative(word):
                self.chosen.append(word)

    def is_informative(self, word):
        n = add_up(m for _, _, m in self.past[None])
        weight = add_up(m for _, _, m in self.past[word])
        if n >= 20 and weight >= 0.5 * n:
            return True
        if weight < 5:
            return False
        sizes, sums, squares = defaultdict(float), defaultdict(float), 0.0
        for _, label, m in self.past[None]:
            sizes[label] += m
        for value, label, m in self.past[word]:
            sums[label] += m * value
            squares += m * value * value
        total = add_up(sums.values())
        between = add_up(sums[c] ** 2 / sizes[c] for c in sizes) - total**2 / n
        k = len(sizes) - 1
        return n * between > (k + 11 * math.sqrt(k)) * (squares - total**2 / n)

    def row(self, x):
        """Return what the trees see of a sample."""
        return {word: float(x.get(word, 0.0)) for word in self.columns}


PARAMETERS = {
    "two labels": (bags(400), {}),
    "more labels": (bags(400, n_labels=5), {}),
    "few columns": (bags(400), {"max_split_words": 3}),
    "few words": (bags(600, n_words=300), {"max_split_words": 4, "max_words": 40}),
    "very few words": (bags(300), {"max_split_words": 2, "max_words": 5}),
}
WEIGHTS = [1.0, 1.0, 0.3, 2.0, 0.005]


@pytest.mark.slow
@pytest.mark.parametrize("samples, parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_words_equal_the_reference(samples, parameters):
    model, naive = Forest(2, seed=1, absent="zero", **parameters), NaiveWords(**parameters)
    # the trees are those of a forest that learns the rows of columns, where nothing is absent
    same = {"seed": 1, "linear": False, "max_delayed_labels": 0}  # as forgotten words drop them
    sparse, dense = Forest(3, absent="zero", **same, **parameters), Forest(3, **same)
    for i, (x, y) in enumerate(samples):
        weight = WEIGHTS[i % 5]
        naive.admit(x, y)
        expected, row = naive.vote(x), naive.row(x)
        if row or len(dense._labels):
            assert sparse.predict_proba_one(x) == dense.predict_proba_one(row)
        for forest, features in ((model, x), (sparse, x), (dense, row)):
            forest.learn_one(features, y, w=weight)
        if i:
            vote = model._arena.votes[-2, 0, : len(naive.labels)]
            assert vote == pytest.approx(expected, rel=1e-12, abs=1e-12)
        naive.learn(x, y, relative([WEIGHTS[k % 5] for k in range(i + 1)]))
        assert list(model._features) == naive.columns
        assert indices_of(model) == naive.indices
    arena = model._arena
    for word, index in {None: 0, **naive.indices}.items():
        weights = arena.word_weights[index, : len(naive.labels)]
        assert weights == pytest.approx([naive.weights[word][c] for c in naive.labels], abs=1e-12)
        squares = arena.word_squares[index, : len(naive.labels)]
        assert squares == pytest.approx([naive.squares[word][c] for c in naive.labels], rel=1e-12)
        assert word is None or arena.words["uses"][index] == naive.uses[word]


def test_vote_of_words_follows_the_gradient():
    model = Forest(2, seed=1, absent="zero")
    samples = bags(120)
    learn(model, samples[:60])
    for x, y in samples[60:]:
        model.predict_one(x)
        arena = model._arena
        before, bias = float(arena.counters["sparse_weight"][0]), arena.bias[:2].copy()
        weights = [*arena.trees["vote_weight"], *arena.linear_models["vote_weight"], before]
        model.learn_one(x, y)
        votes = np.maximum(
            model._arena.votes[:-1, 0, :2], [[-math.inf]] * 2 + [[-7.0]] * (len(weights) - 2)
        )
        scores = bias + np.array(weights) @ votes
        proba = np.exp(scores - scores.max())
        proba /= proba.sum()
        step = 0.1 * (votes[-1, list(model._labels).index(y)] - proba @ votes[-1])
        assert model._arena.counters["sparse_weight"][0] == pytest.approx(before + step, rel=1e-9)


def test_zeros_and_the_order_of_keys_do_not_matter():
    parameters = {"absent": "zero", "max_words": 40, "seed": 1}
    model, twin = Forest(2, **parameters), Forest(2, **parameters)
    zeros = [0, 0.0, -0.0, False, np.int8(0), np.float32(0.0)]
    for i, (x, y) in enumerate(bags(200)):
        x |= {"tone": "dry" if len(x) % 2 else "wet"}
        padded = {f"never {k}": zeros[k] for k in range(6)} | {"word 0": zeros[i % 6]} | x
        padded = dict(reversed(padded.items()))
        assert model.predict_proba_one(x) == twin.predict_proba_one(padded)
        model.learn_one(x, y)
        twin.learn_one(padded, y)
    assert state_of(model) == state_of(twin)


def test_none_and_nan_are_missing_not_zero():
    model = learn(Forest(2, absent="zero", seed=1), bags(200))
    column = model._features.column("tells 0 0")
    assert column is not None
    for value in (None, math.nan, np.float64("nan"), pd.NA):
        row = model._features.encode_any({"tells 0 0": value, "word 0": 1}).values[0]
        assert math.isnan(row[column])
    assert model._features.encode_any({"word 0": 1}).values[0][column] == 0.0
    missing = pickle.loads(pickle.dumps(model))
    before = model._arena.words["uses"].copy()
    missing.learn_one({"tells 0 0": None, "unknown": None}, "label 0")
    assert "unknown" not in indices_of(missing)
    n_indices = model._features.n_indices
    assert (missing._arena.words["uses"][1:n_indices] == before[1:n_indices]).all()


def test_new_categories_have_a_column_at_once():
    model = Forest(2, absent="zero", seed=1)
    model.learn_one({"color": "red", "word": 2}, "a")
    assert list(model._features) == ["color"]
    assert math.isnan(model._features.encode_any({}).values[0][0])
    with pytest.raises(ValueError, match="'color' has held categories so far, such as 'red'"):
        model.learn_one({"color": 3}, "a")
    with pytest.raises(ValueError, match="'word' has held numbers so far, got 'x'"):
        model.learn_one({"word": "x"}, "a")
    model.learn_one({"color": 0}, "a")  # is absent


def test_categories_beyond_the_columns_are_ignored():
    x = {"c": "x", "a": "y", "b": "z", "word": 1}
    for keys in (list(x), list(reversed(x))):
        model = Forest(2, absent="zero", max_split_words=2, seed=1)
        model.learn_one({key: x[key] for key in keys}, "a")
        model.learn_one({"d": "new"}, "b")
        assert list(model._features) == ["a", "b"]
        assert model._features.categories("c") is None
        assert sorted(indices_of(model)) == ["word"]


@pytest.mark.slow
def test_memory_of_new_words_is_bounded():
    model = Forest(2, absent="zero", max_words=500, seed=1)
    rng, sizes = random.Random(1), []
    for i in range(10_000):
        x = {f"fresh {10 * i + k}": 1 for k in range(10)}
        y = rng.random() < 0.5
        model.learn_one(x | {f"tells {y}": 1}, y)
        assert len(indices_of(model)) <= 500
        if i % 1000 == 999:
            sizes.append(model.memory_usage)
            assert {"tells True", "tells False"} <= {*indices_of(model)} & {*model._features}
    assert max(sizes) < 1.02 * sizes[0] + 100_000
    assert model.predict_proba_one({"tells True": 1})[True] > 0.9


def test_predictions_of_forgotten_words_are_dropped():
    model, twin = (learn(Forest(2, absent="zero", max_words=4, seed=1), bags(3)) for _ in "ab")
    word, index = next(iter(indices_of(model).items()))
    model.predict_one({word: 1.0})
    for forest in (model, twin):
        forest.learn_one({"new": 1.0, "newer": 1.0}, "a")
    other = next(name for name, number in indices_of(model).items() if number == index)
    for forest in (model, twin):
        forest.learn_one({other: 1.0}, "a")
    assert other != word and state_of(model) == state_of(twin)


def test_samples_cost_by_their_words():
    def trace(frame, event, argument):
        lines[-1] += 1
        return trace

    lines, x, before = [], {f"word {k}": 1 for k in range(5)}, sys.gettrace()
    for n_words in (10, 5000):
        model = Forest(2, absent="zero", seed=1)
        learn(model, [({f"word {k}": 1 for k in range(n_words)}, "a"), (x, "b"), (x, "a")])
        model.predict_proba_one(x)
        lines.append(0)
        sys.settrace(trace)
        try:
            model.predict_proba_one(x)
            model.learn_one(x, "a")
        finally:
            sys.settrace(before)
    assert lines[0] == lines[1] > 10
    sample = model._features.sample
    assert sample._all[0] == 5 or not len(model._features)  # the kernels get five words


def blocks_of(samples):
    """Return the same rows in all forms: of names, and of positions."""
    named = pd.DataFrame([x for x, _ in samples]).fillna(0.0)
    numbered = named.set_axis(range(named.shape[1]), axis="columns")
    values = named.to_numpy()
    return {
        "pandas": named,
        "sparse pandas": named.astype(pd.SparseDtype(float, 0.0)),
        "mixed pandas": named.astype({c: pd.SparseDtype(float, 0.0) for c in named.columns[::2]}),
        "objects": named.astype(object),
        "polars": pl.from_pandas(named),
    }, {
        "pandas": numbered,
        "csr": scipy.sparse.csr_matrix(values),
        "csc": scipy.sparse.csc_array(values),
        "coo": scipy.sparse.coo_array(values),
        "integers": scipy.sparse.csr_array(values.astype(np.int32)),
        "stored zeros": stored_zeros(values),
    }


def stored_zeros(values):
    """Return a matrix that stores some zeros, and some entries in two parts."""
    rows, columns = np.indices(values.shape).reshape(2, -1)
    numbers = np.concatenate([values.ravel() - 1.0, np.ones(values.size)])
    places = (np.tile(rows, 2), np.tile(columns, 2))
    return scipy.sparse.coo_matrix((numbers, places), values.shape)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"max_words": 20}, {"vote": "mean"}], ids=str)
def test_blocks_of_all_forms_equal_rows(parameters):
    samples = bags(150)
    labels = [y for _, y in samples]
    for forms in blocks_of(samples):
        rows = forms["pandas"].to_dict("records")
        single, expected = Forest(2, absent="zero", seed=1, **parameters), []
        for x, y in zip(rows, labels, strict=True):
            expected.append(single.predict_proba_one(x))
            single.learn_one(x, y)
        content = state_of(single)
        for name, X in forms.items():
            block = Forest(2, absent="zero", seed=1, n_jobs=1, **parameters)
            proba = block.predict_proba_then_learn_many(X, labels)
            answers = proba.to_dicts() if name == "polars" else proba.to_dict("records")
            for row, answer in zip(answers[1:], expected[1:], strict=True):
                assert answer == {label: row[label] for label in answer}, name
            assert state_of(block) == content, name
            proba = block.predict_proba_many(X)
            answers = proba.to_dicts() if name == "polars" else proba.to_dict("records")
            assert answers[7] == single.predict_proba_one(rows[7])
            assert list(block.predict_many(X))[7] == max(answers[7], key=answers[7].get)


def test_bad_sparse_matrices_are_refused():
    values = np.eye(5)
    values[3, 2] = math.inf
    model = Forest(2, absent="zero", seed=1)
    with pytest.raises(ValueError, match="row 3: feature 2: the value inf is infinite"):
        model.learn_many(scipy.sparse.csr_array(values), list("ababa"))
    model.learn_one({4: "text"}, "a")
    with pytest.raises(ValueError, match="row 4: feature 4 has held categories so far"):
        model.learn_many(scipy.sparse.csr_array(np.eye(5)), list("ababa"))
    for X in (scipy.sparse.csr_array(np.eye(2) * 1j), scipy.sparse.coo_array(np.eye(2)[0])):
        with pytest.raises(TypeError, match="two dimensions and hold real numbers"):
            model.predict_many(X)
    for call in (AMFClassifier().predict_many, AMFClassifier().predict_proba_many):
        with pytest.raises(TypeError, match=r'sparse matrix.* use absent="zero"'):
            call(X)


def test_large_matrices_stay_sparse():
    X = scipy.sparse.csr_array(([1.0, 2.0], ([0, 1], [10**9, 7])), shape=(2, 2**30 + 1))
    model = Forest(2, absent="zero", seed=1)
    model.learn_many(X, ["a", "b"])
    assert indices_of(model) == {10**9: 1, 7: 2}
    first, second = model.predict_proba_many(X)["a"]
    assert first > second


@pytest.mark.slow
@pytest.mark.parametrize(
    "bag",
    [
        feature_extraction.BagOfWords(ngram_range=(1, 2)),
        feature_extraction.TFIDF(),
        compose.TransformerUnion(
            feature_extraction.BagOfWords(),
            compose.FuncTransformer(lambda text: {"length": len(text), "first": text[0]}),
        ),
    ],
    ids=["pairs", "tf-idf", "union"],
)
def test_pipelines_of_texts_predict_labels(bag):
    model, n_right = bag.clone() | Forest(5, absent="zero", seed=1), 0
    for i, (x, y) in enumerate(bags(600)):
        text = " ".join(word.replace(" ", "") for word in x)
        n_right += i >= 300 and model.predict_one(text) == y
        model.learn_one(text, y)
    assert n_right / 300 > 0.93
