"""What each default of `AdaptiveAMFRegressor` gains. Prints Markdown.

    python tests/benchmarks/regression_defaults.py               # the table of the README
    python tests/benchmarks/regression_defaults.py --limit 50000 --streams bike,protein

Test-then-train R2 over the first rows of the streams of regression.py, in blocks, 10 trees, one
seed; each row is the adaptive forest with one parameter changed, or with several. The first mean is
over all streams, the second over the ten that others have published figures of.
"""

import statistics

import command
from regression import PUBLISHED, STREAMS, Run, available_streams, frame_of, print_header

from river_amf import AdaptiveAMFRegressor, AMFRegressor

WITHOUT = {
    "AMFRegressor": None,
    "AdaptiveAMFRegressor": {},
    "trend=None": {"trend": None},
    'vote="mean"': {"vote": "mean"},
    "fading_factor=None": {"fading_factor": None},
    'split_intensity="range"': {"split_intensity": "range"},
    "split_prior=0.5": {"split_prior": 0.5},
    "max_nodes=None": {"max_nodes": None},
    'vote="mean", fading_factor=None': {"vote": "mean", "fading_factor": None},
    'vote="mean", trend=None': {"vote": "mean", "trend": None},
    'vote="mean", trend=None, fading_factor=None': {
        "vote": "mean",
        "trend": None,
        "fading_factor": None,
    },
}


def r2_of(parameters: dict | None, X: object, y: object, seed: int) -> float:
    """Return the R2 of a forest along a stream."""
    if parameters is None:
        model = AMFRegressor(seed=seed)
    else:
        model = AdaptiveAMFRegressor(seed=seed, **parameters)
    return Run(y.to_numpy(), *model._test_then_train(X, y, None)).r2


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    parser.add_argument(
        "--limit", type=command.whole, default=10_000, metavar="N", help="rows (default: 10000)"
    )
    parser.add_argument("--seed", type=command.whole, default=1, metavar="N", help="default: 1")
    arguments = parser.parse_args(argv)
    names = available_streams(arguments.streams, arguments.data)
    if not names:
        return 1
    print_header("", "mean", "mean of the ten", *names)
    for variant, parameters in WITHOUT.items():
        row = {}
        for name in names:
            X, y = frame_of(name, arguments.data, arguments.limit)
            row[name] = r2_of(parameters, X, y, arguments.seed)
        ten = [r2 for name, r2 in row.items() if name in PUBLISHED]
        cells = [f"{statistics.mean(each):.3f}" if each else "" for each in (row.values(), ten)]
        cells += [f"{r2:.3f}" for r2 in row.values()]
        print(f"| {variant} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    command.run(main)
