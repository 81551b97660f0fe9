"""Our forests against river's classifiers: on real streams, and on tracks whose drifts are known.

    python tests/benchmarks/drift.py                         # runs what is not in drift.csv
    python tests/benchmarks/drift.py --models ARF,SRP --streams elec2,car --seeds 1,2 --jobs 2
    python tests/benchmarks/drift.py --again AMF,AdaptiveAMF # these, and if they have been run
    python tests/benchmarks/drift.py --table                 # tables and promises, from drift.csv
    python tests/benchmarks/drift.py --picture drift.png     # a picture, from drift.csv

Test-then-train, one sample at a time, 10 members each. Every run is written to drift.csv beside
this file as soon as it ends, and is not repeated unless `--again` says so: river's take hours, ours
minutes. A run that fails, or whose model takes more than `--time-limit` seconds, becomes a row that
says so. The tracks are those of `river_amf.evaluation.tracks`; of the streams of ../shared/data the
first 50 000 rows are taken, of spam 8 000. Columns are encoded before the run, with all categories
known as in the header of an ARFF file, at no cost to the model.

What is measured:

- accuracy without the first sample, of which a new model knows nothing, as in river;
- kappa-temporal: how much of what the last label leaves to be gained is gained;
- log-loss: river's `CrossEntropy`. A label that was seen before and that a model does not name has
  probability 0 (river counts no loss for it), and probabilities are scaled to a sum of 1;
- microseconds a sample: the processor's time for predict and learn (not the clock on the wall, as
  others may use the machine), after a warm-up of another model of the kind;
- memory at the end, in MB of 10^6 bytes;
- after each drift, the accuracy over the next 2 000 samples, and the recovery: after how many
  samples the last 500, all of them after the drift, are predicted as well as 500 before it. If this
  never happens until the next drift, it is the whole distance with a `+`. Gradual drift is counted
  from its middle, and compared with what was before its beginning.

`--table` exits with status 1 if a promise does not hold, or if runs are missing to tell.
"""

import argparse
import concurrent.futures
import functools
import os
import sys

import drift_report
from runs import (
    CURVE_FIELDS,
    CURVES,
    DATA,
    FIELDS,
    MODELS,
    SMALL,
    TABLE,
    TRACKS,
    Run,
    forget,
    read,
    run_and_keep,
    stream_names,
)

import river_amf


def plan(arguments: argparse.Namespace) -> list[Run]:
    """List the runs asked for that have not been done, and forget those to be done again."""
    wanted = arguments.models or arguments.again or MODELS
    names = [name for name in wanted if is_there(name)]
    asked = [
        Run(stream, name, seed)
        for name in names
        for stream in arguments.streams or stream_names()
        for seed in arguments.seeds or ((1, 2, 3) if MODELS[name].is_ours else (1,))
    ]
    again = [what for what in asked if what.model in arguments.again]
    forget(TABLE, FIELDS, again)
    forget(CURVES, CURVE_FIELDS, again)
    done = read(TABLE)
    return [what for what in asked if what not in done]


def is_there(name: str) -> bool:
    """Say so where a model is yet to come."""
    if name == "AdaptiveAMF" and not hasattr(river_amf, "AdaptiveAMFClassifier"):
        print("AdaptiveAMF: left out, this river_amf has none")
        return False
    return True


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = {"metavar": "NAME,NAME", "type": lambda text: text.split(","), "default": []}
    parser.add_argument("--streams", help="these alone", **names)
    parser.add_argument("--models", help=f"of {', '.join(MODELS)}", **names)
    parser.add_argument("--again", help="models to run again", **names)
    parser.add_argument(
        "--seeds",
        metavar="1,2",
        type=lambda text: [int(seed) for seed in text.split(",")],
        help="by default 1,2,3 for our forests, 1 for others",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--time-limit", type=float, default=900, help="seconds of a run")
    parser.add_argument("--table", action="store_true", help="print tables, check promises")
    parser.add_argument("--picture", metavar="FILE.png", help="draw")
    arguments = parser.parse_args()
    known = [*DATA, *SMALL, *TRACKS]
    if unknown := set(arguments.streams) - set(known):
        parser.error(f"no stream {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if unknown := {*arguments.models, *arguments.again} - set(MODELS):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    return arguments


def main() -> None:
    """Run, or report."""
    arguments = read_arguments()
    if arguments.picture:
        drift_report.draw(arguments.picture)
    if arguments.table:
        sys.exit(drift_report.print_all())
    if arguments.picture:
        return
    runs = plan(arguments)
    os.environ["PYTHONHASHSEED"] = "0"  # river's trees go through sets of strings
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as threads:
        keep = functools.partial(run_and_keep, time_limit=arguments.time_limit)
        list(threads.map(keep, runs))


if __name__ == "__main__":
    main()
