"""Dates as numbers: the part of a week, of a year and of a day, and the days since 1970."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Hashable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from river_amf.inputs import frames
from river_amf.inputs.kinds import as_dict, is_date, is_missing, shown

PARTS = ("weekday", "month", "day_of_year", "days", "hour")
_THURSDAY = 3  # 1970-01-01, counted from Monday
_FIRST_DAY = dt.date(1970, 1, 1).toordinal()


def date_features(x: Any) -> Any:
    """Replace dates by numbers: trees cannot split a date, but a weekday or a month.

    A date `day` becomes `day.weekday` (0 is Monday), `day.month`, `day.day_of_year`, and
    `day.days`, which are those since 1970-01-01. If its type has a time, there is `day.hour`, and
    `day.days` has a fraction. The time is that of the date's own time zone.

    Parameters
    ----------
    x
        A dict of features, or a dataframe of any library that narwhals supports. Dates are those
        of datetime, numpy and pandas; text is left as it is.

    Returns
    -------
    dict or dataframe
        The features, those that are no dates as they are. Of a missing date in a dict nothing is
        left; in a dataframe its numbers are missing.

    Raises
    ------
    TypeError
        If `x` is neither.
    ValueError
        If there is a feature of the name of a new one.

    Examples
    --------
    >>> import datetime
    >>> from river_amf import AMFRegressor, date_features
    >>> date_features({"day": datetime.date(2024, 5, 17), "shop": "north"})
    {'day.weekday': 4, 'day.month': 5, 'day.day_of_year': 138, 'day.days': 19860, 'shop': 'north'}

    In a pipeline it stands before the model:

    >>> model = date_features | AMFRegressor(seed=1)
    >>> model.learn_one({"day": datetime.datetime(2024, 5, 17, 13)}, 5.0)
    >>> model.predict_one({"day": datetime.datetime(2024, 5, 18, 13)})
    5.0
    """
    if not isinstance(x, dict) and nw.dependencies.is_into_dataframe(x):
        return of_frame(frames.read_frame(x)).to_native()
    x = as_dict(x)
    found: dict[Hashable, Any] = {}
    for name, value in x.items():
        if not is_date(value):
            found[name] = value
        elif not is_missing(value):
            found |= dict(zip(names_of(name, x), _parts(value), strict=False))
    return found


def of_frame(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a dataframe with numbers in the place of its columns of dates, if there are any."""
    names: list[Any] = []
    found: dict[str, Any] = {}
    for name, dtype in frame.schema.items():
        may_be = dtype in (nw.Datetime, nw.Date, nw.Object)
        columns = _columns(frame.get_column(name), dtype) if may_be else []
        new = names_of(name, frame.columns)[: len(columns)] if columns else []
        names += new or [name]
        found |= zip(new, columns, strict=True)
    if not found:
        return frame
    make = functools.partial(nw.new_series, backend=frame.implementation)
    return frame.with_columns(*(make(*pair) for pair in found.items())).select(names)


def names_of(name: Hashable, others: Any = ()) -> list[str]:
    """Return the names of the numbers of a date; raise ValueError if others have one of them."""
    names = [f"{name}.{part}" for part in PARTS]
    for new in names:
        if new in others:
            raise ValueError(
                f"feature {shown(name)} is a date, of which a part would be named {new!r}, as "
                "another feature is; rename one of them"
            )
    return names


def _parts(date: Any) -> list[float]:
    """Return the numbers of a date, the hour only if its type has a time."""
    if isinstance(date, np.datetime64):
        date = date.astype("M8[us]" if date.dtype > np.dtype("M8[D]") else "M8[D]").item()
    parts = [date.weekday(), date.month, date.timetuple().tm_yday, date.toordinal() - _FIRST_DAY]
    if isinstance(date, dt.datetime):
        time = dt.timedelta(0, (date.hour * 60 + date.minute) * 60 + date.second, date.microsecond)
        parts[3] += time / dt.timedelta(1)
        parts.append(date.hour)
    return parts


def _columns(series: nw.Series[Any], dtype: Any) -> list[NDArray[Any]]:
    """Return the same for a column, NaN where a date is missing; nothing if it holds no dates."""
    if dtype == nw.Object:
        values = series.to_list()
        known = [value for value in values if not is_missing(value)]
        if not known or not all(map(is_date, known)):
            return []
        blank = [np.nan] * len(PARTS)
        rows = [blank if is_missing(v) else [*_parts(v), np.nan][: len(PARTS)] for v in values]
        *columns, hours = np.array(rows).T
        return columns if np.isnan(hours).all() else [*columns, hours]
    naive = series.dt.replace_time_zone(None) if dtype == nw.Datetime else series
    times = np.asarray(naive.cast(nw.Datetime("us")).to_numpy()).astype("M8[us]")
    day = times.astype("M8[D]")
    days = day.astype(np.int64)
    year, months = times.astype("M8[Y]"), times.astype("M8[M]").astype(np.int64)
    columns = [(days + _THURSDAY) % 7, months % 12 + 1, (day - year).astype(np.int64) + 1, days]
    if dtype == nw.Datetime:
        columns[3] = days + (times - day) / np.timedelta64(1, "D")
        columns.append((times - day).astype("m8[h]").astype(np.int64))
    missing = np.isnat(times)
    return [np.where(missing, np.nan, column) for column in columns] if missing.any() else columns
