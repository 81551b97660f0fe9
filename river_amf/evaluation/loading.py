"""Streams by name, and from files: which columns are features, and what they hold."""

from __future__ import annotations

import itertools
import re
import stat
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from river import datasets

from river_amf.evaluation import advice
from river_amf.evaluation.advice import shorten
from river_amf.evaluation.streams import (
    CLASSIFICATION,
    REGRESSION,
    ROWS,
    Record,
    Rows,
    Stream,
    is_quantity,
)
from river_amf.evaluation.table_files import STANDARD_INPUT, Layout, Table, read_table
from river_amf.evaluation.tracks import BUNDLED, STREAMS, dataset_name, is_regression, open_dataset
from river_amf.evaluation.typed_columns import (
    Column,
    Reading,
    as_whole,
    check_markers,
    refuse_infinite,
    settle,
)
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs import dates, frames
from river_amf.inputs.kinds import shown

TASKS = (CLASSIFICATION, REGRESSION)


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

    Columns of text are categorical. Of dates, such as `2024-05-17`, `2024-05-17 13:30` or
    `2024-05-17T13:30:00+02:00` (half past one where it was written), the features are those of
    `river_amf.date_features`, unless they are named in `categorical`. Blanks around values do not
    count. An empty field is a missing value, and so is whatever `pandas.read_csv` takes for one,
    such as `NA`, `nan` and `null`, and `?`; it is left out of the feature dicts.

    Numbers with fractions, or more than 50 distinct ones in the first 1000 rows, are a target for
    regression; anything else is labels.

    What cannot be used raises EvaluationError, such as a file of more than 100,000 columns. What is
    odd about a column gives a UserWarning that names the option that helps.

    Parameters
    ----------
    source
        A name from `BUNDLED` or `STREAMS`, ignoring case; the path of a file; or `"-"` for standard
        input, whose first 1000 rows settle what columns hold; later ones are read as they come. A
        file is CSV or ARFF, unless its name ends in `.parquet` or `.pq` (which takes pyarrow), or
        in `.jsonl` or `.ndjson` (a JSON object per line). It is decompressed if its name goes on
        with `.gz`.
    target
        Column to predict (files only). By default the column `target` if there is one, otherwise
        the last column. Rows in which it is missing are left out.
    categorical
        Columns to read as text, even if their values look like numbers (files only).
    limit
        Maximum number of samples; `None` reads all of them. Of a file it is the number of rows, of
        which those without a label are left out.
    missing
        Texts that stand for missing values, beside the usual ones (files only).
    separator
        The character between the fields of a CSV file. By default a comma, semicolon or tab,
        whichever the first rows suggest.
    encoding
        Encoding of a file of text, by default UTF-8.
    no_header
        Whether the first row of a CSV file is a sample. The columns are then named `"0"`, `"1"` and
        so on.
    decimal, thousands
        The characters before the fraction of a number and between its thousands, in a CSV file.
    comment
        The character with which comments of a CSV file begin.
    task
        Whether the target is labels (`"classification"`) or a number (`"regression"`). By default
        its values or the dataset decide.
    drop
        Columns to leave out (files only).
    text
        A column to take apart into a bag of words (files only): a feature `column=word` for each,
        with its count. It is for models with `absent="zero"`, to which any number that is missing
        is 0; `compare` gives it to the forests that go by name.
    keep
        Columns whose values stand beside the samples in `Stream.records`, dropped ones too (files
        only).

    Examples
    --------
    >>> from river_amf.evaluation import load_stream
    >>> stream = load_stream("bananas", limit=100)
    >>> stream.name, stream.n_samples, stream.n_numeric
    ('Bananas', 100, 2)

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
    >>> _ = path.write_text("size;color;kind\n1.5;red;a\nNA;tan ;b\n2.5;blue;\n")
    >>> stream = load_stream(path)
    >>> list(stream), stream.n_unlabeled
    ([({'size': 1.5, 'color': 'red'}, 'a'), ({'color': 'tan'}, 'b')], 1)

    >>> stream = load_stream(path, "size")
    >>> stream.task, [y for x, y in stream]
    ('regression', [1.5, 2.5])
    """
    check_task(task)
    if not str(source):  # which Path would take for the current folder
        raise EvaluationError("the stream is '': give the path of a file or the name of a stream")
    dataset = open_dataset(str(source))
    layout = Layout(separator, encoding, no_header, decimal, thousands, comment)
    reading = Reading(check_markers(missing), decimal, thousands)
    if dataset is None:
        chosen = _Columns(target, categorical, drop, text, keep)
        stream, notes = _load_file(Path(source), chosen, layout, reading, task, limit)
        for note in notes:
            warnings.warn(shorten(note), stacklevel=2)
        return stream
    name = dataset_name(dataset)
    files_only: dict[str, Any] = {
        "target": target,
        "categorical": categorical,
        "drop": drop,
        "text": text,
    }
    files_only |= {"missing": missing, "keep": keep}
    for option in (*(key for key, value in files_only.items() if value), *layout.chosen()):
        raise EvaluationError(f"{option} can only be chosen for a file, not for {name}")
    own = task_of_dataset(dataset)
    if task not in (None, own):
        raise EvaluationError(f"{name} is a stream for {own}, not for {task}")
    # bundled ones are read to the end, because only then does river close the file
    samples = list(dataset) if name in BUNDLED else list(itertools.islice(dataset, limit))
    samples = samples[:limit]
    kinds = {
        str(key): "category" if isinstance(value, str) else "number"
        for key, value in samples[0][0].items()
    }
    return Stream(name, len(samples), *_count(kinds), samples, task=own, kinds=kinds)


def load_features(
    source: str | Path, options: Mapping[str, Any], keep: Sequence[str] = ()
) -> tuple[Stream, list[str]]:
    """Read a file for a saved model, with the options and kinds of columns it was learned with.

    A target that is missing is None. The second result are the names of the file's columns.
    """
    chosen = dict(options)
    target, kinds = chosen.pop("target"), dict(chosen.pop("kinds"))
    text, drop, missing = (chosen.pop(name, None) for name in ("text", "drop", "missing"))
    layout = Layout(**chosen)
    reading = Reading(check_markers(missing or ()), layout.decimal, layout.thousands)
    texts = [name for name, kind in kinds.items() if kind == "category"]
    table = read_table(
        _checked(Path(source)), layout, reading.markers, [*texts, text or target], None
    )
    names = [*table.frame.columns]
    columns = _Columns(target, (), drop or (), text, keep)
    columns.check(keep, names, table.name)
    features = [name for name in names if name != target and name in (kinds or names)]
    features += [text] if text in names else []
    file = _File(table, columns, target, features, reading, kinds, needs_target=False)
    return file.stream(table.frame, 0, None)[0], names


def check_task(task: Any) -> None:
    """Raise ValueError unless this is the name of a task, or None."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task must be {', '.join(map(repr, TASKS))} or None, got {shown(task)}")


def task_of_dataset(dataset: datasets.base.Dataset) -> str:
    """Return the task of a dataset of river's."""
    return REGRESSION if is_regression(dataset) else CLASSIFICATION


def _count(kinds: Mapping[str, str]) -> tuple[int, int]:
    """Return the numbers of numeric and of categorical features."""
    n_categorical = [*kinds.values()].count("category")
    return len(kinds) - n_categorical, n_categorical


class _Columns(NamedTuple):
    """The columns that are chosen for something."""

    target: str | None
    categorical: Sequence[str]
    drop: Sequence[str]
    text: str | None
    keep: Sequence[str]

    @property
    def texts(self) -> list[str]:
        """The columns that are read as text."""
        return [*self.categorical, *([] if self.text is None else [self.text])]

    def check(self, chosen: Iterable[str], names: Sequence[str], where: str) -> None:
        """Raise EvaluationError for a column that there is not."""
        for column in chosen:
            if column not in names:
                raise EvaluationError(
                    f"{where} has no column {column!r} ({suggest(column, names)})"
                )

    def split(self, names: Sequence[str], where: str) -> tuple[str, list[str]]:
        """Return the target (`target` if there is one, or the last) and the features, or raise."""
        self.check((*self.drop, *self.keep), names, where)
        names = [column for column in names if column not in self.drop]
        target = self.target
        if target is None and names:
            target = "target" if "target" in names else names[-1]
        if target is None or target not in names:
            raise EvaluationError(
                f"{where} has no target column {target!r} ({suggest(str(target), names)})"
            )
        features = [column for column in names if column != target]
        if not features:
            advice = " (are its fields separated by , ; or tabs? --separator sets another)"
            raise EvaluationError(
                f"{where} has no feature beside its target {shorten(target, 60)!r}"
                f"{advice * (not self.drop)}"
            )
        if target in self.texts:
            raise EvaluationError(
                f"{target!r} is the target of {where}, not a categorical feature or a text"
            )
        self.check(self.texts, features, where)
        return target, features


@dataclass
class _File:
    """A file, and what its columns hold; once this is settled, later values must fit."""

    table: Table
    columns: _Columns
    target: str
    features: list[str]
    reading: Reading
    kinds: dict[str, str]  # by column; empty until the first rows have been read
    task: str = CLASSIFICATION
    needs_target: bool = True
    refusal: str = "but the model takes {kind}s"

    def settle(self, column: pd.Series, **options: Any) -> Column:
        """Return a column as its kind, or settle it."""
        name = column.name
        options = {"kind": self.kinds.get(str(name))} | options
        options["is_text"] = options.get("is_text") or name in (
            *self.columns.texts,
            *self.table.texts,
        )
        refusal = f"row {{row}} of {self.table.name} has {{value}} in {name!r}, {self.refusal}"
        return settle(
            column, self.reading, is_typed=self.table.is_typed, refusal=refusal, **options
        )

    def read(self, frame: pd.DataFrame) -> tuple[Rows, dict[str, Column]]:
        """Return the rows with a target, and what their columns hold."""
        if self.target in frame:
            targets = self.settle(frame[self.target]).values
        else:
            targets = pd.Series(np.nan, frame.index)
        is_labeled = targets.notna().to_numpy(dtype=bool)
        if self.needs_target:
            frame, targets = frame[is_labeled], targets[is_labeled].infer_objects()
            refuse_infinite(targets, self.table.name)
        else:
            targets = targets.astype(object).where(is_labeled, None)
        found = {name: self.settle(frame[name]) for name in self.features}
        for column in found.values():
            refuse_infinite(column.values, self.table.name)
        values = {name: column.values for name, column in found.items()}
        read = pd.DataFrame(values, index=frame.index, columns=[*values])
        if any(column.kind == "date" for column in found.values()):
            read = dates.of_frame(frames.read_frame(read)).to_native()
        kept = frame[[*self.columns.keep]].astype(object) if self.columns.keep else None
        if self.task == REGRESSION:
            targets = targets.astype(np.float64)
        return Rows(
            read, targets if self.task == REGRESSION else as_whole(targets), self.columns.text, kept
        ), found

    def stream(
        self, frame: pd.DataFrame, n_read: int, limit: int | None
    ) -> tuple[Stream, dict[str, Column]]:
        """Return the stream of the first rows and of those to come, and what the columns hold."""
        rows, found = self.read(frame)
        kinds = {name: column.kind for name, column in found.items() if name != self.columns.text}
        self.kinds = {self.target: self.kinds.get(self.target, "category"), **self.kinds, **kinds}
        n_unlabeled = len(frame) - len(rows.frame)
        source = self.table.name
        name = source if source == "standard input" else Path(source).name
        read = {
            name: kinds.get(name, "number")
            for name in map(str, rows.frame)
            if name != self.columns.text
        }
        counts = len(rows.frame), *_count(read)
        later = None
        if self.table.later is not None and (limit is None or limit > n_read):
            later = itertools.islice(self._later(), None if limit is None else limit - n_read)
        return (
            Stream(
                name,
                *counts,
                rows,
                n_unlabeled,
                self.task,
                self.target,
                self.columns.text,
                kinds,
                later,
            ),
            found,
        )

    def _later(self) -> Iterator[Record | None]:
        """Yield the records of standard input that follow, None for rows without a target."""
        assert self.table.later is not None
        self.refusal = "which held {kind}s before" if self.needs_target else self.refusal
        texts = [name for name, kind in self.kinds.items() if kind == "category"]
        for frame in self.table.later([*texts, *self.columns.texts]):
            records = {record.row: record for record in self.read(frame)[0].records()}
            yield from (records.get(int(row) + 1) for row in frame.index)


def _load_file(
    path: Path,
    chosen: _Columns,
    layout: Layout,
    reading: Reading,
    task: str | None,
    limit: int | None,
) -> tuple[Stream, list[str]]:
    """Return the samples in a file, and a line for whatever is odd about it."""
    n_rows = None if limit is None else max(limit, ROWS)
    table = read_table(_checked(path), layout, reading.markers, chosen.texts, n_rows)
    target, features = chosen.split([*table.frame.columns], table.name)
    frame = table.frame[:limit]
    if frame.empty:
        raise EvaluationError(f"{table.name} has a header but no rows")
    file = _File(table, chosen, target, features, reading, {})
    labels = file.settle(table.frame[target])
    is_chosen, task = task is not None, task or _task_of(labels, reading)
    odd, are_numbers = advice.on_labels(labels, reading)
    if are_numbers and (task == REGRESSION or not is_chosen):
        raise EvaluationError(
            f"{table.name}: column {target!r}: {odd}; --task classification takes them as labels"
        )
    if frame[target].notna().sum() == 0 or labels.values[:limit].isna().all():
        where = "" if limit is None else f" in the first {limit} rows"
        raise EvaluationError(
            f"no row of {table.name} has a label: its column {target!r} is empty{where}; --target"
            " names another"
        )
    file.kinds[target] = "number"
    if task == CLASSIFICATION:
        file.kinds[target] = labels.kind if labels.kind in ("number", "boolean") else "category"
    elif labels.kind != "number":
        marks = advice.markers_of(labels, reading)
        file.refusal = (
            f"but regression predicts numbers: --missing={marks or '{value}'} reads it as missing,"
            " --task classification takes labels"
        )
    file.task = task
    stream, found = file.stream(frame, len(table.frame), limit)
    notes = {target: odd if task == CLASSIFICATION else None}
    notes |= {
        name: advice.on_feature(column, reading)
        for name, column in found.items()
        if name != chosen.text
    }
    lines = [f"column {shorten(name, 40)!r}: {note}" for name, note in notes.items() if note]
    names = None if layout.no_header or table.is_typed else advice.on_names([*table.frame.columns])
    return stream, [f"{stream.name}: {line}" for line in (names, *lines) if line]


def _task_of(labels: Column, reading: Reading) -> str:
    """Return the task that the values of a target suggest."""
    numbers = labels.values.dropna() if labels.kind == "number" else None
    if numbers is None and advice.markers_of(labels, reading) is not None:
        numbers = reading.numbers(labels.texts).dropna()
    return REGRESSION if numbers is not None and is_quantity(numbers) else CLASSIFICATION


def _checked(path: Path) -> Path:
    """Return the path of a file that can be read, or raise."""
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
