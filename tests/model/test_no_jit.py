"""The kernel tests again where an index out of bounds raises: as plain Python, and compiled so.

In compiled code Numba checks the views that kernels make of addresses, too, against the capacity
along each axis. It does not know which part of that room is in use.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

REFERENCE = "test_longer_stream_equals_the_reference"
ROOM = "model/test_capacity.py::test_sample_without_room_changes_nothing"
BLOCKS = "dataframes/test_many.py::test_block_of_each_library_equals_rows"  # kernels know none

# in parts of similar run time; each runs in its own process
SHORT_LIST = {
    "learning": [
        f"model/test_naive.py::{REFERENCE}[plain]",
        f"model/test_naive.py::{REFERENCE}[fading, vote]",
        f"model/test_naive_regression.py::{REFERENCE}[fading, budget]",
        "model/test_relevance.py::test_relevance_equals_the_reference[AMFClassifier-0]",
        "model/test_dummy.py",
        "model/test_regression.py::test_first_prediction_is_the_first_target",
    ],
    "blocks, capacity, paths": [
        f"{BLOCKS}[AMFClassifier-pandas]",
        f"{BLOCKS}[AMFRegressor-pandas]",
        "model/test_long_lists.py::test_thinned_leaf_keeps_box_and_counts",
        f"{ROOM}[plain]",
        f"{ROOM}[adaptive]",
        "model/test_capacity.py::test_chain_of_splits_is_drawn_as_with_room",
        "model/test_state.py",
        "model/test_paths.py::test_paths_mix_to_the_prediction_after_a_drift",
        "tools/test_inspection.py",
    ],
}
LONG_LIST = [
    "model/test_naive.py",
    "model/test_naive_regression.py",
    "model/test_invariants.py",
    "model/test_restarts.py",
    "model/test_capacity.py",
    "model/test_paths.py",
    "model/test_encoding.py",
    "model/test_long_lists.py",
    "dataframes/test_many.py",
    "tools/test_contributions.py::test_restarted_trees_count_with_what_they_predict",
]


CHECKED = ["model", "dataframes", "persistence", "tools/test_inspection.py"]
OTHER_PROCESSES = ["cache", "no_jit"]  # these tests start processes of their own
OUTSIDE = """
import numpy as np
from river_amf import AMFClassifier, kernels
model = AMFClassifier(n_estimators=2)
model.learn_one({"a": 1.0}, "x")
arena, sample = model._arena, model._features.encode_any({"a": 1.0})
visits = np.zeros(9, kernels.VISIT)
kernels.trace_sample(arena.address, 2, sample.address, visits.ctypes.data)  # of trees 0 and 1
"""


def run(*arguments, **variables):
    options = {"cwd": TESTS.parent, "capture_output": True, "text": True}
    return subprocess.run([sys.executable, *arguments], env=os.environ | variables, **options)


def check_tests(tests, *options, **variables):
    paths = (str(TESTS / test) for test in tests)
    done = run("-m", "pytest", "-q", *options, *paths, **variables)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize("part", SHORT_LIST)
def test_the_short_list_passes_without_the_compiler(part):
    check_tests(SHORT_LIST[part], NUMBA_DISABLE_JIT="1")


@pytest.mark.soak
@pytest.mark.parametrize("tests", LONG_LIST)
def test_whole_files_pass_without_the_compiler(tests):
    check_tests([tests], NUMBA_DISABLE_JIT="1")


@pytest.mark.soak
def test_kernels_stay_within_bounds(pytestconfig):
    # compiling takes half a minute, so it is kept between runs of pytest; in a folder of its own,
    # as numba would use what was compiled without checks
    folder = pytestconfig.cache.mkdir("kernels with bounds checks")
    checks = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)}
    assert run("-c", OUTSIDE, **checks).stderr.endswith("IndexError: index is out of bounds\n")
    ignored = [f"--ignore={TESTS / 'model' / f'test_{name}.py'}" for name in OTHER_PROCESSES]
    check_tests(CHECKED, *ignored, **checks)
