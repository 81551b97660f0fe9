"""Our forests against river's classifiers: on real streams, and on tracks whose drifts are known.

    python tests/benchmarks/drift.py                         # runs what is not in drift.csv
    python tests/benchmarks/drift.py --models ARF SRP --streams elec2 car --seeds 1 2 --jobs 2
    python tests/benchmarks/drift.py --again AMF AdaptiveAMF # these, and if they have been run
    python tests/benchmarks/drift.py --table                 # tables, from drift.csv
    python tests/benchmarks/drift.py --picture drift.png     # a picture, from drift.csv

Test-then-train, one sample at a time, 10 members each. Every run is written to drift.csv beside
this file as soon as it ends, and is not repeated without `--again`: river's take hours, ours
minutes. A run that fails, or takes more than `--time-limit` seconds, becomes a row with the reason.
The tracks are those of `river_amf.evaluation.tracks`; of the streams of `origins.py` the
first 50 000 rows are taken, of spam 8 000. Columns are encoded before the run, with all categories
known as in the header of an ARFF file, at no cost to the model.

What is measured:

- accuracy without the first sample, and kappa-temporal;
- log-loss, with probabilities scaled to a sum of 1. A label that was seen before and that a model
  does not name has probability 0, which counts as 1e-15; a new label has no loss;
- microseconds per sample: the processor's time to predict and to learn it, after a warm-up of
  another model of the kind;
- memory at the end, in MB of 10^6 bytes;
- after each drift of a track, the accuracy over the next 2 000 samples.
"""

import argparse
import os
import sys
from pathlib import Path

import drift_report
from runs import MODELS, OURS, SMALL, TABLE, TRACKS, Run, read, run_all
from streams import DATA, add_names, available, make_parser


def plan(arguments: argparse.Namespace) -> list[Run]:
    """List the runs asked for that are to be done."""
    done = read()
    asked = [
        Run(stream, model, seed)
        for model in arguments.models or arguments.again or MODELS
        for stream in arguments.streams
        for seed in arguments.seeds or ((1, 2, 3) if model in OURS else (1,))
    ]
    return [what for what in asked if what.model in arguments.again or what not in done]


def read_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = make_parser(__doc__, [*DATA, *SMALL, *TRACKS])
    add_names(parser, "--models", [*MODELS], [])
    add_names(parser, "--again", [*MODELS], [])
    add = parser.add_argument
    add("--seeds", type=int, nargs="+", help="by default 1 2 3 for our forests, 1 for others")
    add("--jobs", type=int, default=1, help="processes (default: 1)")
    add("--time-limit", type=float, default=900.0, help="seconds of a run (default: 900)")
    add("--table", action="store_true", help="print tables")
    add("--picture", type=Path, metavar="FILE.png", help="draw")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    arguments = read_arguments(argv)
    if arguments.picture:
        drift_report.draw(arguments.picture)
    if arguments.table:
        drift_report.print_all()
    if arguments.picture or arguments.table:
        return 0
    os.environ["PYTHONHASHSEED"] = "0"  # river's trees go through sets of strings
    planned = plan(arguments)
    if not planned:
        print(f"nothing to run: all of it is in {TABLE.name}; --again repeats the runs of a model")
        return 0
    there = available(dict.fromkeys(what.stream for what in planned), arguments.data)
    runs = [what for what in planned if what.stream in there]
    run_all(runs, arguments.data, arguments.time_limit, arguments.jobs)
    return 0 if runs else 1


if __name__ == "__main__":
    sys.exit(main())
