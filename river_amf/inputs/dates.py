"""Dates as numbers: weekday, month, day of the year, days since 1970, and hour."""

import datetime as dt
from collections.abc import Collection, Hashable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from river_amf.inputs import frames
from river_amf.inputs.kinds import as_dict, is_date, is_missing, shown

PARTS = ("weekday", "month", "day_of_year", "days", "hour")
_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_DAY = 86_400_000_000  # microseconds


def date_features(x: Any, parse_dates: Collection[Hashable] = ()) -> Any:
    """Replace dates by numbers: a tree cannot split a date, but it can split a weekday or a month.

    A date `day` becomes `day.weekday` (0 is Monday), `day.month`, `day.day_of_year`, and `day.days`
    since 1970-01-01. If its type has a time, `day.days` has a fraction, and there is `day.hour`,
    both in the date's own time zone. All other features stay as they are. A missing date adds
    nothing to a dict, and missing numbers to a dataframe.

    `x` is a dict of features, or a dataframe of any library that narwhals supports (else
    TypeError), in which text stays text, but for that of the features `parse_dates`, as in
    `"2024-05-17T13:30:00Z"`. ValueError is raised if such a text is no date, or if there is a
    feature of the name of a new one.

    >>> import datetime
    >>> from river_amf import AMFRegressor, date_features
    >>> date_features({"day": datetime.date(2024, 5, 17), "shop": "north"})
    {'day.weekday': 4, 'day.month': 5, 'day.day_of_year': 138, 'day.days': 19860, 'shop': 'north'}
    >>> model = date_features | AMFRegressor(seed=1)
    >>> model = (lambda x: date_features(x, parse_dates=["day"])) | AMFRegressor(seed=1)
    """
    names = [parse_dates] if isinstance(parse_dates, str) else parse_dates
    if not isinstance(x, dict) and nw.dependencies.is_into_dataframe(x):
        return of_frame(frames.read_frame(x), names).to_native()
    x, numbers = as_dict(x), {}
    for name, value in x.items():
        value = _read(name, value, names)
        if not is_date(value):
            numbers[name] = value
        elif not is_missing(value):
            numbers |= dict(zip(names_of(name, x), _parts(value), strict=False))
    return numbers


def _read(name: Hashable, value: Any, texts: Any) -> Any:
    """Return a value, or the date in a text of such a feature; raise ValueError if it has none."""
    if name not in texts or not isinstance(value, str):
        return value
    try:
        return (dt.date if len(value) == len("2024-05-17") else dt.datetime).fromisoformat(value)
    except ValueError as error:
        raise ValueError(f"feature {shown(name)} must be a date of ISO 8601: {error}") from None


def of_frame(frame: nw.DataFrame[Any], texts: Any = ()) -> nw.DataFrame[Any]:
    """Return a dataframe with numbers in place of its columns of dates, if there are any."""
    numbers: list[nw.Series[Any]] = []
    names: list[Any] = []
    for name in frame.columns:
        column = frame.get_column(name)
        parts = _of_column(column)
        if name in texts:
            parts = _of_objects(column, [_read(name, value, texts) for value in column.to_list()])
        new = names_of(name, frame.columns)[: len(parts)] if parts else []
        numbers += [part.alias(part_name) for part, part_name in zip(parts, new, strict=True)]
        names += new or [name]
    frame = frame.with_columns(*numbers)
    return frame[:, [frame.columns.index(name) for name in names]]  # pandas has names of any type


def names_of(name: Hashable, others: Any = ()) -> list[str]:
    """Return the names of the numbers of a date; raise ValueError if another feature has one."""
    names = [f"{name}.{part}" for part in PARTS]
    for new in names:
        if new in others:
            raise ValueError(
                f"feature {shown(name)} is a date, of which a part would be named {new!r}, as "
                "another feature is; rename one of them"
            )
    return names


def _parts(date: Any) -> list[float]:
    if isinstance(date, np.datetime64):
        date = date.astype("M8[us]" if date.dtype > np.dtype("M8[D]") else "M8[D]").item()
    parts = [date.weekday(), date.month, date.timetuple().tm_yday, date.toordinal() - _FIRST_DAY]
    if isinstance(date, dt.datetime):
        time = dt.timedelta(0, (date.hour * 60 + date.minute) * 60 + date.second, date.microsecond)
        parts[3] += time / dt.timedelta(1)
        parts.append(date.hour)
    return parts


def _of_column(column: nw.Series[Any]) -> list[nw.Series[Any]]:
    """Return the numbers of a column, missing where a date is; none if it does not hold dates."""
    if column.dtype == nw.Object:
        return _of_objects(column, column.to_list())
    if column.dtype not in (nw.Datetime, nw.Date):
        return []
    has_time = column.dtype == nw.Datetime
    column = column.dt.replace_time_zone(None) if has_time else column
    time = column.cast(nw.Datetime("us")).dt.timestamp("us")
    day = time // _DAY
    parts = [column.dt.weekday() - 1, column.dt.month(), column.dt.ordinal_day(), day]
    return [*parts[:3], day + (time - day * _DAY) / _DAY, column.dt.hour()] if has_time else parts


def _of_objects(column: nw.Series[Any], values: list[Any]) -> list[nw.Series[Any]]:
    dates = [None if is_missing(value) else value for value in values]
    if not any(map(is_date, dates)) or not all(date is None or is_date(date) for date in dates):
        return []
    rows = np.full((len(dates), len(PARTS)), np.nan)
    for row, date in zip(rows, dates, strict=True):
        parts = [] if date is None else _parts(date)
        row[: len(parts)] = parts
    numbers = [part for part in rows.T if not np.isnan(part).all()]
    return [nw.new_series("", part, backend=column.implementation) for part in numbers]
