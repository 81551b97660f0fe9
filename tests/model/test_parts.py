"""Parts are compiled for what a forest's settings and capacity say, and never called before.

Most tests are processes of their own, because what is compiled stays.
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

USE = """
import json
import pickle
import sys
import pandas as pd
from river_amf import AMFClassifier
from river_amf.state.layout import PARTS, PART_ADDRESSES

parameters, calls, n_samples = json.loads(sys.argv[1])
model = AMFClassifier(n_estimators=3, seed=1, **parameters)

def label(i):
    return i > 0.9 * n_samples and i * 7 % 5  # of one class at first, so lists grow long

xs = [{"a": i * 37 % 101, "b": "rgb"[i % 3], "c": float(i)} for i in range(n_samples)]
ys = [label(i) for i in range(n_samples)]
if calls == "single":
    for x, y in zip(xs, ys):
        model.learn_one(x, y, w=1.0 + (len(str(x)) % 2))
elif calls == "block":
    model.learn_many(pd.DataFrame(xs), ys)
elif calls == "predict":
    model = pickle.loads(sys.stdin.buffer.read())
    model.predict_proba_one(xs[0])
elif calls == "predict_many":
    model = pickle.loads(sys.stdin.buffer.read())
    model.predict_many(pd.DataFrame(xs))
elif calls == "new label":
    model = pickle.loads(sys.stdin.buffer.read())
    model.learn_many(pd.DataFrame(xs[:1]), ["new"])
print(sorted(name for name, address in zip(PARTS, PART_ADDRESSES.any(axis=0)) if address))
if calls == "pickle":
    for x, y in zip(xs, ys):
        model.learn_one(x, y)
    sys.stdout.flush()
    sys.stdout.buffer.write(pickle.dumps(model))
"""

LEARNING = {"expand_leaf", "learn_tree", "update_intensity"}
ADAPTIVE = {
    "split_intensity": "relevance",
    "fading_factor": 0.5,
    "restart_threshold": 4.0,
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
    "restarts": ({"restart_threshold": 4.0}, 100, LEARNING | {"judge_tree", "take_vote"}),
    "vote": ({"vote": "learned"}, 100, LEARNING | {"learn_vote", "pool_votes", "take_vote"}),
    "adaptive": (ADAPTIVE, 100, OF_ADAPTIVE),
    "words": ({"absent": "zero"}, 100, LEARNING | {"count_words", "run_experts"}),
    "linear expert of words": (
        {"absent": "zero", "vote": "learned", "linear": "logistic"},
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
    "label memory": (
        {"vote": "learned", "label_memory": True},
        100,
        LEARNING | {"learn_vote", "pool_votes", "take_vote", "recall_labels", "run_experts"},
    ),
    "long lists": ({}, LONG, LEARNING | {"list_row_and_thin"}),
    "few nodes": ({"max_nodes": 40}, 250, LEARNING | {"release_rows"}),
}


def run(parameters, calls, n_samples, model=b""):
    """Use a forest in its own process, and return the parts compiled, and what follows."""
    arguments = json.dumps([parameters, calls, n_samples])
    done = subprocess.run(
        [sys.executable, "-c", USE, arguments], input=model, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    names, _, rest = done.stdout.partition(b"\n")
    return set(json.loads(names.replace(b"'", b'"'))), rest


@pytest.mark.slow
@pytest.mark.parametrize("calls", ["single", "block"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_forest_finds_all_its_parts(kind, calls):
    parameters, n_samples, parts = KINDS[kind]
    assert run(parameters, calls, n_samples)[0] == parts


@pytest.mark.slow
@pytest.mark.parametrize("calls", ["predict", "predict_many"])
@pytest.mark.parametrize("kind", ["plain", "adaptive"])
def test_a_forest_that_only_predicts_compiles_no_more(kind, calls):
    parameters = KINDS[kind][0]
    none, model = run(parameters, "pickle", 100)
    assert none == set()
    parts = {"take_vote", "pool_votes"} if kind == "adaptive" else {"take_vote"}
    assert run({}, calls, 100, model)[0] == parts


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "adaptive"])
def test_a_block_that_begins_with_a_new_label_compiles_what_it_needs(kind):
    # its first row is neither predicted nor learned before its label is known
    parameters, _, parts = KINDS[kind]
    _, model = run(parameters, "pickle", 100)
    assert run({}, "new label", 100, model)[0] == parts


LOADED = """
import sys
import river_amf
model = river_amf.load(sys.argv[1])
model.learn_one({"a": 0.0}, "y")
print(model._arena.trees["n_nodes"].tolist())
"""


@pytest.mark.slow
def test_lists_longer_than_today_s_spend_the_budget(tmp_path):
    # as they may be in a file from elsewhere; the newcomer takes more than 540 splits
    model = AMFClassifier(n_estimators=1, max_nodes=1081, seed=1)
    model.learn_one({"a": 1.0}, "x")
    model._arena.settings["longest_list"] = 10_000
    for exponent in range(-1000, 1000):
        model.learn_one({"a": 2.0**exponent}, "x")
    path = tmp_path / "model.amf"
    model.save(path)
    done = subprocess.run([sys.executable, "-c", LOADED, path], capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", "[1081]\n")


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
