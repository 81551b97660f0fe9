"""Parts are compiled for what a forest's settings and capacity say, and never called before.

Most tests look at processes of their own, because what is compiled stays.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from river_amf import AMFClassifier
from river_amf.kernels import numba_tools
from river_amf.state.layout import PARTS

# Each way of use is a child of a process that has compiled nothing.
USE = """
import json
import multiprocessing
import pickle
import sys
import pandas as pd
from river_amf import AMFClassifier
from river_amf.state.layout import PARTS, PART_ADDRESSES

def samples_of(n):
    xs = [{"a": i * 37 % 101, "b": "rgb"[i % 3], "c": float(i)} for i in range(n)]
    ys = [i > 0.9 * n and i * 7 % 5 for i in range(n)]  # of one class at first, so lists grow long
    return xs, ys

def make(parameters):
    return AMFClassifier(n_estimators=3, seed=1, **parameters)

def learnt(parameters):
    model = make(parameters)
    for x, y in zip(*samples_of(100)):
        model.learn_one(x, y)
    return pickle.dumps(model)

def use(calls, given, n_samples):
    xs, ys = samples_of(n_samples)
    model = pickle.loads(given) if isinstance(given, bytes) else make(given)
    if calls == "single":
        for x, y in zip(xs, ys):
            model.learn_one(x, y, w=1.0 + (len(str(x)) % 2))
    elif calls == "block":
        model.learn_many(pd.DataFrame(xs), ys)
    elif calls == "predict":
        model.predict_proba_one(xs[0])
    elif calls == "predict_many":
        model.predict_many(pd.DataFrame(xs))
    elif calls == "new label":
        model.learn_many(pd.DataFrame(xs[:1]), ["new"])
    return [name for name, address in zip(PARTS, PART_ADDRESSES.any(axis=0)) if address]

with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
    kinds = json.loads(sys.argv[1])
    for kind in ("plain", "adaptive"):
        kinds[kind + ", learnt"] = [pool.apply(learnt, (kinds[kind][0],)), 100]
    ways = [
        (kind, calls)
        for kind in kinds
        for calls in (
            ("nothing", "predict", "predict_many", "new label")
            if kind.endswith("learnt")
            else ("single", "block")
        )
    ]
    found = pool.starmap(use, ((calls, *kinds[kind]) for kind, calls in ways), chunksize=1)
print(json.dumps([[*way, parts] for way, parts in zip(ways, found)]))
"""

LEARNING = {"expand_leaf", "learn_tree", "update_intensity"}
ADAPTIVE = {
    "split_intensity": "relevance",
    "fading_factor": 0.5,
    "drift_threshold": 4.0,
    "vote": "learned",
}
OF_ADAPTIVE = LEARNING | {
    "judge_tree",
    "learn_vote",
    "pool_votes",
    "take_vote",
    "weigh_faded_cell",
    "weigh_features",
}
LONG = 2500  # samples of one class, more than a leaf keeps

# parameters, number of samples, parts
KINDS = {
    "plain": ({}, 100, LEARNING),
    "as drawn in the paper": ({"split_pure": True}, 100, LEARNING - {"expand_leaf"}),
    "relevance": ({"split_intensity": "relevance"}, 100, LEARNING | {"weigh_features"}),
    "fading": ({"fading_factor": 0.5}, 100, LEARNING | {"weigh_faded_cell"}),
    "restarts": ({"drift_threshold": 4.0}, 100, LEARNING | {"judge_tree", "take_vote"}),
    "vote": ({"vote": "learned"}, 100, LEARNING | {"learn_vote", "pool_votes", "take_vote"}),
    "adaptive": (ADAPTIVE, 100, OF_ADAPTIVE),
    "words": ({"absent": "zero"}, 100, LEARNING | {"count_words", "run_experts"}),
    "linear expert of words": (
        {"absent": "zero", "vote": "learned", "linear": True},
        100,
        LEARNING
        | {
            "learn_vote",
            "pool_votes",
            "take_vote",
            "standardise",
            "run_linear_model",
            "run_experts",
        }
        | {"count_words", "predict_sparse", "learn_sparse"},
    ),
    "long lists": ({}, LONG, LEARNING | {"list_row_and_thin"}),
    "few nodes": ({"max_nodes": 40}, 250, LEARNING | {"release_rows"}),
}


@pytest.fixture(scope="module")
def parts_of():
    """Return the parts that each kind of forest has compiled after each way of use."""
    kinds = {name: kind[:2] for name, kind in KINDS.items()}
    done = subprocess.run(
        [sys.executable, "-c", USE, json.dumps(kinds)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {(kind, calls): set(parts) for kind, calls, parts in json.loads(done.stdout)}


def test_each_kind_of_forest_finds_all_its_parts(parts_of):
    expected = {(kind, calls): KINDS[kind][2] for kind in KINDS for calls in ("single", "block")}
    assert {way: parts_of[way] for way in expected} == expected


@pytest.mark.parametrize("kind", ["plain", "adaptive"])
def test_a_forest_that_was_learnt_elsewhere_compiles_what_it_needs(kind, parts_of):
    voting = {"take_vote", "pool_votes"} if kind == "adaptive" else {"take_vote"}
    expected = {
        "nothing": set(),
        "predict": voting,
        "predict_many": voting,
        # its first row is neither predicted nor learned before its label is known
        "new label": KINDS[kind][2],
    }
    assert {calls: parts_of[f"{kind}, learnt", calls] for calls in expected} == expected


@pytest.mark.skipif(not numba_tools.USES_INSIDES, reason="parts have no addresses")
def test_a_part_that_was_not_asked_for_raises():
    model = AMFClassifier(n_estimators=1, seed=1)
    model.learn_one({"a": 1.0}, "x")
    model.predict_one({"a": 1.0})
    nothing = np.zeros(len(PARTS), np.int64)
    model._arena.handle["parts"] = nothing.ctypes.data
    with pytest.raises(RuntimeError, match="take_vote is not compiled"):
        model.predict_one({"a": 1.0})


PLAIN = """
import json
from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.kernels import numba_tools
from river_amf.state.layout import PART_ADDRESSES

said = []
for kind in (AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor):
    model = kind(n_estimators=3, seed=1, max_nodes=61)
    for i in range(300):
        x = {"a": float(i * 37 % 101), "b": "rgb"[i % 3], "c": float(i * i % 17)}
        said.append(repr(model.predict_one(x)))
        model.learn_one(x, i * i % 5, w=1.0 + i % 2)
assert numba_tools.IS_COMPILED
print(json.dumps([numba_tools.USES_INSIDES, bool(PART_ADDRESSES.any()), said]))
"""


@pytest.mark.soak  # it compiles for minutes: python -m pytest -m soak tests/model/test_parts.py
def test_plain_numba_predicts_the_same():
    def answers(**variables):
        run = subprocess.run(
            [sys.executable, "-c", PLAIN],
            env=os.environ | variables,
            capture_output=True,
            text=True,
        )
        assert run.stderr == ""
        return json.loads(run.stdout)

    uses_insides, has_addresses, said = answers()
    assert uses_insides and has_addresses
    plain = answers(RIVER_AMF_PLAIN_NJIT="1", NUMBA_OPT="0")  # which compiles faster
    assert plain == [False, False, said]


UNKNOWN = """
import numba
numba.version_info = numba.version_info._replace(short=(9, 9))
numba.__version__ = "9.9"
from river_amf.kernels import numba_tools
print(numba_tools.USES_INSIDES)
"""


def test_on_an_unknown_numba_the_switch_is_thrown():
    assert numba_tools.is_known((0, 61)) and numba_tools.is_known((0, 68, 3))
    assert not numba_tools.is_known((0, 60, 2)) and not numba_tools.is_known((0, 69))
    run = subprocess.run([sys.executable, "-c", UNKNOWN], capture_output=True, text=True)
    assert run.stdout == "False\n"
    assert "does not know Numba 9.9" in run.stderr and run.stderr.count("\n") == 1
