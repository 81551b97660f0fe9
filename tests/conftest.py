import os

from hypothesis import settings

# no deadline: the first example compiles; derandomized: a red test is red again
settings.register_profile("river_amf", deadline=None, derandomize=True)
settings.load_profile("river_amf")

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a display

# Before numpy is imported: the networks of `baselines` are so small that BLAS threads on shared
# cores take five times as long as one.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
