"""The reference of the linear voices itself, against closed forms on small cases."""

import copy
import math
import random

import naive
import naive_voices
import numpy as np
import pytest
from generated import streams
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_voices import FAST, SLOW, CosineVoice, NumberStandard, Row, Voice, Voices

KEYS = [11, 12, 13]


def forest(linear="cosines", **parameters):
    return naive.NaiveForest(
        [123456789012345, 987654321098765],
        [17, 4],
        vote="learned",
        linear=linear,
        voice_keys=KEYS,
        **parameters,
    )


def standard_of(values, rate=SLOW):
    standard = NumberStandard(rate)
    for value in values:
        standard.add(value)
    return standard


# Standardisation ---------------------------------------------------------------------------------


def test_at_first_the_standards_are_those_of_the_whole_history():
    values = np.random.default_rng(1).normal(3.0, 2.0, 900)
    for n in (1, 2, 30, 900):
        standard = standard_of(values[:n])
        assert standard.mean == pytest.approx(values[:n].mean(), rel=1e-12)
        assert standard.variance == pytest.approx(values[:n].var(), rel=1e-12)


def test_later_older_values_count_less():
    values = np.random.default_rng(2).normal(3.0, 2.0, 200)
    standard = standard_of(values, FAST)
    # the first 33 values count alike
    first = math.floor(1 / FAST)
    weights = np.r_[
        np.full(first, (1 - FAST) ** (200 - first) / first),
        FAST * (1 - FAST) ** np.arange(200 - first)[::-1],
    ]
    assert weights.sum() == pytest.approx(1.0)
    mean = np.average(values, weights=weights)
    assert standard.mean == pytest.approx(mean, rel=1e-12)
    variance = np.average((values - mean) ** 2, weights=weights)
    assert standard.variance == pytest.approx(variance, rel=1e-12)


def test_numbers_are_standardised_and_clipped():
    standard = standard_of([1.0, 5.0])
    assert [standard.z(value) for value in (None, 3.0, 6.0, 100.0, -1e308)] == [0, 0, 1.5, 4, -4]


@pytest.mark.parametrize("values", [[], [7.0], [0.1] * 50, [1.7e308, -1.7e308], [1e200] * 3])
def test_what_is_constant_or_beyond_all_bounds_is_no_input(values):
    standard = standard_of(values)
    assert standard.z(-1.7e308) == 0.0
    assert math.isfinite(standard.mean) and math.isfinite(standard.variance)


def test_missing_values_change_nothing():
    values = [4.0, None, 2.0, None, None, 9.0]
    assert vars(standard_of(values)) == vars(standard_of([4.0, 2.0, 9.0]))


def test_one_absurd_value_counts_as_one_at_ten_standard_deviations():
    values = list(np.random.default_rng(3).normal(3.0, 2.0, 100))
    before = standard_of(values)
    far = before.mean + 10 * math.sqrt(before.variance)
    after = standard_of([*values, 1e300])
    assert after.mean == pytest.approx(standard_of([*values, far]).mean, rel=1e-12)
    assert after.variance == pytest.approx(standard_of([*values, far]).variance, rel=1e-12)
    # but among the first 20 it counts
    assert standard_of([*values[:20], 1e6]).mean > 1e4


def test_a_feature_that_was_constant_for_long_is_heard_once_it_varies():
    standard = standard_of([0.0] * 500 + [1.0])
    assert standard.mean == pytest.approx(1 / 501)
    assert standard.z(1.0) == 4.0


def test_means_and_variances_of_a_silent_feature_become_zero():
    standard = standard_of([1.0, 3.0, 2.0] * 10 + [0.0] * 23_000, FAST)
    assert (standard.mean, standard.variance) == (0.0, 0.0)
    standard.add(2.0)
    assert standard.mean == pytest.approx(2 * FAST)
    assert standard.z(2.0) == 4.0


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**40])
def test_scale_does_not_matter(factor):
    rng = random.Random(4)
    values = [rng.gauss(0, 1) * 100 ** (i // 50) for i in range(300)]
    plain, scaled = NumberStandard(SLOW), NumberStandard(SLOW)
    for value in values:
        assert plain.z(value) == scaled.z(factor * value)
        plain.add(value)
        scaled.add(factor * value)


def test_standards_start_afresh_when_outliers_are_dropped():
    model = forest("logistic")
    for i in range(63):
        model.learn_one({"a": 1e12 if i == 3 else i % 7, "b": i % 5}, i % 2)
    a, b = (model.voices.standards[SLOW][j] for j in (0, 1))
    assert (a.n, b.n) == (63, 63) and a.mean > 1e9
    model.learn_one({"a": 1, "b": 1}, 0)
    assert [model.voices.standards[rate][0].n for rate in (SLOW, FAST)] == [0, 0]
    assert [model.voices.standards[rate][1].n for rate in (SLOW, FAST)] == [64, 64]
    for i in range(10):
        model.learn_one({"a": i % 7, "b": 1}, 0)
    assert model.voices.standards[SLOW][0].mean == pytest.approx(np.mean([*range(7), 0, 1, 2]))


# Learning ----------------------------------------------------------------------------------------


def test_log_softmax():
    log_sum = math.log1p(math.exp(-1))
    of_labels = naive_voices.log_softmax([1.0, 2.0, -1e4])
    assert of_labels == pytest.approx([-1 - log_sum, -log_sum, -10002 - log_sum])
    assert math.fsum(math.exp(log_p) for log_p in of_labels) == pytest.approx(1.0)
    assert naive_voices.log_softmax([1e308, -1e308])[0] == 0.0


def learned(voice, n_samples=40, n_labels=3, seed=5):
    rng = random.Random(seed)
    for _ in range(n_samples):
        z = {0: rng.gauss(0, 1), 2: rng.gauss(0, 1)}
        voice.learn(Row(z, {1: rng.randrange(100)}), z, rng.randrange(n_labels), 1.0, n_labels)
    return voice


@pytest.mark.parametrize("weight", [1.0, 0.25, 1e-9, 1e6])
def test_a_step_follows_the_gradient_divided_by_the_root_of_its_squares(weight):
    voice = learned(Voice(0.3))
    z = {0: 0.5, 2: -2.0}
    row = Row(z, {1: 77})
    inputs = voice.inputs(row, z)
    before = copy.deepcopy(voice)
    voice.learn(row, z, 1, weight, 3)
    assert list(inputs) == ["intercept", 0, 2, (1, 77 - 64)]
    for c in range(3):
        for i in inputs:
            ends = []
            for change in (1e-6, -1e-6):
                moved = copy.deepcopy(before)
                moved.weights[c, i] += change
                ends.append(-moved.log_proba(inputs, 3)[1])
            slope = min(weight, 1.0) * (ends[0] - ends[1]) / 2e-6
            squares = 0.999 * before.squares[c, i] + slope**2
            assert voice.squares[c, i] == pytest.approx(squares, rel=1e-7)
            expected = before.weights[c, i] - 0.3 * slope / math.sqrt(squares)
            assert voice.weights[c, i] == pytest.approx(expected, abs=1e-7)


def test_the_first_step_in_closed_form():
    voice = Voice(0.3)
    voice.learn(Row({0: 2.0}, {}), {0: 2.0}, 1, 1.0, 2)
    for c, gradient in ((0, 0.5), (1, -0.5)):
        for i, u in (("intercept", 1.0), (0, 2.0)):
            squares = 0.999 + (gradient * u) ** 2
            assert voice.weights[c, i] == pytest.approx(-0.3 * gradient * u / math.sqrt(squares))


def test_a_category_is_an_input_of_its_own():
    # like a number for each category that is 1 or missing
    rng = random.Random(6)
    by_code, by_number = Voice(0.3), Voice(0.3)
    for _ in range(60):
        code, y = rng.randrange(4), rng.randrange(2)
        rows = Row({}, {0: code}), Row({code: 1.0}, {})
        proba = [
            voice.log_proba(voice.inputs(row, row.numbers), 2)
            for voice, row in zip((by_code, by_number), rows, strict=True)
        ]
        assert proba[0] == proba[1]
        for voice, row in zip((by_code, by_number), rows, strict=True):
            voice.learn(row, row.numbers, y, 1.0, 2)


def test_what_is_not_heard_does_not_move():
    voice = learned(Voice(0.3))
    before = copy.deepcopy(voice)
    voice.learn(Row({0: 0.0, 2: None}, {}), {0: 0.0, 2: 0.0}, 1, 1.0, 3)
    moved = {i for c, i in voice.weights if voice.weights[c, i] != before.weights.get((c, i))}
    assert moved == {"intercept"}
    # nor does a label whose error is tiny
    voice.weights[2, "intercept"] = -20.0
    before = copy.deepcopy(voice)
    voice.learn(Row({0: 1.0}, {}), {0: 1.0}, 1, 1.0, 3)
    moved = {c for c, i in voice.weights if voice.weights[c, i] != before.weights.get((c, i))}
    assert moved == {0, 1}


def test_one_label_teaches_nothing():
    voice = learned(Voice(0.3), n_labels=1)
    assert not any(voice.weights.values())
    assert voice.log_proba({"intercept": 1.0}, 1) == [0.0]


# Cosines -----------------------------------------------------------------------------------------


def test_cosines_in_closed_form():
    voice = CosineVoice(7)
    phases = naive_voices.draw_phases(7, 100)
    assert voice.cosines({}) == pytest.approx(np.cos(phases), abs=1e-15)
    for d in (1, 3, 8, 9, 40):
        z = np.random.default_rng(d).normal(size=d)
        w = np.array([naive_voices.draw_directions(7, j, 100) for j in range(d)])
        scale = 0.5 if d <= 8 else 0.5 * math.sqrt(8 / d)
        expected = np.cos(phases + scale * (z @ w))
        assert voice.cosines(dict(enumerate(z))) == pytest.approx(expected, abs=1e-12)


def test_a_late_feature_without_a_say_changes_no_cosine():
    voice = CosineVoice(7)
    assert voice.cosines({0: 0.5, 3: -1.0}) == voice.cosines({0: 0.5, 3: -1.0, 5: 0.0})


def test_cosines_are_standardised_by_the_samples_before():
    voice = CosineVoice(7)
    rng = random.Random(8)
    rows = [{0: rng.gauss(0, 1), 1: rng.gauss(0, 1)} for _ in range(50)]
    assert set(voice.inputs(Row(rows[0], {}), rows[0]).values()) == {1.0, 0.0}
    for z in rows[:-1]:
        voice.learn(Row(z, {}), z, rng.randrange(2), 1.0, 2)
    history = np.array([voice.cosines(z) for z in rows])
    expected = (history[-1] - history[:-1].mean(axis=0)) / history[:-1].std(axis=0)
    inputs = voice.inputs(Row(rows[-1], {}), rows[-1])
    assert inputs.pop("intercept") == 1.0
    assert list(inputs.values()) == pytest.approx(np.clip(expected, -4, 4), abs=1e-10)


# The pool ----------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(streams(max_size=14), st.sampled_from(["logistic", "cosines"]))
def test_the_vote_of_the_voices_moves_along_the_gradient(stream, linear):
    model = forest(linear)
    for x, y, w in stream:
        before = copy.deepcopy(model)
        is_new = y not in model.labels or any(
            value == value and value is not None and name not in model.columns
            for name, value in x.items()
        )
        model.learn_one(x, y, w)
        if is_new:
            continue
        for k, voice in enumerate(model.voices.voices):
            start, ends = before.voices.voices[k].vote_weight, []
            for change in (1e-5, -1e-5):
                before.voices.voices[k].vote_weight = start + change
                ends.append(math.log(before.predict_proba_one(x)[y]))
            before.voices.voices[k].vote_weight = start
            expected = start + naive_voices.VOICE_RATE * min(w, 1.0) * (ends[0] - ends[1]) / 2e-5
            assert voice.vote_weight == pytest.approx(expected, abs=1e-8)


def test_votes_are_floored():
    voices = Voices("logistic", KEYS)
    voices.voices[0].weights[1, "intercept"] = -50.0
    (vote,) = voices.log_votes(Row({}, {}), 2)
    assert vote == [pytest.approx(0.0, abs=1e-20), -7.0]


@settings(max_examples=10, deadline=None)
@given(streams(max_size=14))
def test_voices_without_a_say_change_nothing(stream):
    models = [forest(linear) for linear in (None, "cosines")]
    for x, y, w in stream:
        for model in models:
            for voice in model.voices.voices:
                voice.vote_weight = 0.0
        expected = models[0].predict_proba_one(x)
        assert models[1].predict_proba_one(x) == pytest.approx(expected, abs=1e-14)
        for model in models:
            model.learn_one(x, y, w)


def test_weight_zero_changes_nothing():
    models = [forest(), forest()]
    for i in range(20):
        x = {"a": i % 3, "b": "pq"[i % 2]}
        for model in models:
            model.learn_one(x, i % 2)
        models[0].learn_one({"a": 50, "c": 1}, "new", 0.0)
    assert models[0].predict_proba_one({"a": 1}) == models[1].predict_proba_one({"a": 1})


def test_voices_need_a_learned_vote():
    with pytest.raises(ValueError, match="learned"):
        naive.NaiveForest([1], [2], linear="logistic")
    assert naive.NaiveForest([1], [2], linear="auto").voices.voices == []
