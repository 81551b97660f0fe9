"""Whole streams beside the accuracies that the authors of ARTE published. Prints Markdown.

    git clone https://github.com/aldopaim/AdaptiveRandomTreeEnsemble
    python tests/benchmarks/arte.py --data AdaptiveRandomTreeEnsemble/datasets

Test-then-train from the first row to the last, with default parameters: accuracy, mean of the
seeds. arte.csv has the figures of ARTE and its peers, from the table `Acc_Kappa_KappaM.png` of that
repository (commit 0f3b6fff), for the files there that are zip archives.
"""

import sys

import numpy as np
import pandas as pd
from streams import HERE, add_seeds, begin, make_parser, print_header, print_row
from whole_streams import BLOCK, FORESTS, means_of, run_classifier

from river_amf.evaluation import load_stream

PUBLISHED = pd.read_csv(HERE / "arte.csv", index_col="stream")
CLASSIFIERS = FORESTS["classification"]


def main(argv: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    add_seeds(parser)
    parser.add_argument("--trees", type=int, default=10, help="default: 10")
    arguments = begin(parser, argv)
    print_header(
        "stream", "rows", "last label", *(f.__name__ for f in CLASSIFIERS), *PUBLISHED.columns[1:]
    )
    n_printed = 0
    for name, (file, *published) in PUBLISHED.iterrows():
        path = arguments.data / f"{file}.zip"
        if not path.exists():
            print(f"left out: {path} is not there", file=sys.stderr)
            continue
        samples = [*load_stream(path).samples]
        X, y = pd.DataFrame([x for x, _ in samples]), np.array([str(y) for _, y in samples])
        cuts = [slice(start, start + BLOCK) for start in range(0, len(y), BLOCK)]
        blocks = [(X[cut], y[cut]) for cut in cuts]
        means = means_of(run_classifier, CLASSIFIERS, blocks.copy, arguments)
        cells = means[0]["floor"], *(mean["accuracy"] for mean in means), *published
        print_row((name, len(y), *(f"{cell:.4f}" for cell in cells)))
        n_printed += 1
    return 0 if n_printed else 1


if __name__ == "__main__":
    sys.exit(main())
