"""Columns of numbers and of text: what stands for a missing value, and what is text by mistake."""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.evaluation.errors import EvaluationError
from river_amf.evaluation.files import as_text
from river_amf.kinds import as_category

# those of pandas, which does not export them, and that of the repository of UC Irvine
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
)
_BOOLEANS = {
    **dict.fromkeys(("True", "TRUE", "true"), True),
    **dict.fromkeys(("False", "FALSE", "false"), False),
}
# digits, perhaps in groups of three, perhaps with a fraction or a sign of percent or money
_LIKE_NUMBERS = r"[-+]?[$€£]?(\d+|\d{1,3}([.,'\u00a0]\d{3})+)([.,]\d+)?\s?[%$€£]?"
_FEW = 0.1  # of the values: a column with no more text than that is probably one of numbers
_DRAWN = 1000  # values of a long column that show what it is,
_MOST = 0.5  # if more of them than that are text


@dataclass(frozen=True)
class Markers:
    """The texts that stand for a missing value, in columns that hold numbers otherwise."""

    texts: frozenset[str]
    values: tuple[float, ...]  # those that are numbers

    def are(self, texts: pd.Series) -> NDArray[np.bool_]:
        """Whether each of the texts is a marker, with or without spaces around it."""
        return texts.str.strip().isin(self.texts).to_numpy(dtype=bool)


def markers(missing: Collection[str] | None) -> Markers:
    """Return the given markers, or those that are known; an empty field always is one."""
    if missing is None:
        return Markers(frozenset(MISSING), ())
    if isinstance(missing, str) or not all(isinstance(text, str) for text in missing):
        raise EvaluationError(f"missing must be a list of texts, such as ['NA'], got {missing!r}")
    values = pd.to_numeric(pd.Series([*missing], dtype=object), errors="coerce").dropna()
    return Markers(frozenset(missing) | {""}, tuple(values.astype(float)))


@dataclass(frozen=True)
class Mix:
    """How many values of a column are text, if they are few, and one of them."""

    n_text: int
    n_values: int
    example: str

    def described(self, column: str, name: str) -> str:
        """Return a line that says so of a column of a file."""
        are = "are" if self.n_text > 1 else "is"
        return (
            f"{name}: column {column!r}: {self.n_text} of {self.n_values} values {are} text, such"
            f" as {self.example!r}, so all of them are categories; missing (--missing) names the"
            " texts that stand for a missing value"
        )


@dataclass(frozen=True)
class Unread:
    """One of the values of a column of text that look like numbers, each of them."""

    example: str

    def described(self, column: str, name: str) -> str:
        """Return a line that says so of a column of a file."""
        return (
            f"{name}: column {column!r}: values such as {self.example!r} are not read as numbers,"
            " so all of them are categories; take out what groups the digits and signs of percent"
            " or money, and write fractions with a point"
        )


def settle(
    column: pd.Series, known: Markers, mark: str = "."
) -> tuple[pd.Series, Mix | Unread | None]:
    """Return a column as numbers, booleans or text, and what text there is among numbers.

    In a column whose other values are all numbers, or all booleans, markers become missing values;
    in a column of text nothing changes. `mark` is the decimal mark.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        # the very categories that the same column of a dataframe has
        return column.astype(object).map(as_category, na_action="ignore"), None
    if pd.api.types.is_bool_dtype(column):
        return column, None
    if pd.api.types.is_numeric_dtype(column):
        is_marker = column.isin(known.values) if known.values else None
        return (column if is_marker is None else column.mask(is_marker)), None
    if not (pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)):
        return column, None  # such as dates, which the model refuses
    return _settle_mixed(column, known, mark)


def _settle_mixed(
    column: pd.Series, known: Markers, mark: str
) -> tuple[pd.Series, Mix | Unread | None]:
    if _is_surely_text(column, known, mark):
        return column, _unread(column.iloc[:_DRAWN], known)
    codes, values = _distinct(column)
    kinds = _Kinds.of(values, known, mark)
    if kinds.has_others:
        return column, None
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    n_text, n_numbers, n_booleans = (
        int(counts[which].sum()) for which in (kinds.is_text, kinds.is_number, kinds.is_boolean)
    )
    if n_text or bool(n_numbers) == bool(n_booleans):
        n_values = n_text + n_numbers + n_booleans
        is_mix = 0 < n_text <= _FEW * n_values
        mix: Mix | Unread | None = None
        if is_mix:
            mix = Mix(n_text, n_values, str(values[kinds.is_text.argmax()]))
        elif n_text and kinds.all_texts:
            mix = _unread(values, known)
        return (column if kinds.all_texts else as_text(column)), mix
    # The last element is that of code -1, a missing value.
    if n_numbers:
        found: NDArray[Any] = np.append(kinds.numbers, np.nan)
    else:
        found = np.array([*map(_as_boolean, values), np.nan], dtype=object)
    return pd.Series(found[codes], column.index, name=column.name), None


def _unread(texts: pd.Series, known: Markers) -> Unread | None:
    """Return one of the texts if all of them, but for markers, look like numbers to people."""
    texts = texts.dropna().astype("str")
    texts = texts[~known.are(texts)]
    if not len(texts) or not texts.str.strip().str.fullmatch(_LIKE_NUMBERS).all():
        return None
    is_plain = ~np.isnan(parsed(texts))
    return Unread(str(texts[~is_plain].iloc[0])) if not is_plain.all() else None


def _is_surely_text(column: pd.Series, known: Markers, mark: str) -> bool:
    """Whether some of a long column, drawn at random, leave no doubt that most of it is text."""
    if len(column) < 10 * _DRAWN or pd.api.types.infer_dtype(column, skipna=True) != "string":
        return False
    rows = np.random.default_rng(0).integers(len(column), size=_DRAWN)
    codes, values = _distinct(column.iloc[rows].dropna())
    return bool(len(codes)) and _Kinds.of(values, known, mark).is_text[codes].mean() > _MOST


def _distinct(column: pd.Series) -> tuple[NDArray[np.intp], pd.Series]:
    """Return the place of each value among the distinct ones, -1 if it is missing."""
    try:
        codes, values = pd.factorize(column)
    except TypeError as error:
        odd = next(type(value).__name__ for value in column if not _is_hashable(value))
        raise EvaluationError(
            f"column {column.name!r} holds values of type {odd}; it takes numbers, text or booleans"
        ) from error
    return codes, pd.Series(values)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _as_float(value: Any) -> float:
    """Return a number as float, infinite if it is too large, which is reported later."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _as_boolean(value: Any) -> Any:
    return _BOOLEANS.get(value.strip(), np.nan) if isinstance(value, str) else value


@dataclass(frozen=True)
class _Kinds:
    """Of what kind each of the distinct values is; markers are of none."""

    is_text: NDArray[np.bool_]
    is_number: NDArray[np.bool_]
    is_boolean: NDArray[np.bool_]
    numbers: NDArray[np.float64]  # NaN where there is none
    has_others: bool
    all_texts: bool

    @classmethod
    def of(cls, values: pd.Series, known: Markers, mark: str) -> _Kinds:
        """Tell the kinds of values, which may be texts and anything else."""
        is_string = _are(str, values)
        is_number, is_boolean = np.zeros((2, len(values)), dtype=bool)
        number = np.full(len(values), np.nan)
        is_marker = is_boolean.copy()
        texts = values[is_string].astype("str")
        marked = known.are(texts)
        is_marker[is_string] = marked
        is_boolean[is_string] = texts.str.strip().isin(_BOOLEANS).to_numpy(dtype=bool) & ~marked
        number[is_string] = np.where(marked, np.nan, parsed(texts, mark))
        has_others = False
        if not is_string.all():
            rest = values[~is_string]
            truths = _are(bool | np.bool_, rest)
            plain = _are(numbers.Real | decimal.Decimal, rest) & ~truths
            is_boolean[~is_string] = truths
            number[~is_string] = [
                _as_float(value) if is_plain else np.nan
                for value, is_plain in zip(rest, plain, strict=True)
            ]
            has_others = not (truths | plain).all()
        is_number = ~np.isnan(number)
        is_text = is_string & ~(is_marker | is_boolean | is_number)
        return cls(is_text, is_number, is_boolean, number, has_others, bool(is_string.all()))


def _are(kind: Any, values: pd.Series) -> NDArray[np.bool_]:
    if kind is str and not pd.api.types.is_object_dtype(values):
        return np.ones(len(values), dtype=bool)  # a dtype of strings
    return np.fromiter((isinstance(value, kind) for value in values), bool, len(values))


def parsed(texts: pd.Series, mark: str = ".") -> NDArray[np.float64]:
    """Return texts as numbers, as pandas parses them in a file, and NaN for other texts."""
    number = np.full(len(texts), np.nan)
    # This leaves out most text, because it takes long to try to parse it.
    may_be = texts.str.match(r"\s*[-+.,\diI]").to_numpy(dtype=bool)
    plain = texts[may_be]
    if mark != ".":
        plain = plain.where(~plain.str.contains(".", regex=False), "text").str.replace(mark, ".")
    number[may_be] = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64)
    return number
