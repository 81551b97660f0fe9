"""The kernel tests again as plain Python, in which an index out of bounds raises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

WHEREVER = "model/test_capacity.py::test_wherever_memory_is_short_the_arrays_stay_in_step"
NUMBERS = "model/test_naive_regression.py::test_a_longer_stream_equals_the_reference"
BLOCKS = "dataframes/test_many.py::test_a_block_is"

# in parts of similar run time; each runs in its own process
SHORT_LIST = {
    "learning": [
        "model/test_naive.py::test_a_longer_stream_equals_the_reference[plain]",
        "model/test_naive.py::test_a_longer_stream_equals_the_reference[fading, vote]",
        "model/test_invariants.py::test_c_on_a_frozen_structure_the_log_loss_obeys_the_bound",
        "model/test_outliers.py::test_copies_remember_what_is_suspect[adaptive]",
        "model/test_relevance.py::test_blocks_give_the_relevance_of_rows",
        "model/test_dummy.py",
        "model/test_naive_regression.py::test_a_jump_after_a_thousand_equal_targets[0.5]",
        "model/test_regression.py::test_booleans_are_targets",
    ],
    "blocks": [
        f"{BLOCKS}_learnt_like_its_rows[budget-pandas]",
        f"{BLOCKS}_predicted_then_learnt_like_its_rows[default-pandas]",
        f"{BLOCKS}_predicted_then_learnt_like_its_rows[adaptive, budget-pandas]",
    ],
    "numbers": [
        f"{NUMBERS}[fading, budget]",
        f"{NUMBERS}[trend, one tree]",
        "dataframes/test_many_numbers.py::test_the_number_of_threads_changes_no_result[fading-2]",
    ],
    "long lists": ["model/test_long_lists.py"],
    "room": [
        f"{WHEREVER}[plain-23]",
        f"{WHEREVER}[adaptive-24]",
        "model/test_capacity.py::test_a_chain_of_splits_that_finds_no_room_leaves_a_model_that_goes_on",
        "model/test_capacity.py::test_a_sample_that_needs_room_in_the_middle_is_stored_once",
        "model/test_state.py",
    ],
    "paths": [
        "model/test_paths.py::test_they_do_with_all_that_adapts",
        "model/test_paths.py::test_a_walk_goes_where_the_table_of_nodes_says",
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


@pytest.mark.slow
@pytest.mark.parametrize("part", SHORT_LIST)
def test_the_short_list_passes_without_the_compiler(part):
    run_without_the_compiler(SHORT_LIST[part])


@pytest.mark.soak
@pytest.mark.parametrize("tests", LONG_LIST)
def test_whole_files_pass_without_the_compiler(tests):
    run_without_the_compiler([tests])
