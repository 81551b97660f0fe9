"""The kernels once more as plain Python, where an index out of bounds raises."""

import os
import subprocess
import sys
from pathlib import Path

BLOCKS = "dataframes/test_many.py::test_a_block_is_"
SHORT_LIST = [
    "model/test_naive.py::test_a_longer_stream_equals_the_reference",  # adaptive ones among them
    "model/test_invariants.py::test_c_on_a_frozen_structure_the_log_loss_obeys_the_bound",
    "model/test_copies.py::test_copies_all_along_the_way_change_nothing[AdaptiveAMFClassifier]",
    f"{BLOCKS}learnt_like_its_rows[budget-pandas]",
    f"{BLOCKS}predicted_then_learnt_like_its_rows[adaptive, budget-pandas]",
    "model/test_outliers.py::test_copies_remember_what_is_suspect[40-adaptive]",
    "model/test_relevance.py::test_blocks_give_the_relevance_of_rows",
    "model/test_vote.py::test_a_prediction_from_before_a_block_is_not_used_after_it[learn_many-adaptive]",
    f"{BLOCKS}predicted_then_learnt_like_its_rows[default-pandas]",
    "model/test_long_lists.py",
    "model/test_room.py",
    "model/test_state.py",
    "tools/test_inspection.py",
    "model/test_paths.py",
    "model/test_dummy.py",
]


def test_the_short_list_passes_without_the_compiler():
    tests = Path(__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(str(tests / test) for test in SHORT_LIST)],
        cwd=tests.parent,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
