"""Streams by name, from files, and from all that is accepted as a stream: pairs and tables."""

import datetime as dt
import itertools
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from pandas.api import types
from river import datasets
from river.datasets import base

from river_amf.evaluation import advice
from river_amf.evaluation.columns import settle
from river_amf.evaluation.models import ModelsOfTask
from river_amf.evaluation.streams import ROWS, Stream, TableRows, read_pairs, task_of
from river_amf.evaluation.table_files import LAYOUT, OPTIONS, Table, given, read_table
from river_amf.evaluation.tracks import BUNDLED, STREAMS, DriftStream
from river_amf.evaluation.usage_errors import EvaluationError, split_list, suggest
from river_amf.inputs import dates, frames
from river_amf.inputs.kinds import as_category, is_missing, shown
from river_amf.inputs.texts import numbers
from river_amf.outputs.printing import shorten
from river_amf.parameters import one_of
from river_amf.state.layout import CLASSIFICATION, REGRESSION, Task

_TARGETS = ("target", "class", "label", "y")  # names of targets, the likeliest first
_check_task = one_of(CLASSIFICATION, REGRESSION, None)


def load_stream(
    source: str | Path,
    target: str | None = None,
    categorical: Sequence[str] = (),
    limit: int | None = None,
    **options: Any,
) -> Stream:
    r"""Open a stream by name, or read a file.

    Columns of text are categorical, and so are ids of digits, such as `00118`, or more than 15.
    Dates, such as `2024-05-17` or `2024-05-17T13:30:00+02:00` (half past one), become the features
    of `river_amf.date_features`. An empty field, `?` and the missing values of `pandas.read_csv`,
    such as `NA` and `null`, are left out of the feature dicts. A file that cannot be used raises
    EvaluationError; a column that seems odd gives a UserWarning that names the option that helps.

    Parameters
    ----------
    source
        A name from `BUNDLED` or `STREAMS`, ignoring case; the path of a file or a pipe; or `"-"`
        for standard input, whose first 1000 rows settle what columns hold; later ones are read as
        they come. A file is CSV (with the header of Orange or R, too), ARFF, JSON (objects in an
        array or in lines, or columns) or parquet (which takes pyarrow), and may be compressed:
        gzip, bz2, xz, zstd (from Python 3.14 on), or a zip archive of one file. All options but
        `limit`, the maximum number of samples or rows, are for files only.
    target
        Column to predict; by default that of the role `class` (Orange), the column `target`,
        `class`, `label` or `y`, or else the last one. Rows in which it is missing are left out.
    categorical, drop, keep, dates
        Lists of columns. `categorical` ones are read as text, even if their values look like
        numbers or dates. `drop` leaves columns out. `keep` copies them to `Stream.records` as they
        are in the file, dropped ones too. `dates` are in other forms, such as `Jan 1 2000`,
        `1990-01`, `1995 Q2` or `13:08`. A name that no column has is read as several, with commas.
    date_format, day_first
        The format of `dates`, as in `strftime`; and whether the day comes before the month.
    missing, encoding, no_quotes
        More texts that mean missing values; the encoding of text, by default UTF-8; and whether
        quotes of a CSV file are part of the text, rather than around fields.
    separator, decimal, thousands, comment
        Characters of a file of text, in this order: between fields (by default a comma, semicolon,
        bar, tab or run of blanks), before the fraction of a number, between its thousands, before
        lines to leave out.
    header, no_header, skip_rows
        `header` is the line of a CSV file that has the names of columns; those before are skipped.
        With `no_header` the first row is a sample, and columns are `"0"`, `"1"` and so on.
        `skip_rows` lines at the beginning are skipped, but for that of `header`.
    task
        `"classification"` (the target is labels) or `"regression"` (numbers). By default numbers
        are for regression if they have fractions, if there are more than 50 distinct ones, or 21
        that begin at neither 0 nor 1 and fill half of their range, or differ in most rows.
    shuffle
        The seed to shuffle the rows of a file that has no order; by default they stay as they are.
    text
        A column to take apart into a bag of words: a feature `column=word` for each, with its
        count, for models with `absent="zero"`. `compare` sets it in forests that go by name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from river_amf.evaluation import load_stream
    >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
    >>> _ = path.write_text("size;color;kind\n1.5;red;a\nNA;tan ;b\n2.5;blue;\n")
    >>> stream = load_stream(path)
    >>> list(stream), stream.n_unlabeled
    ([({'size': 1.5, 'color': 'red'}, 'a'), ({'color': 'tan'}, 'b')], 1)
    """
    if (unknown := next((name for name in options if name not in OPTIONS), None)) is not None:
        raise TypeError(f"there is no option {unknown!r} ({suggest(unknown, [*OPTIONS])})")
    chosen, options = given(options), OPTIONS | options
    task, text, shuffle, missing = (options[n] for n in ("task", "text", "shuffle", "missing"))
    _check_task("task", task)
    if isinstance(missing, str):
        raise EvaluationError(f"missing must be a list of texts, such as ['-9'], got {missing!r}")
    if (options["date_format"] or options["day_first"]) and not options["dates"]:
        raise EvaluationError("date_format and day_first are for the columns in dates: choose some")
    names = {name.lower(): name for name in (*STREAMS, *BUNDLED)}
    if name := names.get(str(source).lower()):
        stream = _read_dataset(STREAMS.get(name) or getattr(datasets, name)(), limit)
        if others := {*given(chosen | {"target": target, "categorical": categorical})} - {"task"}:
            raise EvaluationError(f"{min(others)} can only be chosen for a file, not for {name}")
        if task not in (None, stream.task):
            raise EvaluationError(f"{stream.name} is a stream for {stream.task}, not for {task}")
        return stream
    n_rows = None if limit is None or shuffle is not None else max(limit, ROWS)
    texts = [*categorical, *([] if text is None else [text])]
    table, drop, keep = _open_table(source, n_rows, options, texts, target)
    if shuffle is not None:
        if table.later is not None:
            raise EvaluationError("standard input cannot be shuffled; write it to a file")
        table = table._replace(frame=table.frame.sample(frac=1.0, random_state=shuffle))
    texts = [*split_names(texts, [*table.frame]), *table.layout["dates"]]
    (target, *features), guess = _choose_columns(table, target, texts, drop)
    chosen_task, (task, kind, facts) = task, _settle_target(table, target, task, limit)
    kinds = {target: kind, **dict.fromkeys(features)}
    stream = _stream_of(table, kinds, text, keep, task, limit=limit, guess=guess)
    for line in advice.notes(table, stream, facts._replace(task=None if chosen_task else task)):
        warnings.warn(shorten(f"{stream.name}: {line}"), stacklevel=2)
    return stream


def _open_table(
    source: str | Path,
    n_rows: int | None,
    options: Mapping[str, Any],
    texts: Sequence[str],
    target: str | None,
) -> tuple[Table, list[str], list[str]]:
    """Read a file; return its table, and the names of the columns to drop and to keep."""
    drop, keep, dates = options["drop"], options["keep"], options["dates"]

    def as_text(names: Sequence[str], facts: Mapping[str, Any]) -> list[str]:
        left = [name for name in names if name not in split_names(drop, names)]
        goal = target or facts.get("target") or guess_target(left)
        return split_names([*texts, *keep, *dates, *facts.get("texts", ()), goal], names)

    path = Path(source)
    if str(path) != "-" and not os.path.exists(path):
        hint = "" if path.suffix else f" ({suggest(str(path), (*BUNDLED, *STREAMS))})"
        raise EvaluationError(f"no stream or file {str(path)!r}{hint}")
    table = read_table(path, {name: options[name] for name in LAYOUT}, n_rows, as_text)
    names = [*table.frame]
    drop, keep, dates, texts = (split_names(c, names) for c in (drop, keep, dates, texts))
    _check_columns((*drop, *keep), names, table.name)
    table = table._replace(layout=table.layout | {"dates": dates}, texts=[*table.texts, *texts])
    return table, [*drop, *table.ignored], keep


def split_names(chosen: Iterable[str], names: Collection[str]) -> list[str]:
    """Return names of columns; a text that is none has several, with commas between them."""
    parts = ([text] if text in names else split_list(str(text)) for text in chosen)
    return [*itertools.chain.from_iterable(parts)]


def guess_target(names: Sequence[Any]) -> Any:
    """Return the column that seems to be the target: one by its name, or else the last, if any."""
    by_name = {str(name).lower(): name for name in reversed(names)}
    usual = (by_name[name] for name in _TARGETS if name in by_name)
    return next(usual, names[-1] if names else None)


def load_features(
    source: str | Path, reading: Mapping[str, Any], keep: Sequence[str] = ()
) -> tuple[Stream, list[str]]:
    """Read a file for a saved model, with the options and kinds of columns it was learned with."""
    # A target that is missing is None. The second result are the names of the file's columns.
    target, text, saved = reading["target"], reading.get("text"), dict(reading["kinds"])
    texts = [target, *([] if text is None else [text])]
    texts += [name for name, kind in saved.items() if kind == "category"]
    options = {**OPTIONS, **reading, "drop": (), "keep": keep}
    table, ignored, keep = _open_table(source, None, options, texts, target)
    names = [name for name in map(str, table.frame) if name not in ignored]
    kinds = {target: "category"} | {n: saved.get(n) for n in names if n in (saved or names)}
    kinds |= {name: "category" for name in texts if name in (target, *names)}
    return _stream_of(table._replace(texts=texts), kinds, text, keep, is_labeled=False), names


def _stream_of(
    table: Table,
    kinds: dict[str, str | None],
    text: str | None,
    keep: Sequence[str],
    task: Task = CLASSIFICATION,
    *,
    limit: int | None = None,
    guess: str | None = None,
    is_labeled: bool = True,
) -> Stream:
    """Return the rows of a table as a stream; rows without a target only if not `is_labeled`."""
    # `kinds` are those of the target and the features. They are None until they are settled by the
    # first rows, which later ones must fit.
    target = next(iter(kinds))
    wanted = "which held {}s before" if is_labeled else "but the model takes {}s"

    def settled(column: pd.Series) -> pd.Series:
        kind = kinds[str(column.name)]
        try:
            values, kinds[str(column.name)] = settle(column, table, kind, wanted.format(kind))
        except EvaluationError as error:
            raise EvaluationError(f"{error}{advice.help_with(table, column)}") from error
        return values

    def read(frame: pd.DataFrame) -> TableRows:
        targets, n_rows = pd.Series(None, frame.index, dtype=object), len(frame)
        if target in frame:
            targets = settled(frame[target])
        if is_labeled:
            frame, targets = frame[targets.notna()], targets.dropna().infer_objects()
            if types.is_float_dtype(targets):  # as missing ones among whole numbers make them
                targets = pd.to_numeric(targets, downcast="integer")
        else:
            targets = targets.astype(object).where(targets.notna(), None)
        targets = targets.astype(np.float64) if task == REGRESSION else targets
        features = {name: settled(frame[name]) for name in kinds if name != target}
        columns = pd.DataFrame(features, frame.index)
        if "date" in kinds.values():
            columns = dates.of_frame(frames.read_frame(columns)).to_native()
        kept = frame[[*keep]]
        if not table.is_text:
            kept = kept.astype(object).where(kept.notna(), None).map(as_category)
        return TableRows(columns, targets, text, kept, n_rows - len(frame))

    rows = read(table.frame[:limit])
    is_open = table.later is not None and (limit is None or len(table.frame) < limit)
    later = map(read, table.later or ()) if is_open else None
    feature_kinds = {name: str(kind) for name, kind in kinds.items() if name not in (target, text)}
    about: Any = {"kinds": feature_kinds, "keep": tuple(keep), "guess": guess, "later": later}
    return Stream(Path(table.name).name, rows, rows.n_unlabeled, task, target, text, **about)


def _choose_columns(
    table: Table, target: str | None, chosen: Sequence[str], drop: Sequence[str]
) -> tuple[list[str], str | None]:
    """Return the names of the target and the features, and how the target is guessed."""
    names = [column for column in map(str, table.frame) if column not in drop]
    guess = None
    if not names:
        raise EvaluationError(f"{table.name} has no column that is not dropped")
    if target is None:
        target = table.target or str(guess_target(names))
        by_name = "by its name" if target.lower() in _TARGETS else "the last column"
        guess = "by its role" if table.target else by_name
    _check_columns([target], names, table.name, "target column")
    features = [column for column in names if column != target]
    if not features:
        hint = " (what separates its fields? --separator sets it)" * (not drop)
        text = f"{table.name} has no feature beside its target {shorten(str(target), 60)!r}{hint}"
        raise EvaluationError(text)
    _check_columns(chosen, features, table.name, "feature")
    if table.frame.empty:
        raise EvaluationError(f"{table.name} has a header but no rows")
    return [str(target), *features], guess


def _settle_target(
    table: Table, target: str, task: Task | None, limit: int | None
) -> tuple[Task, str, advice.Facts]:
    """Return the task, the kind of the target, and facts about it."""
    name, column = table.name, table.frame[target]
    labels, kind = settle(column, table)
    facts = advice.facts_of(table, target, labels, kind)
    if task != CLASSIFICATION and (doubt := advice.doubt(facts)):
        raise EvaluationError(f"{name}: {doubt}; --task classification takes them as labels")
    if labels[:limit].isna().all():
        raise EvaluationError(
            f"no row of {name} has a label: its column {target!r} is empty; --target names another"
        )
    values = numbers(facts.texts, table.layout) if advice.among_numbers(facts) else labels
    task = task or task_of(values.dropna())
    if kind in ("number", "boolean"):
        texts = pd.Series(column.unique() if table.is_text else [], dtype=object)
        has_zeros = task == CLASSIFICATION and texts.str.match(r"0\d").any()  # such as 007
        return task, "category" if has_zeros else kind, facts
    if task == REGRESSION:
        helps = f"{advice.help_with(table, column)[2:]}; ".lstrip("; ")
        wanted = f"but regression predicts numbers: {helps}--task classification takes labels"
        return task, settle(column[:limit], table, "number", wanted)[1], facts
    return task, "category", facts


def _check_columns(
    chosen: Iterable[Any], names: Sequence[str], where: str, noun: str = "column"
) -> None:
    if (odd := next((column for column in chosen if column not in names), None)) is not None:
        raise EvaluationError(f"{where} has no {noun} {odd!r} ({suggest(str(odd), names)})")


_PARTS: dict[type, Callable[[dt.datetime], dict[str, int]]] = {
    datasets.AirlinePassengers: lambda t: {"year": t.year, "month": t.month},
    datasets.WaterFlow: lambda t: {"day": t.toordinal(), "weekday": t.weekday(), "hour": t.hour},
}


def _read_dataset(dataset: base.Dataset, limit: int | None) -> Stream:
    name = dataset.name if isinstance(dataset, DriftStream) else type(dataset).__name__
    if limit is None and isinstance(dataset, base.SyntheticDataset) and not dataset.n_samples:
        raise EvaluationError(f"{name} is endless; set a limit")
    is_file = isinstance(dataset, base.FileDataset)  # which river closes at its end
    samples = list(dataset if is_file else itertools.islice(dataset, limit))[:limit]
    if parts := _PARTS.get(type(dataset)):  # its only feature is a time
        samples = [(parts(*x.values()), y) for x, y in samples]
    first = samples[0][0] if samples else {}
    kinds = {str(k): "category" if isinstance(v, str) else "number" for k, v in first.items()}
    task = REGRESSION if dataset.task == base.REG else CLASSIFICATION
    return Stream(name, samples, 0, task, kinds=kinds, drifts=getattr(dataset, "drifts", ()))


def read_source(
    dataset: Any,
    limit: int | None = None,
    task: Task | None = None,
    models: ModelsOfTask | None = None,
    target: Any = None,
) -> Stream:
    """Return the labeled samples of a dataset, and the task that was chosen, or that suits them."""
    _check_task("task", task)
    if isinstance(dataset, str | Path):
        dataset = load_stream(dataset, target, task=task, limit=limit)
    elif isinstance(dataset, Stream) and target is not None:
        raise EvaluationError(f"{dataset.name} is a stream, which has its target already")
    is_stream = isinstance(dataset, Stream)
    stream: Stream = dataset.complete() if is_stream else _in_memory(dataset, limit, target)
    is_table = isinstance(stream.samples, TableRows)  # others may have no length
    if not is_table or (limit is not None and limit < stream.n_samples):
        samples = [*itertools.islice(read_pairs(stream.samples), limit)]
        labeled = [(x, y) for x, y in samples if not is_missing(y)]
        n_unlabeled = stream.n_unlabeled + len(samples) - len(labeled)
        stream = replace(stream, samples=labeled, n_unlabeled=n_unlabeled)
    if not stream.n_samples:
        raise EvaluationError(
            f"{stream.name} has no labeled samples; note that a generator can be read only once"
        )
    targets, suggested = stream.targets, stream.task or task_of(stream.targets)
    if task is None and models is not None and not isinstance(targets[0], str | bool | np.bool_):
        # numbers may be labels: the models decide, but for a column of quantities
        has_quantities = suggested == REGRESSION and (is_stream or stream.target is not None)
        task = None if has_quantities else models.task
    return replace(stream, task=task or suggested)


def _in_memory(dataset: Any, limit: int | None, target: Any) -> Stream:
    if isinstance(dataset, base.Dataset) and target is None:
        return _read_dataset(dataset, limit)
    is_pair = isinstance(dataset, tuple) and len(dataset) == 2
    X, y = dataset if is_pair and _table_of(dataset[0]) is not None else (dataset, target)
    table, column = _table_of(X), cast(Any, None)
    name, no_task = type(dataset).__name__, cast(Any, "")  # `read_source` chooses it
    if table is None:
        if y is not None or not isinstance(X, Iterable):
            raise EvaluationError(
                "dataset must be a stream or its name, an iterable of pairs (features, label), or a"
                f" table, with a target if its is not in a column, got {shown(dataset)}"
            )
        return Stream(name, X, task=no_task)  # type: ignore[arg-type]  # which `read_source` makes a list
    if isinstance(table, nw.DataFrame) and (y is None or isinstance(y, str | int)):
        names = table.columns
        column = guess_target(names) if y is None else y
        if column not in names or len(names) < 2:
            raise EvaluationError(
                "a dataframe must have a target column and at least one feature column, got the"
                f" columns {shown(names)} and target={y!r}"
            )
        # by position and in a list, because pandas column names need not be strings
        table, y = table.drop([column]), table[:, names.index(column)].to_list()
    if isinstance(table, nw.DataFrame):
        xs = [*frames.as_samples(table)]
    else:
        xs = table.to_list() if isinstance(table, nw.Series) else frames.read_rows(table)
    targets = y if isinstance(y, list | tuple) else np.asarray(y).tolist()
    if not isinstance(targets, list | tuple) or len(targets) != len(xs):
        raise EvaluationError(f"X has {len(xs)} rows, but the target is not as many values")
    return Stream(name, [*zip(xs, targets, strict=True)], task=no_task, target=column)


def _table_of(X: Any) -> Any:
    """Return a table as a dataframe or series of narwhals, or as a sparse matrix; or None."""
    if frames.is_matrix(X):
        return X
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = pd.DataFrame(X).infer_objects()
    native = nw.from_native(X, allow_series=True, pass_through=True)
    return native if isinstance(native, nw.DataFrame | nw.Series) else None
