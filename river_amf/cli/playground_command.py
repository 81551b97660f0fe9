"""The subcommand `river-amf playground`: a page on which a forest learns two features."""

from __future__ import annotations

import argparse
import os
from typing import Any

from river_amf.cli.options import (
    add_file_arguments,
    announce_if_slow,
    at_least,
    check_output,
    check_pages,
    comma_separated,
    file_options,
    load_chosen,
)
from river_amf.evaluation import EvaluationError
from river_amf.evaluation.playground_samples import (
    LEAST_SAMPLES,
    MOST_SAMPLES,
    check_source_name,
    playground,
)
from river_amf.evaluation.tasks import CLASSIFICATION
from river_amf.inputs.kinds import printable
from river_amf.pages.toys import TOYS

DESCRIPTION = (
    "Write a page on which a forest learns two features, step by step: what it predicts, the cells"
    " of a tree, which depth of its trees answers, and its accuracy. Switches choose the plain or"
    " the adaptive forest, one tree or ten, with and without aggregation, and a drift halfway. The"
    " page is one file that needs no network (needs the extra `html`)."
)

_DEFAULT, *_ = TOYS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add = parser.add_argument
    add(
        "stream",
        nargs="?",
        metavar="STREAM",
        default=_DEFAULT,
        help=f"a toy: {', '.join(TOYS)}; a file or a stream, as `river-amf evaluate` takes them,"
        f" with two numeric features and up to six labels (default: {_DEFAULT})",
    )
    add("--html", metavar="FILE", required=True, help="the file to write")
    add(
        "--features",
        type=comma_separated,
        metavar="A,B",
        help="the features for both axes, where there are more than two",
    )
    add(
        "--target",
        metavar="COLUMN",
        help="column with the labels (default: 'target' if there is one, else the last column)",
    )
    add_file_arguments(parser)
    add("--seed", type=at_least(0, None), metavar="N", help="seed for reproducible results")
    add(
        "--limit",
        type=at_least(LEAST_SAMPLES, MOST_SAMPLES),
        default=1000,
        metavar="N",
        help=f"number of samples, from {LEAST_SAMPLES} to {MOST_SAMPLES}; of a longer stream, the"
        " first ones (default: 1000)",
    )
    parser.set_defaults(task=CLASSIFICATION.name, categorical=[])


def run(arguments: argparse.Namespace) -> int:
    """Write the page, print where it is, and return the exit status."""
    check_pages()
    check_output(arguments.html, arguments.stream, "the page")
    samples = _chosen_samples(arguments)
    with announce_if_slow("growing the forests, which takes about ten seconds"):
        page = playground(
            samples, n_samples=arguments.limit, features=arguments.features, seed=arguments.seed
        )
    page.save(arguments.html)
    n, size = len(page.samples.codes), os.path.getsize(arguments.html) / 1e6
    line = f"{page.samples.title}: {n} samples; {arguments.html}: {size:.1f} MB, for any browser"
    print(printable(line), *filter(None, [page.samples.remark]), sep="\n")
    return 0


def _chosen_samples(arguments: argparse.Namespace) -> Any:
    """Return the name of a toy, or the chosen stream."""
    source = arguments.stream
    check_source_name(source)
    if source.lower() not in TOYS:
        return load_chosen(arguments)
    given = [*file_options(arguments), *(["target"] if arguments.target else [])]
    if given:
        raise EvaluationError(f"--{given[0].replace('_', '-')} is for files, not for {source}")
    return source
