import os

import pytest
from hypothesis import settings

# no deadline: the first example compiles; derandomized: a red test is red again
settings.register_profile("river_amf", deadline=None, derandomize=True)
settings.load_profile("river_amf")

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a display

# Before numpy is imported: the networks of `baselines` are so small that BLAS threads on shared
# cores take five times as long as one.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A soak is slow too, so that -m "not slow" leaves it out."""
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker("slow")
