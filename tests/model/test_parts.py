"""Parts are compiled when a forest first needs them, and never called before.

Each test is a process of its own, because what is compiled stays; a part that is called too early
crashes it.
"""

import json
import subprocess
import sys

import pytest

USE = """
import json
import pickle
import sys
import pandas as pd
from river_amf import AMFClassifier
from river_amf.layout import PARTS, PART_ADDRESSES

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
print(sorted(name for name, address in zip(PARTS, PART_ADDRESSES) if address))
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
    "long lists": ({}, LONG, LEARNING | {"list_row_and_thin"}),
    "few nodes": ({"max_nodes": 40}, 300, LEARNING | {"release_rows"}),
    "few bytes": ({"max_bytes": 200_000}, LONG, LEARNING | {"bound_rows", "release_rows"}),
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
