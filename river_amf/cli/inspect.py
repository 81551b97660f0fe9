"""Show the columns of a file as `river-amf evaluate` reads them, or what is in a saved model.

Of a column, show its name, how it is read, number of missing and of distinct values, and an
example. Of a saved model, show its class, parameters and trees, and how what it learned was read;
it is checked, and no code in it is run.
"""

from __future__ import annotations

import argparse

from river_amf.cli import options
from river_amf.cli.saved_models import is_model, show_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_file_arguments(parser, f"{options.FILE}; or a saved model", explains=True)
    parser.epilog = """Examples:
  river-amf inspect sales.csv
  river-amf inspect export.txt --decimal , --header 4"""


def run(arguments: argparse.Namespace) -> int:
    if is_model(arguments.stream):
        show_model(arguments.stream)
        return 0
    stream = options.load_chosen(arguments)
    print(*options.title_lines(stream, arguments), sep="\n")
    print(stream.columns().to_string(index=False))
    return 0
