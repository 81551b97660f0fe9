"""Where the time of the two calls for a sample goes, beside river's forest. Prints Markdown.

    python tests/benchmarks/calls.py
    python tests/benchmarks/calls.py --streams Bananas

Nanoseconds, test-then-train, 10 trees: the mean over a stream of at most 10 000 samples, and the
median of several runs, in which the whole calls, their steps and river's forest take turns. The
steps are those of `Engine.predict` and `Engine.learn`, timed one by one:

- `encode`: from the dict to a row of numbers; to learn what was just predicted, a comparison;
- `enter`: into compiled code and back, as measured for a kernel that does next to nothing;
- `trees`: in compiled code;
- `answer`: the dict of probabilities, or the index of the label;
- `rest`: the lock, growing the arrays, and what leads from one step to the next.
"""

import gc
import statistics
import time

import command
from peers import river_forest
from streams import available, load

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.evaluation.streams import Sample
from river_amf.kernels import category_number, learn_sample, predict_sample

STREAMS = ("Bananas", "ImageSegments", "elec2")
ROWS = 10_000
REPEATS = 5
N_CALLS = 20_000

now = time.perf_counter_ns


def overhead(call=None, *arguments) -> float:
    """Return the nanoseconds of reading the clock, and of a call."""
    total = 0
    for _ in range(N_CALLS):
        start = now()
        if call is not None:
            call(*arguments)
        total += now() - start
    return total / N_CALLS


def whole(model, samples: list[Sample]) -> list[float]:
    """Return the nanoseconds of the two calls."""
    predicting = learning = 0
    for x, y in samples:
        start = now()
        model.predict_proba_one(x)
        middle = now()
        model.learn_one(x, y)
        learning += now() - middle
        predicting += middle - start
    return [predicting / len(samples), learning / len(samples)]


def steps(model, samples: list[Sample]) -> list[list[float]]:
    """Return the nanoseconds of encoding, of compiled code and of the answer, for each call."""
    engine = model._engine
    taken = [[0, 0, 0], [0, 0, 0]]
    n_timed = 0
    for x, y in samples:
        # Whatever is unusual, such as a new label, goes the usual way.
        sample, label = engine.features.encode_known(x), engine.labels.index.get(y)
        if engine.arena is None or sample is None or sample.room is None or label is None:
            model.predict_proba_one(x)
            model.learn_one(x, y)
            continue
        sample.source = None
        arena = engine.arena
        buffer, address = sample.room
        times = [now()]
        engine.features.encode_known(x)
        times.append(now())
        predict_sample(arena.address, sample.address, address)
        times.append(now())
        engine.labels.proba(buffer)
        times.append(now())
        engine.features.encode_known(x)
        times.append(now())
        status = learn_sample(arena.address, sample.address, label, 1.0, address)
        times.append(now())
        engine.labels.index.get(y)
        times.append(now())
        if status:
            engine._go_on(status, sample, label, 1.0)
            continue
        n_timed += 1
        for k in range(6):
            taken[k // 3][k % 3] += times[k + 1] - times[k]
    return [[ns / n_timed for ns in call] for call in taken]


def print_rows(name: str, cls: type, runs: list[tuple], rivers: list[list[float]]) -> None:
    """Print what the runs of a forest on a stream have shown."""
    for k, call in enumerate(("predict_proba_one", "learn_one")):
        columns = []
        for clock, entering, calls, parts in runs:
            encode, compiled, answer = (ns - clock for ns in parts[k])
            total, enter = calls[k] - clock, entering - clock
            rest = total - encode - compiled - answer
            columns.append([total, encode, enter, compiled - enter, answer, rest])
        cells = [f"{statistics.median(column):.0f}" for column in zip(*columns, strict=True)]
        cells.append(f"{statistics.median(times[k] for times in rivers):.0f}")
        print(f"| {name} | {cls.__name__} | {call} | {' | '.join(cells)} |")
    both = statistics.median(sum(calls) for _, _, calls, _ in runs)
    ratio = f"{statistics.median(map(sum, rivers)) / both:.1f} times"
    print(f"| {name} | {cls.__name__} | both | {both:.0f} |  |  |  |  |  | {ratio} |", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    gc.disable()
    print("| stream | forest | call | in all | encode | enter | trees | answer | rest | river |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        samples = [*load(name, arguments.data, ROWS)]
        runs = {AMFClassifier: [], AdaptiveAMFClassifier: []}
        rivers = []
        for cls in runs:
            whole(cls(seed=1), samples[:300])
        for _ in range(REPEATS):
            clock, entering = overhead(), overhead(category_number, 7, 0, 3.0)
            rivers.append(whole(river_forest(seed=1), samples))
            for cls, of_class in runs.items():
                calls, parts = whole(cls(seed=1), samples), steps(cls(seed=1), samples)
                of_class.append((clock, entering, calls, parts))
        for cls, of_class in runs.items():
            print_rows(name, cls, of_class, rivers)
    return 0 if names else 1


if __name__ == "__main__":
    command.run(main)
