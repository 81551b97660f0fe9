"""Kernels are compiled for what a forest has, which changes nothing that it predicts."""

import subprocess
import sys

import pandas as pd
import pytest
from forests import fresh, walk

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor
from river_amf.state import layout
from river_amf.state.layout import CLASSIFIER, PLAIN_CLASSIFIER, REGRESSOR

XS = [{"a": float(i * 37 % 101), "b": "rgb"[i % 3], "c": float(i * i % 17)} for i in range(300)]
YS = [i * i % 5 for i in range(300)]


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (AMFClassifier(), PLAIN_CLASSIFIER),
        (AMFClassifier(split_pure=True, max_nodes=99, use_aggregation=False), PLAIN_CLASSIFIER),
        (AMFClassifier(split_intensity="relevance"), CLASSIFIER),
        (AMFClassifier(fading_factor=0.5), CLASSIFIER),
        (AMFClassifier(drift_threshold=4.0), CLASSIFIER),
        (AMFClassifier(vote="learned"), CLASSIFIER),
        (AMFClassifier(absent="zero"), CLASSIFIER),
        (AdaptiveAMFClassifier(), CLASSIFIER),
        (AMFRegressor(), REGRESSOR),
        (AMFRegressor(vote="mean"), REGRESSOR),
    ],
    ids=lambda value: None if isinstance(value, int) else repr(value),
)
def test_kind_follows_from_parameters(model, kind):
    model.learn_one({"a": 1.0}, 2)
    assert model._arena.kind == kind


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("parameters", [{}, {"split_pure": True}, {"max_nodes": 41}])
def test_plain_kernels_predict_what_others_do(parameters, monkeypatch):
    def predictions():
        model = fresh(**parameters)
        samples = [(x, y, 1.0 + y % 2) for x, y in zip(XS, YS, strict=True)]
        single = walk(model, samples, "predict_proba_one")
        model.learn_many(pd.DataFrame(XS), YS)
        return single, model.predict_proba_many(pd.DataFrame(XS)).to_numpy().tobytes()

    plain = predictions()
    monkeypatch.setattr(layout, "kind_of", lambda settings: CLASSIFIER)
    assert predictions() == plain


USE = """
from river_amf import AMFClassifier, kernels
model = AMFClassifier(n_estimators=2, seed=1)
model.learn_one({"a": 1.0}, True)
model.predict_one({"a": 1.0})
print(kernels.kinds_in_use())
"""


def test_only_kinds_in_use_are_compiled():
    run = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, check=True)
    assert run.stdout == f"{ {PLAIN_CLASSIFIER}!r}\n"
