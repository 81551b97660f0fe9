"""Texts in tables as numbers, booleans and dates, as people write them.

Functions take a series of texts, of which none is missing, and a `Layout`. A text of another kind
is missing in the result.
"""

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

_Layout = Mapping[str, Any]

# digits that are no number: leading zeros, more than float64 holds, parts of hashes, phone numbers
ID = r"0\d\d+|[-+]?\d{16,99}|\d+[eE]\d+|\+\d{7,}"
_MARKS = str.maketrans("\u2212\u2019\xa0\u2009\u202f", "-'   ")  # minus, apostrophe and blanks
_DATE = re.compile(  # of ISO 8601; the first group is without an offset from UTC
    r"(\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)(Z|[-+]\d\d:?\d\d)?"
)
# Other dates, in which blanks stand for any marks between their parts; times may follow.
_DATES = ("%Y %m %d", "%Y %m", "%m %Y", *(f"{m} %d %Y" for m in ("%b", "%B")))
_DATES += tuple(
    f"{days}{m} {y}" for days in ("%d ", "") for m in ("%b", "%B") for y in ("%Y", "%y")
)
PERIOD = r"(\d{4})[-/ ]?([QqMmWw])(\d\d?)|[Qq](\d)[-/ ](\d{4})"  # 1995 Q2, 1995M04, 1995-W15
# texts that are not read as they are: amounts with their units, durations, numbers and dates
_DIGITS = r"(\d{1,3}([,.'\u2019\s]\d{3})+|\d+)?([.,]\d+)?"
_UNIT = r"(?P<unit>\s+\S{1,6}|[kKMBGT]|[^\W\d_]{2,4}|\s*[%‰°€$£¥₹]\w?)?"
_MONEY = r"((AUD|BRL|CAD|CHF|CNY|DKK|EUR|GBP|INR|JPY|NOK|NZD|PLN|SEK|USD|[$€£¥₹])\s*)?"
AMOUNT = rf"\(?[-+\u2212]?{_MONEY}[-+\u2212]?(?=\.?\d)(?!0\d){_DIGITS}{_UNIT}\)?"
_CLOCK = r"[-+]?\d+:\d\d(:\d\d(\.\d+)?)?"
DURATION = rf"-?\d+ days?(,? {_CLOCK})?|{_CLOCK}|P(\d+[YMWD])*(T(\d+(\.\d+)?[HMS])+)?"
DURATION += r"|(\d+ ?[dhms][a-z]* ?){2,}"  # such as 2h 30min
SEPARATED = r"[-+\u2212]?(\d{1,3}([.,'\u2019\s]\d{3})+([.,]\d+)?|\d*,\d+)"
_WORD = r"(\d+|[A-Za-z]{3,9})"
OTHER_DATE = rf"{_WORD}[-./ ]{_WORD}((, |[-./ ])\d+)?(,? \d\d?:\d\d.*)?|\d\d?:\d\d(:\d\d)?|{PERIOD}"
_FIRST = 100  # texts by which the format of dates is found
_TIMES = (" %H:%M", " %H:%M:%S", " %I:%M %p")


def numbers(texts: pd.Series, layout: _Layout) -> pd.Series:
    decimal, marks = layout["decimal"], f" {layout['thousands'] or ''}"
    # only those that may be numbers, because it takes long to try to parse text
    plain = texts[texts.str.match(r"[-+.,\diIn\u2212]").to_numpy(dtype=bool)]
    joined = "\n".join(plain)
    if not joined.isascii():
        plain = plain.str.translate(_MARKS)
    is_percent = plain.str.endswith("%") if "%" in joined else None
    if is_percent is not None:
        plain = plain.str.removesuffix("%").str.rstrip()
    if decimal != "." or not joined.isascii() or any(mark in joined for mark in marks):
        grouped = rf"[-+]? ?[1-9]\d{{0,2}}([{re.escape(marks)}]\d{{3}})+({re.escape(decimal)}\d*)?"
        is_grouped = plain.str.fullmatch(grouped)
        signed = plain.str.replace(r"^([-+]) ", r"\1", regex=True)
        plain = signed.mask(is_grouped, plain.str.replace(f"[{re.escape(marks)}]", "", regex=True))
        if decimal != ".":
            plain = plain.mask(plain.str.contains(".", regex=False), "text")
            plain = plain.str.replace(decimal, ".", regex=False)
    values = pd.to_numeric(plain, errors="coerce")
    if values.isna().any():  # of pandas 2, also numbers beyond float64
        is_number = plain.str.fullmatch(r"[-+]?[0-9]+\.?[0-9]*([eE]\+?[0-9]+)?")
        values = values.fillna(is_number.map({True: math.inf, False: math.nan}))
    if is_percent is not None and not is_percent[values.notna()].all():  # 12 % beside 0.12
        values = values.mask(is_percent)
    return values.reindex(texts.index)


def iso_dates(texts: pd.Series, _: _Layout) -> pd.Series:
    """Return texts as dates or as times, without their offset; missing where they are neither."""
    matches = map(_DATE.fullmatch, texts)
    local = pd.Series([match and match[1] for match in matches], texts.index, dtype=object)
    dates = pd.to_datetime(local, format="ISO8601", errors="coerce")
    has_time = any(len(text) > len("2024-05-17") for text in local.dropna())
    return dates if has_time else dates.dt.date


def read_dates(texts: pd.Series, layout: _Layout) -> pd.Series:
    """Return texts as dates or times in the layout's format, or in those that read most."""
    dates, form = iso_dates(texts, layout), layout["date_format"]
    if form is None and dates.notna().all():
        return dates
    order = "%d %m" if layout["day_first"] else "%m %d"
    days = [*_DATES, f"{order} %Y", f"{order} %y"]
    forms = [*days, *(day + time for day in days for time in _TIMES), *map(str.strip, _TIMES)]
    if form is None:
        texts = texts.str.replace(f"^({PERIOD})$", _first_day, regex=True)
        texts = texts.str.replace(r"[-./, ]+", " ", regex=True)
    dates, has_time = pd.Series(pd.NaT, texts.index, dtype="datetime64[us]"), False
    while len(rest := texts[dates.isna()]):
        first = rest[:_FIRST]
        best = form or max(forms, key=lambda f: _parse(first, f).notna().sum())
        if (parsed := _parse(rest, best).dropna()).empty:
            break
        dates[parsed.index], has_time = parsed, has_time or bool(re.search("%[HIMSpcX]", best))
    return dates if has_time else dates.dt.date


def _first_day(match: re.Match[str]) -> str:
    _, year, unit, n, quarter, year_of_quarter = match.groups()
    if unit and unit in "Ww":
        day = dt.date(int(year), 1, 4)
        return f"{day + dt.timedelta(7 * int(n) - 7 - day.weekday())}"
    month = int(n) if unit and unit in "Mm" else 3 * int(n or quarter) - 2
    return f"{year or year_of_quarter} {month}"


def _parse(texts: pd.Series, form: str) -> pd.Series:
    """Return texts in a format as times, without their offset; missing where they are none."""
    times = pd.to_datetime(texts, format=form, errors="coerce")
    return times.dt.tz_localize(None) if isinstance(times.dtype, pd.DatetimeTZDtype) else times


def booleans(texts: pd.Series) -> pd.Series:
    return texts.str.lower().map({"true": True, "false": False})
