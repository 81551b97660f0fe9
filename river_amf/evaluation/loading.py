"""Streams by name, and from files: which columns are features, and what they hold."""

from __future__ import annotations

import re
import stat
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation import advice
from river_amf.evaluation.streams import (
    CLASSIFICATION,
    REGRESSION,
    ROWS,
    Rows,
    Stream,
    is_quantity,
    shorten,
)
from river_amf.evaluation.table_files import (
    LAYOUT,
    STANDARD_INPUT,
    Layout,
    Table,
    check_layout,
    read_table,
)
from river_amf.evaluation.tracks import BUNDLED, STREAMS, open_dataset, read_dataset
from river_amf.evaluation.typed_columns import numbers, settle
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs import dates, frames
from river_amf.inputs.kinds import shown


def load_stream(
    source: str | Path,
    target: str | None = None,
    categorical: Sequence[str] = (),
    limit: int | None = None,
    *,
    missing: Collection[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
    no_header: bool = False,
    decimal: str = ".",
    thousands: str | None = None,
    comment: str | None = None,
    task: str | None = None,
    drop: Sequence[str] = (),
    text: str | None = None,
    keep: Sequence[str] = (),
) -> Stream:
    r"""Open a stream by name, or read a file.

    Columns of text are categorical. Dates, such as `2024-05-17` or `2024-05-17T13:30:00+02:00`
    (half past one), become the features of `river_amf.date_features`. Blanks around values do not
    count. An empty field, `?` and the missing values of `pandas.read_csv`, such as `NA` and `null`,
    are left out of the feature dicts. An option or file that cannot be used raises EvaluationError;
    a column that seems odd gives a UserWarning that names the option that helps.

    Parameters
    ----------
    source
        A name from `BUNDLED` or `STREAMS`, ignoring case; the path of a file; or `"-"` for standard
        input, whose first 1000 rows settle what columns hold; later ones are read as they come. A
        file is CSV, ARFF, a JSON object per line, or parquet (which takes pyarrow), and
        decompressed if its name ends in `.gz`. All options but `limit` are for files only.
    target
        Column to predict; by default the column `target`, or else the last one. Rows in which it is
        missing are left out.
    categorical, drop, keep
        Columns to read as text, even if their values look like numbers or dates; to leave out; and
        to copy to `Stream.records`, dropped ones too.
    limit
        Maximum number of samples, or of rows of a file.
    missing
        Texts that stand for missing values, beside the usual ones.
    encoding
        Encoding of a file of text, by default UTF-8.
    separator, decimal, thousands, comment
        Characters of a CSV file: between its fields (by default a comma, semicolon or tab,
        whichever the first rows suggest), before the fraction of a number, between its thousands,
        and at the beginning of comments.
    no_header
        Whether the first row of a CSV file is a sample; columns are then `"0"`, `"1"` and so on.
    task
        `"classification"` (the target is labels) or `"regression"` (numbers). By default numbers
        with fractions, or more than 50 distinct ones in the first 1000 rows, are for regression.
    text
        A column to take apart into a bag of words: a feature `column=word` for each, with its
        count, for models with `absent="zero"`, to which a missing number is 0; `compare` gives it
        to the forests that go by name.

    Examples
    --------
    >>> from river_amf.evaluation import load_stream
    >>> stream = load_stream("bananas", limit=100)
    >>> stream.name, stream.n_samples, stream.kinds
    ('Bananas', 100, {'1': 'number', '2': 'number'})

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
    >>> _ = path.write_text("size;color;kind\n1.5;red;a\nNA;tan ;b\n2.5;blue;\n")
    >>> stream = load_stream(path)
    >>> list(stream), stream.n_unlabeled
    ([({'size': 1.5, 'color': 'red'}, 'a'), ({'color': 'tan'}, 'b')], 1)
    """
    check_task(task)
    columns: dict[str, Any] = {"target": target, "categorical": categorical, "drop": drop}
    columns |= {"text": text, "keep": keep}
    layout = {
        **{"separator": separator, "encoding": encoding, "no_header": no_header},
        **{"decimal": decimal, "thousands": thousands, "comment": comment, "missing": missing},
    }
    check_layout(layout)
    dataset = open_dataset(str(source))
    if dataset is None:
        stream, notes = _load_file(source, task, limit, layout, **columns)
        for note in notes:
            warnings.warn(shorten(f"{stream.name}: {note}"), stacklevel=2)
        return stream
    stream = read_dataset(dataset, limit)
    for option, value in (columns | layout).items():
        if value and value != LAYOUT.get(option):
            raise EvaluationError(f"{option} can only be chosen for a file, not for {stream.name}")
    if task not in (None, stream.task):
        raise EvaluationError(f"{stream.name} is a stream for {stream.task}, not for {task}")
    return stream


def load_features(
    source: str | Path, options: Mapping[str, Any], keep: Sequence[str] = ()
) -> tuple[Stream, list[str]]:
    """Read a file for a saved model, with the options and kinds of columns it was learned with.

    A target that is missing is None. The second result are the names of the file's columns.
    """
    target, kinds, text = options["target"], dict(options["kinds"]), options.get("text")
    layout = {name: options.get(name, value) for name, value in LAYOUT.items()}
    texts = [name for name, kind in kinds.items() if kind == "category"]
    table = read_table(_checked(source), layout, [*texts, target, text], None)
    names = [*table.frame]
    _check_columns(keep, names, table.name)
    kinds = {name: kinds.get(name) for name in names if name in (kinds or names)}
    kinds |= {target: "category"} | ({text: "category"} if text in names else {})
    reader = _Reader(table, layout, target, kinds, text, keep, is_labeled=False)
    return reader.stream(reader.read(table.frame), None), names


def check_task(task: Any) -> None:
    """Raise ValueError unless this is the name of a task, or None."""
    if task not in (CLASSIFICATION, REGRESSION, None):
        raise ValueError(
            f"task must be {CLASSIFICATION!r}, {REGRESSION!r} or None, got {shown(task)}"
        )


@dataclass
class _Reader:
    """Reads the rows of a table; once the kinds of columns are settled, later values must fit."""

    table: Table
    layout: Layout
    target: str
    kinds: dict[str, str | None]  # of the target and the features, None until it is settled
    text: str | None
    keep: Sequence[str]
    task: str = CLASSIFICATION
    is_labeled: bool = True  # whether rows without a target are left out

    def read(self, frame: pd.DataFrame) -> Rows:
        """Return samples, and settle the kinds of columns."""
        targets, n_rows = pd.Series(None, frame.index, dtype=object), len(frame)
        if self.target in frame:
            targets = self._settle(frame[self.target])
        if self.is_labeled:
            frame, targets = frame[targets.notna()], targets.dropna().infer_objects()
            if types.is_float_dtype(targets):  # as missing ones among whole numbers make them
                targets = pd.to_numeric(targets, downcast="integer")
        else:
            targets = targets.astype(object).where(targets.notna(), None)
        features = {name: self._settle(frame[name]) for name in self.kinds if name != self.target}
        columns = pd.DataFrame(features, frame.index)
        if "date" in self.kinds.values():
            columns = dates.of_frame(frames.read_frame(columns)).to_native()
        targets = targets.astype(np.float64) if self.task == REGRESSION else targets
        kept = frame[[*self.keep]].astype(object)
        return Rows(columns, targets, self.text, kept, n_rows - len(frame))

    def _settle(self, column: pd.Series) -> pd.Series:
        """Return the values of a column."""
        name, where = str(column.name), self.table.name
        kind = self.kinds[name]
        wanted = f"which held {kind}s before" if self.is_labeled else f"but the model takes {kind}s"
        options: Any = {"is_typed": self.table.is_typed, "where": where, "wanted": wanted}
        values, self.kinds[name] = settle(column, self.layout, kind, **options)
        return values

    def stream(self, rows: Rows, limit: int | None) -> Stream:
        """Return the stream of the first rows and of those to come."""
        n_rows, stop = len(self.table.frame), sys.maxsize if limit is None else limit
        is_open = self.table.later is not None and n_rows < stop
        return Stream(
            Path(self.table.name).name,
            rows,
            rows.n_unlabeled,
            self.task,
            self.target,
            self.text,
            {k: str(v) for k, v in self.kinds.items() if k not in (self.target, self.text)},
            later=self._later(stop) if is_open else None,
        )

    def _later(self, stop: int) -> Iterator[Rows]:
        for rows in self.table.later or ():
            frame = rows.reindex(columns=self.table.frame.columns)  # which JSON may lack
            yield self.read(frame[frame.index < stop])
            if (frame.index + 1 >= stop).any():
                return


def _load_file(
    source: str | Path,
    task: str | None,
    limit: int | None,
    layout: Layout,
    *,
    target: Any,
    categorical: Sequence[str],
    drop: Sequence[str],
    text: str | None,
    keep: Sequence[str],
) -> tuple[Stream, list[str]]:
    """Return the samples in a file, and a line on each column that seems odd."""
    texts = [*categorical, *([] if text is None else [text])]
    n_rows = None if limit is None else max(limit, ROWS)
    table = read_table(_checked(source), layout, texts, n_rows)
    name, names = table.name, [*table.frame]
    _check_columns((*drop, *keep), names, name)
    names = [column for column in names if column not in drop]
    if target is None and names:
        target = "target" if "target" in names else names[-1]
    _check_columns([target], names, name, "target column")
    features = [column for column in names if column != target]
    if not features:
        hint = " (are its fields separated by , ; or tabs? --separator sets another)" * (not drop)
        raise EvaluationError(
            f"{name} has no feature beside its target {shorten(target, 60)!r}{hint}"
        )
    _check_columns(texts, features, name, "feature")
    if table.frame.empty:
        raise EvaluationError(f"{name} has a header but no rows")
    task, kind, odd = _settle_target(table, layout, target, task, limit)
    kinds = {target: kind} | {k: "category" if k in texts else None for k in features}
    reader = _Reader(table, layout, target, kinds, text, keep, task)
    rows = reader.read(table.frame[:limit])
    is_headed = not (layout["no_header"] or table.is_typed)
    notes = [advice.on_names([*table.frame]) if is_headed else None]
    columns = {target: odd} | {
        k: advice.on_feature(_facts(table, layout, k, values, reader.kinds[str(k)]))
        for k, values in rows.frame.items()
        if k in features and k not in texts
    }
    notes += [f"column {shorten(k, 40)!r}: {note}" for k, note in columns.items() if note]
    return reader.stream(rows, limit), [note for note in notes if note]


def _settle_target(
    table: Table, layout: Layout, target: str, task: str | None, limit: int | None
) -> tuple[str, str, str | None]:
    """Return the task, the kind of the target, and advice on labels; or raise EvaluationError."""
    name, column = table.name, table.frame[target]
    labels, kind = settle(column, layout, is_typed=table.is_typed)
    facts = _facts(table, layout, target, labels, kind)
    odd, are_numbers = advice.on_labels(facts)
    if are_numbers and task != CLASSIFICATION:
        raise EvaluationError(
            f"{name}: column {target!r}: {odd}; --task classification takes them as labels"
        )
    if labels[:limit].isna().all():
        where = "" if limit is None else f" in the first {limit} rows"
        raise EvaluationError(
            f"no row of {name} has a label: its column {target!r} is empty{where}; --target names"
            " another"
        )
    marks = advice.markers(facts)
    values = numbers(facts.texts, layout) if marks else labels
    task = task or (REGRESSION if is_quantity(values.dropna()) else CLASSIFICATION)
    if task == CLASSIFICATION:
        return task, kind if kind in ("number", "boolean") else "category", odd
    if kind != "number":
        remedy = f"--missing={marks} reads it as missing, " if marks else ""
        wanted = f"but regression predicts numbers: {remedy}--task classification takes labels"
        settle(column[:limit], layout, "number", where=name, wanted=wanted)
    return task, "number", None


def _facts(table: Table, layout: Layout, name: Any, values: pd.Series, kind: Any) -> advice.Facts:
    """Return the facts about a column; the texts of declared categories need no advice."""
    is_declared = isinstance(table.frame[name].dtype, pd.CategoricalDtype)
    return advice.facts_of(values, "" if is_declared else kind, layout, table.is_typed)


def _check_columns(
    chosen: Iterable[str], names: Sequence[str], where: str, noun: str = "column"
) -> None:
    """Raise EvaluationError for a column that there is not."""
    for column in chosen:
        if column not in names:
            hint = suggest(str(column), names)
            raise EvaluationError(f"{where} has no {noun} {column!r} ({hint})")


def _checked(source: str | Path) -> Path:
    """Return the path of a file that can be read, or raise."""
    path = Path(source)
    if not str(source):  # which Path takes for the current folder
        raise EvaluationError("the stream is '': give the path of a file or the name of a stream")
    if str(path) == STANDARD_INPUT:
        return path
    if re.match(r"\w+:/", str(path)):
        raise EvaluationError(f"{str(path)!r} is a URL: download the file")
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, ValueError) as error:  # the latter for a zero byte
        hint = "" if path.suffix else f" ({suggest(str(path), (*BUNDLED, *STREAMS))})"
        raise EvaluationError(f"no stream or file {str(path)!r}{hint}") from error
    except OSError as error:  # its name is too long, or its folder may not be read
        raise EvaluationError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not stat.S_ISREG(kind):
        advice = "" if stat.S_ISDIR(kind) else "; - reads standard input"
        raise EvaluationError(f"{str(path)!r} is not a regular file{advice}")
    return path
