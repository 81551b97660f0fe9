"""The kernel tests again as plain Python, in which an index out of bounds raises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# in parts of similar run time; each runs in its own process
SHORT_LIST = {
    "learning": [
        "model/test_naive.py::test_a_longer_stream_equals_the_reference[plain]",
        "model/test_naive.py::test_a_longer_stream_equals_the_reference[adaptive, pure cells]",
        "model/test_invariants.py::test_c_on_a_frozen_structure_the_log_loss_obeys_the_bound",
        "model/test_outliers.py::test_copies_remember_what_is_suspect[40-adaptive]",
        "model/test_relevance.py::test_blocks_give_the_relevance_of_rows",
        "model/test_vote.py::test_a_prediction_from_before_a_block_is_not_used_after_it",
        "model/test_dummy.py",
    ],
    "blocks": [
        "dataframes/test_many.py::test_a_block_is_learnt_like_its_rows[budget-pandas]",
        "dataframes/test_many.py::test_a_block_is_predicted_then_learnt_like_its_rows",
    ],
    "long lists": ["model/test_long_lists.py"],
    "room": ["model/test_room.py", "model/test_state.py"],
    "paths": ["model/test_paths.py", "tools/test_inspection.py"],
}


@pytest.mark.slow
@pytest.mark.parametrize("part", SHORT_LIST)
def test_the_short_list_passes_without_the_compiler(part):
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(str(TESTS / test) for test in SHORT_LIST[part])],
        cwd=TESTS.parent,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
