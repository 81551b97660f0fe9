"""The kernels compiled with bounds checks: an index outside an array raises, at compiled speed.

Numba checks the views that kernels make of addresses, too, against the capacity along each axis. It
does not know which part of that room is in use.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

TESTED = ["model", "dataframes", "persistence", "tools/test_inspection.py"]
OTHER_PROCESSES = ["bounds", "cache", "no_jit"]  # these tests start processes of their own

OUTSIDE = """
import numpy as np
from river_amf import AMFClassifier, kernels
model = AMFClassifier(n_estimators=2)
model.learn_one({"a": 1.0}, "x")
arena, sample = model._arena, model._features.encode_any({"a": 1.0})
visits = np.zeros(9, kernels.VISIT)
for tree in (1, 2):
    try:
        print(kernels.trace_sample(arena.address, tree, sample.address, visits.ctypes.data))
    except IndexError as error:
        print(error)
"""


@pytest.fixture
def run(pytestconfig):
    """Run Python with bounds checks; returns what it prints."""
    # Compiling takes half a minute, so it is kept between runs of pytest. It has its own folder, as
    # numba would use what was compiled without checks.
    folder = pytestconfig.cache.mkdir("kernels with bounds checks")

    def run(*arguments):
        run = subprocess.run(
            [sys.executable, *arguments],
            cwd=TESTS.parent,
            env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
        return run.stdout

    return run


@pytest.mark.soak
def test_an_index_outside_a_view_of_an_address_raises(run):
    # the third of two trees
    assert run("-c", OUTSIDE).splitlines() == ["1", "index is out of bounds"]


@pytest.mark.soak
def test_all_that_runs_kernels_passes_with_bounds_checks(run):
    ignored = [f"--ignore={TESTS / 'model' / f'test_{name}.py'}" for name in OTHER_PROCESSES]
    run("-m", "pytest", "-q", *ignored, *(str(TESTS / test) for test in TESTED))
