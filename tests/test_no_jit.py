"""The kernels once more as plain Python, where an index out of bounds raises."""

import os
import subprocess
import sys
from pathlib import Path

SHORT_LIST = [
    "test_naive.py::test_a_longer_stream_equals_the_reference",  # adaptive ones among them
    "test_invariants.py::test_c_on_a_frozen_structure_the_log_loss_obeys_the_bound",
    "test_copies.py::test_copies_all_along_the_way_change_nothing[AdaptiveAMFClassifier]",
    "test_many.py::test_a_block_is_learnt_like_its_rows[budget-pandas]",
    "test_many.py::test_a_block_is_predicted_then_learnt_like_its_rows[adaptive, budget-pandas]",
    "test_outliers.py::test_copies_remember_what_is_suspect[40-adaptive]",
    "test_relevance.py::test_blocks_give_the_relevance_of_rows",
    "test_vote.py::test_a_prediction_from_before_a_block_is_not_used_after_it[learn_many-adaptive]",
    "test_many.py::test_a_block_is_predicted_then_learnt_like_its_rows[default-pandas]",
    "test_long_lists.py",
    "test_room.py",
    "test_state.py",
    "test_inspection.py",
    "test_paths.py",
    "test_dummy.py",
]


def test_the_short_list_passes_without_the_compiler():
    here = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(str(here / test) for test in SHORT_LIST)],
        cwd=here.parent,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
