import os
import signal
from contextlib import suppress

from hypothesis import settings

# No deadline, because the first example compiles. Derandomized, so a failing test fails again.
settings.register_profile("river_amf", deadline=None, derandomize=True)
settings.load_profile("river_amf")

os.environ.setdefault("MPLBACKEND", "Agg")  # plots without a display

# Before numpy is imported: the networks of `baselines` are so small that BLAS threads on shared
# cores take five times as long as one.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")


# A job in the background of a shell ignores Ctrl-C, and so would the commands that are tested.
with suppress(ValueError):  # not in the main thread
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session):
    """Compile everything once, instead of in each worker and in the commands that are tested."""
    if not hasattr(session.config, "workerinput"):
        import river_amf  # not before the variables above are set

        river_amf.warm_up()
