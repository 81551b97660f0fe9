"""Arguments that subcommands share, their parsing, and what is printed of a stream."""

import argparse
import importlib.util
import os
import warnings
from typing import Any

from river_amf import evaluation
from river_amf.evaluation import EvaluationError, Stream
from river_amf.evaluation.models import TASKS
from river_amf.evaluation.streams import ROWS
from river_amf.evaluation.table_files import LAYOUT, given
from river_amf.evaluation.usage_errors import split_list
from river_amf.inputs.kinds import is_real
from river_amf.outputs.printing import print_line, printable

LIST: Any = {"type": split_list, "action": "extend", "default": [], "metavar": "A,B"}
_COLUMNS: Any = {"action": "append", "default": [], "metavar": "A,B"}  # names may have commas
KEEP: Any = {**_COLUMNS, "help": "columns to copy next to the predictions"}
FILE = "CSV, ARFF, JSON, parquet or Orange's, also as gzip, bz2, xz or zip; - is standard input"
_TABLES = """Tables: coverage is the share of targets within their interval, of level 90 %; width
 is its mean width; us/sample are microseconds to predict and learn a sample."""


def add_stream_arguments(parser: argparse.ArgumentParser) -> None:
    add_file_arguments(parser, f"{FILE}; or a stream such as Bananas")
    add = parser.add_argument
    add("--seed", type=int, metavar="N", default=1, help="of the model and of --shuffle (1)")
    add("--delay", metavar="N", default=0, help="predictions, or 12h, until a label comes (0)")
    add("--batch", metavar="N", default=0, help="predict N rows, or those of 1d, then learn them")
    add("--moment", metavar="COLUMN", help="with dates for these times, if several have")
    add("--metrics", **LIST, help="further ones of river, such as MacroF1 or MAPE")
    add("--html", metavar="PAGE", help="write a page with figures along the stream")
    parser.epilog = f"{' '.join(_TABLES.split())}\n{parser.epilog}"


def add_file_arguments(
    parser: argparse.ArgumentParser, about: str, *, explains: bool = False
) -> None:
    """Add the arguments on a file; the help of rare ones is in one subcommand only."""
    parser.usage = "%(prog)s FILE [OPTIONS]"
    main = parser.add_argument
    main("stream", nargs="?", metavar="FILE", type=_source, default="", help=about)
    main("--target", metavar="COLUMN", help="to predict (target, class, label or y, else the last)")
    main("--task", choices=TASKS, metavar="TASK", help=f"{' or '.join(TASKS)}")
    main("--drop", **_COLUMNS, help="columns to leave out, such as ids")
    main("--categorical", **_COLUMNS, help="columns of numbers to treat as categories")
    main("--text", metavar="COLUMN", help="column to take apart into a bag of words")
    main("--limit", type=positive_int, metavar="N", help="use only the first N rows")
    main("--shuffle", action="store_true", help="mix the rows of a file that has no order")
    add_reading_arguments(parser, explains=explains)


def add_reading_arguments(parser: argparse.ArgumentParser, *, explains: bool = False) -> None:
    names = list[str]()

    def add(name: str, text: str, **kwargs: Any) -> None:
        names.append(name)
        parser.add_argument(name, help=text if explains else argparse.SUPPRESS, **kwargs)

    add("--missing", "more texts that mean a missing value, as in --missing=-9,-99", **LIST)
    add("--separator", "between fields (the best of , ; | tab and space)", metavar="CHAR")
    add("--decimal", "before the fraction of a number (a point)", metavar="CHAR", default=".")
    add("--thousands", "between the thousands of a number", metavar="CHAR")
    add("--comment", "at the beginning of lines to leave out", metavar="TEXT")
    add("--no-quotes", "quotes are part of the text, not around fields", action="store_true")
    add("--encoding", "of the file, such as cp1252 (utf-8)", metavar="NAME")
    add("--header", "the line that has the names of columns", metavar="N", type=positive_int)
    add("--no-header", "columns are named 0, 1, 2 and so on", action="store_true")
    add("--skip-rows", "skip N lines, but for that of --header", metavar="N", type=positive_int)
    add("--dates", "columns of dates or times, as in Jan 1 2000, 1990-01 or 13:08", **_COLUMNS)
    add("--date-format", "of these, such as %%d.%%m.%%y", metavar="FORMAT")
    add("--day-first", "1.12. is the first of December in these", action="store_true")
    if not explains:
        parser.epilog = f"For odd files, see `river-amf inspect --help`: {', '.join(names)}"


def _source(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("is missing; `river-amf evaluate Bananas` is an example")
    return text


def file_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of files that were given, by the names that `load_stream` has for them."""
    return given({name: getattr(arguments, name, None) for name in (*LAYOUT, "drop", "text")})


def load_chosen(arguments: argparse.Namespace) -> Stream:
    """Return the chosen stream, and print notes about it."""
    file, options = arguments.stream, file_options(arguments) | {"task": arguments.task}
    options |= {"keep": getattr(arguments, "keep", ()), "limit": arguments.limit}
    if arguments.shuffle:
        options["shuffle"] = getattr(arguments, "seed", 1)
    with warnings.catch_warnings(record=True) as odd:
        warnings.simplefilter("always")
        stream = evaluation.load_stream(file, arguments.target, arguments.categorical, **options)
    for warning in odd:
        print_line(f"river-amf: {' '.join(str(warning.message).split())}")
    return stream


def title_lines(stream: Stream, arguments: argparse.Namespace) -> list[str]:
    """Return lines about what was read, the other task, and the number of samples."""
    lines = [stream.describe()]
    first = {*stream.targets[:ROWS]} if arguments.task is None and stream.target else {}
    if len(first) > 2 and all(map(is_real, first)):
        (other,) = {*TASKS} - {stream.task}
        lines += [f"{stream.task}, as these numbers suggest; or choose --task {other}"]
    more = " and those to come" * (stream.later is not None)
    return [*map(printable, lines), f"{printable(stream.name)}: {stream.n_samples} samples{more}"]


def positive_int(text: str) -> int:
    """Parse a whole number from 1 on; the name of the function is in argparse's message."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def check_outputs(arguments: argparse.Namespace, *names: str) -> None:
    """Raise if the file of an option cannot be written, is the input, or is written twice."""
    paths = [arguments.stream]
    for name in names:
        if (path := getattr(arguments, name)) is None:
            continue
        if os.path.realpath(path) in map(os.path.realpath, paths):
            raise EvaluationError(f"--{name}: {path} is the input, or written by another option")
        if name == "html" and importlib.util.find_spec("plotly") is None:
            raise EvaluationError('--html needs plotly (the extra html): pip install "plotly>=6"')
        paths.append(path)
        is_new = not os.path.exists(path)
        open(path, "a").close()
        if is_new:
            os.remove(path)
