"""The longest calls of `learn_one`, on generated streams of numbers. Prints Markdown.

    python tests/benchmarks/pauses.py
    python tests/benchmarks/pauses.py --rows 1000000 --max-nodes 0 --models AMFClassifier

Times of calls after the first thousand are milliseconds of the processor, as others may disturb the
clock; those of all other calls together, "us", microseconds of a sample.
"""

import gc
import resource
import time

import numpy as np
from streams import add_names, begin, make_parser, print_header, print_row

import river_amf

MODELS = "AMFClassifier", "AdaptiveAMFClassifier", "AMFRegressor", "AdaptiveAMFRegressor"
TARGETS = {  # of features x and noise e
    "noise": lambda x, e: e > 0.0,
    "easy": lambda x, e: x[0] > 0.5,
    "rare": lambda x, e: e > 2.0,
    "numbers": lambda x, e: x[0] + x[1] * x[2] + e,
}
FIRST = 1000  # calls, which allocate memory


def times_of(model, target, n_rows, n_features):
    """Return the time of each call, in milliseconds."""
    rng, names, times = np.random.default_rng(1), [f"x{j}" for j in range(n_features)], []
    for _ in range(n_rows):
        values = rng.random(n_features).tolist()
        x, y = dict(zip(names, values, strict=True)), target(values, rng.normal())
        start = time.thread_time_ns()
        model.learn_one(x, y)
        times.append((time.thread_time_ns() - start) / 1e6)
    return np.array(times)


def main(argv=None):
    parser = make_parser(__doc__, list(TARGETS))
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--max-nodes", type=int, default=10_000, help="0 for no limit")
    add_names(parser, "--models", MODELS, MODELS)
    arguments = begin(parser, argv)
    print_header("model", "stream", "us", "above 20 ms", "longest", "at rows", "MB", "peak MB")
    gc.disable()
    for name in arguments.models:
        for stream in arguments.streams:
            if (stream == "numbers") == name.endswith("Regressor"):
                model = getattr(river_amf, name)(max_nodes=arguments.max_nodes or None, seed=1)
                times = times_of(model, TARGETS[stream], arguments.rows, arguments.features)[FIRST:]
                rows = np.argsort(times)[:-5:-1]
                longest = " ".join(f"{ms:.1f}" for ms in times[rows])
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
                cells = 1e3 * times.mean(), int((times > 20).sum()), longest, str(rows + FIRST)
                print_row((name, stream, *cells, model.memory_usage / 1e6, peak))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
