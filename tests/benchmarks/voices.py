"""What linear voices gain beside the trees, and what they cost. Prints Markdown.

    python tests/benchmarks/voices.py                      # all parts
    python tests/benchmarks/voices.py streams --seeds 1    # or one
    python tests/benchmarks/voices.py trees --streams elec2,letter

- `streams`: no voices, logistic regression, and cosines too, with 10 trees on each stream.
- `trees`: the same with 5, 10, 20 and 30 trees, as means over the streams.

Test-then-train with `AdaptiveAMFClassifier` over the first 50 000 rows (spam: 8 000) of the real
streams of `origins.py`: accuracy, log-loss, microseconds of processor time to predict and learn a
sample from a dataframe in one thread, and memory at the end. All are means over the seeds, but time
is that of the fastest. "Goal" is what the project set out to reach, for 10 trees. The exit status
is 1 if a goal was missed, or if there was nothing to measure.
"""

import argparse
import functools
import statistics
from collections.abc import Callable
from pathlib import Path

import command
from defaults import DATA
from streams import available
from trees import Figures, frame_of, measure

from river_amf import AdaptiveAMFClassifier

missed: list[str] = []  # goals, in this run

N_TREES = (5, 10, 20, 30)
LINEAR = (None, "logistic", "cosines")

Results = dict[str | None, Figures]  # by `linear`


def run(n_trees: int, data: Path, name: str, seed: int) -> Results:
    """Run forests without and with voices along a stream, one after the other."""
    frame, labels = frame_of(name, data)
    results = {}
    for linear in LINEAR:
        # so that nothing is compiled while it is timed, not even what a spent budget needs
        short = AdaptiveAMFClassifier(max_nodes=63, linear=linear)
        short.predict_proba_then_learn_many(frame[:1000], labels[:1000])
        model = AdaptiveAMFClassifier(n_estimators=n_trees, seed=seed, linear=linear)
        results[linear] = measure(model, frame, labels)
    return results


def mean_of(figures: list[Figures]) -> Figures:
    """Return the means over the seeds, but the least time."""
    accuracy, log_loss, us, mb = zip(*figures, strict=True)
    return Figures(
        statistics.mean(accuracy), statistics.mean(log_loss), min(us), statistics.mean(mb)
    )


def run_all(n_trees: int, names: list[str], arguments: argparse.Namespace) -> dict[str, Results]:
    """Return what came of each stream, over the seeds."""
    all_names, all_seeds = zip(*((n, s) for n in names for s in arguments.seeds), strict=True)
    with command.processes(arguments.jobs) as pool:
        of_one = functools.partial(run, n_trees, arguments.data)
        runs = list(zip(all_names, pool.map(of_one, all_names, all_seeds), strict=True))
    return {
        name: {
            linear: mean_of([results[linear] for other, results in runs if other == name])
            for linear in LINEAR
        }
        for name in names
    }


def means(results: dict[str, Results]) -> Results:
    """Return the means over the streams."""
    return {
        linear: Figures(
            *(
                statistics.mean(column)
                for column in zip(*(each[linear] for each in results.values()), strict=True)
            )
        )
        for linear in LINEAR
    }


def by_stream(names: list[str], arguments: argparse.Namespace) -> None:
    """Print what voices gain and cost on each stream, and the goals."""
    columns = (
        ("accuracy", ".4f", lambda figures: figures.accuracy),
        ("log-loss", ".4f", lambda figures: figures.log_loss),
        ("us", ".1f", lambda figures: figures.us),
    )
    titles = [f"{title}: {linear}" for title, *_ in columns for linear in LINEAR]
    print(f"| stream | {' | '.join(titles)} |")
    print("|---" * (1 + len(titles)) + "|")
    results = run_all(10, names, arguments)
    results_and_mean = results | {"mean": means(results)}
    for name, of_stream in results_and_mean.items():
        cells = [
            format(pick(of_stream[linear]), spec) for _, spec, pick in columns for linear in LINEAR
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    print()
    print("| what | measured | goal |")
    print("|---|---|---|")
    for stream, least in (("weather", 0.799), ("elec2", 0.955), ("spam", 0.972), ("mean", 0.912)):
        if stream in names or (stream == "mean" and set(names) == set(DATA)):
            accuracy = results_and_mean[stream]["cosines"].accuracy
            report(
                f"cosines, accuracy, {stream}", f"{accuracy:.4f}", f">= {least}", accuracy >= least
            )
    if set(names) == set(DATA):
        before, now = (results_and_mean["mean"][linear].log_loss for linear in (None, "cosines"))
        share = now / before
        report("log-loss, mean, of that without voices", f"{share:.3f}", "<= 0.9", share <= 0.9)
    gain, worst = min(
        (each["cosines"].accuracy - each[None].accuracy, name) for name, each in results.items()
    )
    report(f"least gain in accuracy ({worst})", f"{gain:.4f}", ">= -0.002", gain >= -0.002)
    for stream, linear, most in (
        ("elec2", "logistic", 1.1),
        ("elec2", "cosines", 2.0),
        ("letter", "cosines", 2.0),
    ):
        if stream in names:
            ratio = results[stream][linear].us / results[stream][None].us
            what = f"{linear}, time on {stream}, times that without voices"
            report(what, f"{ratio:.2f}", f"<= {most}", ratio <= most)


def report(what: str, measured: str, goal: str, is_met: bool) -> None:
    """Print a line about a goal."""
    print(f"| {what} | {measured} | {goal} |", flush=True)
    if not is_met:
        missed.append(what)


def by_trees(names: list[str], arguments: argparse.Namespace) -> None:
    """Print what voices gain and cost beside more or fewer trees."""
    print("| trees | linear | accuracy | log-loss | us per sample | memory, MB |")
    print("|---|---|---|---|---|---|")
    for n_trees in N_TREES:
        results = means(run_all(n_trees, names, arguments))
        for linear, (accuracy, log_loss, us, mb) in results.items():
            cells = f"{accuracy:.4f} | {log_loss:.4f} | {us:.1f} | {mb:.0f}"
            print(f"| {n_trees} | {linear} | {cells} |", flush=True)


PARTS: dict[str, Callable[[list[str], argparse.Namespace], None]] = {
    "streams": by_stream,
    "trees": by_trees,
}


def read_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = command.make_parser(__doc__)
    command.add_parts(parser, PARTS)
    command.add_streams(parser, DATA)
    parser.add_argument(
        "--seeds", type=command.wholes, default=[1, 2, 3], metavar="1,2", help="default: 1,2,3"
    )
    parser.add_argument(
        "--jobs", type=command.whole, default=1, metavar="N", help="processes (default: 1)"
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Print the parts asked for; returns the exit status."""
    arguments = read_arguments(argv)
    names = available(arguments.streams, arguments.data)
    if not names:
        return 1
    for part in arguments.parts or PARTS:
        PARTS[part](names, arguments)
        print()
    return command.verdict(missed)


if __name__ == "__main__":
    command.run(main)
