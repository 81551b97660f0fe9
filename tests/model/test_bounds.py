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
kernels.trace_sample(arena.address, 2, sample.address, visits.ctypes.data)  # of trees 0 and 1
"""


@pytest.mark.soak
def test_kernels_stay_within_bounds(pytestconfig):
    # compiling takes half a minute, so it is kept between runs of pytest; in a folder of its own,
    # as numba would use what was compiled without checks
    folder = pytestconfig.cache.mkdir("kernels with bounds checks")
    ignored = [f"--ignore={TESTS / 'model' / f'test_{name}.py'}" for name in OTHER_PROCESSES]
    tests = ["-m", "pytest", "-q", *ignored, *(str(TESTS / test) for test in TESTED)]
    runs = [
        subprocess.run(
            [sys.executable, *arguments],
            cwd=TESTS.parent,
            env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)},
            capture_output=True,
            text=True,
        )
        for arguments in (["-c", OUTSIDE], tests)
    ]
    assert runs[0].stderr.endswith("IndexError: index is out of bounds\n")
    assert runs[1].returncode == 0, runs[1].stdout[-4000:] + runs[1].stderr[-2000:]
