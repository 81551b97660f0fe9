"""Streams by name, and from files: which columns are features, and what they hold."""

from __future__ import annotations

import itertools
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
from river.datasets.base import REG, Dataset

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
from river_amf.evaluation.tracks import BUNDLED, STREAMS, dataset_name, open_dataset
from river_amf.evaluation.typed_columns import Column, as_whole, numbers, refuse_infinite, settle
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
    count. An empty field, `?` and whatever `pandas.read_csv` takes for missing, such as `NA` and
    `null`, are left out of the feature dicts. What cannot be used raises EvaluationError, and what
    is odd about a column gives a UserWarning that names the option that helps.

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
        Of a file of text, by default UTF-8.
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
    if not str(source):  # which Path would take for the current folder
        raise EvaluationError("the stream is '': give the path of a file or the name of a stream")
    chosen: dict[str, Any] = {"target": target, "categorical": categorical, "drop": drop}
    chosen |= {"text": text, "keep": keep}
    layout = {
        **{"separator": separator, "encoding": encoding, "no_header": no_header},
        **{"decimal": decimal, "thousands": thousands, "comment": comment, "missing": missing},
    }
    check_layout(layout)
    dataset = open_dataset(str(source))
    if dataset is None:
        stream, notes = _load_file(Path(source), task, limit, layout, chosen)
        for note in notes:
            warnings.warn(shorten(f"{stream.name}: {note}"), stacklevel=2)
        return stream
    name, own = dataset_name(dataset), task_of_dataset(dataset)
    for option, value in (chosen | layout).items():
        if value and value != LAYOUT.get(option):
            raise EvaluationError(f"{option} can only be chosen for a file, not for {name}")
    if task not in (None, own):
        raise EvaluationError(f"{name} is a stream for {own}, not for {task}")
    # bundled ones are read to the end, because only then does river close the file
    samples = list(dataset) if name in BUNDLED else list(itertools.islice(dataset, limit))
    samples = samples[:limit]
    kinds = {
        str(k): "category" if isinstance(v, str) else "number" for k, v in samples[0][0].items()
    }
    about: dict[str, Any] = {"task": own, "kinds": kinds, "drifts": getattr(dataset, "drifts", ())}
    return Stream(name, samples, **about)


def load_features(
    source: str | Path, options: Mapping[str, Any], keep: Sequence[str] = ()
) -> tuple[Stream, list[str]]:
    """Read a file for a saved model, with the options and kinds of columns it was learned with.

    A target that is missing is None. The second result are the names of the file's columns.
    """
    target, kinds, text = options["target"], dict(options["kinds"]), options.get("text")
    layout = {name: options.get(name, value) for name, value in LAYOUT.items()}
    texts = [name for name, kind in kinds.items() if kind == "category"]
    table = read_table(_checked(Path(source)), layout, [*texts, target, text], None)
    names = [*table.frame]
    _check_columns(keep, names, table.name)
    kinds = {name: kinds[name] if kinds else None for name in names if name in (kinds or names)}
    kinds |= {target: "category"} | ({text: "category"} if text in names else {})
    file = _File(table, layout, target, kinds, text, keep, is_labeled=False)
    return file.stream(None)[0], names


def check_task(task: Any) -> None:
    """Raise ValueError unless this is the name of a task, or None."""
    if task not in (CLASSIFICATION, REGRESSION, None):
        raise ValueError(
            f"task must be {CLASSIFICATION!r}, {REGRESSION!r} or None, got {shown(task)}"
        )


def task_of_dataset(dataset: Dataset) -> str:
    """Return the task of a dataset of river's."""
    return REGRESSION if dataset.task == REG else CLASSIFICATION


@dataclass
class _File:
    """A file, and what its columns hold; once this is settled, later values must fit."""

    table: Table
    layout: Layout
    target: str
    kinds: dict[str, str | None]  # of the target and the features, None until it is settled
    text: str | None
    keep: Sequence[str]
    task: str = CLASSIFICATION
    is_labeled: bool = True  # whether rows without a target are left out

    def read(self, frame: pd.DataFrame) -> tuple[Rows, dict[str, Column]]:
        """Return rows, and what the columns of features hold."""
        targets, n_rows = pd.Series(None, frame.index, dtype=object), len(frame)
        if self.target in frame:
            targets = self._settle(frame[self.target]).values
        if self.is_labeled:
            is_known = targets.notna()
            frame, targets = frame[is_known], as_whole(targets[is_known].infer_objects())
            refuse_infinite(targets, self.table.name)
        else:
            targets = targets.astype(object).where(targets.notna(), None)
        found = {name: self._settle(frame[name]) for name in self.kinds if name != self.target}
        for column in found.values():
            refuse_infinite(column.values, self.table.name)
        features = pd.DataFrame({k: column.values for k, column in found.items()}, frame.index)
        if any(column.kind == "date" for column in found.values()):
            features = dates.of_frame(frames.read_frame(features)).to_native()
        targets = targets.astype(np.float64) if self.task == REGRESSION else targets
        kept = frame[[*self.keep]].astype(object)
        return Rows(features, targets, self.text, kept, n_rows - len(frame)), found

    def _settle(self, column: pd.Series) -> Column:
        kind, where = self.kinds[str(column.name)], self.table.name
        wanted = f"which held {kind}s before" if self.is_labeled else f"but the model takes {kind}s"
        is_typed = self.table.is_typed
        return settle(column, self.layout, kind, is_typed=is_typed, where=where, wanted=wanted)

    def stream(self, limit: int | None) -> tuple[Stream, dict[str, Column]]:
        """Return the stream of the first rows and of those to come, and what the columns hold."""
        limit = sys.maxsize if limit is None else limit
        rows, found = self.read(self.table.frame[:limit])
        self.kinds |= {name: column.kind for name, column in found.items()}
        kinds = {name: column.kind for name, column in found.items() if name != self.text}
        is_open = self.table.later is not None and len(self.table.frame) < limit
        later = self._later(limit) if is_open else None
        about: dict[str, Any] = {"target": self.target, "text": self.text, "kinds": kinds}
        about |= {"n_unlabeled": rows.n_unlabeled, "task": self.task, "later": later}
        name = Path(self.table.name).name
        return Stream(name, rows, **about), found

    def _later(self, limit: int) -> Iterator[Rows]:
        for rows in self.table.later or ():
            frame = rows.reindex(columns=self.table.frame.columns)  # which JSON may lack
            yield self.read(frame[frame.index < limit])[0]
            if (frame.index + 1 >= limit).any():
                return


def _load_file(
    path: Path, task: str | None, limit: int | None, layout: Layout, chosen: Mapping[str, Any]
) -> tuple[Stream, list[str]]:
    """Return the samples in a file, and a line for whatever is odd about it."""
    target, text, drop, keep = (chosen[name] for name in ("target", "text", "drop", "keep"))
    texts = [*chosen["categorical"], *([] if text is None else [text])]
    n_rows = None if limit is None else max(limit, ROWS)
    table = read_table(_checked(path), layout, texts, n_rows)
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
    labels = settle(table.frame[target], layout, is_typed=table.is_typed)
    marks = advice.markers_of(labels, layout)
    odd, are_numbers = advice.on_labels(labels, layout)
    if are_numbers and task != CLASSIFICATION:
        raise EvaluationError(
            f"{name}: column {target!r}: {odd}; --task classification takes them as labels"
        )
    if labels.values[:limit].isna().all():
        where = "" if limit is None else f" in the first {limit} rows"
        raise EvaluationError(
            f"no row of {name} has a label: its column {target!r} is empty{where}; --target names"
            " another"
        )
    values = numbers(labels.texts, layout) if marks else labels.values
    task = task or (REGRESSION if is_quantity(values.dropna()) else CLASSIFICATION)
    kind = labels.kind if labels.kind in ("number", "boolean") else "category"
    if task == REGRESSION and kind != "number":
        remedy = f"--missing={marks} reads it as missing, " if marks else ""
        wanted = f"but regression predicts numbers: {remedy}--task classification takes labels"
        settle(table.frame[target][:limit], layout, "number", where=name, wanted=wanted)
        kind = "number"
    kinds = {target: kind} | {each: "category" if each in texts else None for each in features}
    file = _File(table, layout, target, kinds, text, keep, task)
    stream, found = file.stream(limit)
    notes = {target: odd if task == CLASSIFICATION else None}
    notes |= {k: advice.on_feature(column, layout) for k, column in found.items() if k != text}
    lines = [f"column {shorten(k, 40)!r}: {note}" for k, note in notes.items() if note]
    if not (layout["no_header"] or table.is_typed):
        lines = [*filter(None, [advice.on_names([*table.frame])]), *lines]
    return stream, lines


def _check_columns(
    chosen: Iterable[str], names: Sequence[str], where: str, noun: str = "column"
) -> None:
    """Raise EvaluationError for a column that there is not."""
    for column in chosen:
        if column not in names:
            hint = suggest(str(column), names)
            raise EvaluationError(f"{where} has no {noun} {column!r} ({hint})")


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
