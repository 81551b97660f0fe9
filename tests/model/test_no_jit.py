"""The kernel tests again as plain Python, in which an index out of bounds raises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

REFERENCE = "test_longer_stream_equals_the_reference"
ROOM = "model/test_capacity.py::test_sample_without_room_changes_nothing"
BLOCKS = "dataframes/test_many.py::test_block_of_each_library_equals_rows"

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
        BLOCKS,
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


def run_without_the_compiler(tests):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(str(TESTS / test) for test in tests)],
        cwd=TESTS.parent,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]


@pytest.mark.parametrize("part", SHORT_LIST)
def test_the_short_list_passes_without_the_compiler(part):
    run_without_the_compiler(SHORT_LIST[part])


@pytest.mark.soak
@pytest.mark.parametrize("tests", LONG_LIST)
def test_whole_files_pass_without_the_compiler(tests):
    run_without_the_compiler([tests])
