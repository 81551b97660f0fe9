import os

from hypothesis import settings

# no deadline: the first example compiles; derandomized: a red test is red again
settings.register_profile("river_amf", deadline=None, derandomize=True)
settings.load_profile("river_amf")

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a display
