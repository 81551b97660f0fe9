"""Dates as numbers: the same for a dict, a dataframe of any library, and a file."""

import calendar
import datetime as dt
import json

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_amf import AMFRegressor, date_features
from river_amf.evaluation import EvaluationError, load_stream


def by_hand(date):
    """Return the numbers of a date, from the calendar."""
    days = (dt.date(date.year, date.month, date.day) - dt.date(1970, 1, 1)).days
    first = sum(calendar.monthrange(date.year, month)[1] for month in range(1, date.month))
    numbers = {
        "d.weekday": calendar.weekday(date.year, date.month, date.day),
        "d.month": date.month,
        "d.day_of_year": first + date.day,
        "d.days": days,
    }
    if isinstance(date, dt.datetime):
        seconds = date.hour * 3600 + date.minute * 60 + date.second + date.microsecond / 1e6
        numbers |= {"d.days": days + seconds / 86400, "d.hour": date.hour}
    return numbers


DATES = st.dates(dt.date(1800, 1, 1), dt.date(2200, 1, 1))
TIMES = st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1))


@given(DATES | TIMES)
def test_date_equals_calendar(date):
    expected = by_hand(date)
    assert date_features({"d": date}) == pytest.approx(expected, rel=1e-13, abs=1e-11)
    unit = "M8[us]" if isinstance(date, dt.datetime) else "M8[D]"
    for same in (np.datetime64(date).astype(unit), pd.Timestamp(date)):
        numbers = date_features({"d": same})
        assert numbers.items() >= date_features({"d": date}).items()
        assert ("d.hour" in numbers) == (isinstance(same, pd.Timestamp) or len(expected) == 5)


def test_date_has_its_zone_and_other_values_stay():
    late = dt.datetime(2024, 5, 17, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert date_features({"d": late}) == by_hand(late.replace(tzinfo=None))
    for missing in (pd.NaT, np.datetime64("NaT")):
        assert date_features({"d": missing, "x": 1}) == {"x": 1}
    x = {"x": 1, "t": dt.time(3), "text": "2024-05-17"}
    assert date_features(x) == x and date_features(x) is not x


KNOWN = [dt.datetime(2024, 2, 29, 13, 30, 1, 5), dt.datetime(1969, 12, 31, 23, 59)]
LIBRARIES = {
    "pandas": lambda columns: pd.DataFrame(columns, index=[5] * len(columns["x"])),
    "objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "arrow in pandas": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("has_gap", [False, True])
@pytest.mark.parametrize("has_time", [False, True])
@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
def test_dataframe_gets_numbers_of_its_rows(make, has_time, has_gap):
    values = [*(KNOWN if has_time else [each.date() for each in KNOWN]), *[None] * has_gap]
    frame = make({"d": values, "x": [*range(len(values))], "y": ["a"] * len(values)})
    numbers = date_features(frame)
    assert type(numbers) is type(frame)
    assert not isinstance(frame, pd.DataFrame) or numbers.index.equals(frame.index)
    rows = numbers if isinstance(numbers, pd.DataFrame) else pd.DataFrame(numbers.to_pandas())
    expected = [
        date_features({"d": pd.NaT if value is None else value, "x": i, "y": "a"})
        for i, value in enumerate(values)
    ]
    assert rows.columns.tolist() == [*expected[0]]
    for row, x in zip(rows.to_dict("records"), expected, strict=True):
        assert {k: v for k, v in row.items() if not pd.isna(v)} == x


@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
def test_text_is_parsed_where_named(make):
    texts = ["2024-02-29T13:30:00Z", "2024-03-01T01:02:03.5+02:00", "2024-03-01", None]
    dates = [*map(dt.datetime.fromisoformat, texts[:2]), dt.date(2024, 3, 1), pd.NaT]
    frame = date_features(make({"d": texts, "x": [1, 2, 3, 4], "y": texts}), parse_dates=["d", "x"])
    columns = nw.from_native(frame).to_dict(as_series=False)
    for i, (text, date) in enumerate(zip(texts, dates, strict=True)):
        expected = date_features({"d": date, "x": i + 1, "y": text or pd.NaT})
        assert date_features({"d": text or pd.NaT}, parse_dates="d").items() <= expected.items()
        assert {n: v[i] for n, v in columns.items() if not pd.isna(v[i])} == expected
    with pytest.raises(ValueError, match=r"feature 'y' must be a date of ISO 8601: .*'a'"):
        date_features(make({"x": [1], "y": ["a"]}), parse_dates=["y"])


CLASH = {"d": KNOWN[0], "d.month": 3}


@pytest.mark.parametrize(
    "x", [CLASH, pd.DataFrame([CLASH]), [KNOWN[0]]], ids=["dict", "frame", "list"]
)
def test_taken_name_or_no_sample_is_refused(x):
    message = r"'d' is a date, of which .* named 'd.month', as|x must be a dict of features"
    with pytest.raises((TypeError, ValueError), match=message):
        date_features(x)


def test_column_of_dates_may_have_any_name():
    days, index = pd.date_range("2024-01-01", periods=2), ["u", "v"]
    frame = pd.DataFrame({"a": days.date, "b": days, "c": [1, 2]}, index)
    frame.columns = pd.Index([("a", 1), 5, ("c", 2)], tupleize_cols=False)
    numbers = date_features(frame)
    assert numbers.index.tolist() == index
    assert numbers.iloc[0].to_dict() == {
        **date_features({("a", 1): days[0].date()}),
        **date_features({5: days[0]}),
        ("c", 2): 1,
    }


def test_pipelines_take_the_function():
    days = pd.date_range("2024-01-01", periods=300)
    y = np.where(days.day_of_week > 4, 10.0, 20.0)
    rows, blocks = (date_features | AMFRegressor(seed=1) for _ in range(2))
    for day, target in zip(days, y, strict=True):
        rows.learn_one({"d": day}, target)
    blocks.learn_many(pd.DataFrame({"d": days}), pd.Series(y))
    week = pd.DataFrame({"d": pd.date_range("2024-11-01", periods=7)})
    predicted = [rows.predict_one(x) for x in week.to_dict("records")]
    assert blocks.predict_many(week).tolist() == predicted
    assert max(predicted[1:3]) < 13.0 and min(predicted[3:]) > 17.0  # Saturday and Sunday


def test_file_has_numbers_of_its_dates(tmp_path):
    csv, lines, parquet = (tmp_path / f"sales.{kind}" for kind in ("csv", "jsonl", "parquet"))
    csv.write_text(
        "day,at,shop,sales\n2024-05-17,2024-05-17 13:30,north,1.5\n"
        "NA,2024-05-18T10:00:00Z,south,2.5\n2024-05-19,,north,3.5\n"
    )
    stream, start = load_stream(csv), dt.datetime(2024, 5, 17, 13, 30)
    first = {"day": start.date(), "at": start, "shop": "north"}
    assert next(iter(stream)) == (date_features(first), 1.5)
    assert stream.kinds == {"day": "date", "at": "date", "shop": "category"}
    frame = pd.read_csv(csv, na_values="NA")
    lines.write_text("".join(json.dumps(x) + "\n" for x in frame.to_dict("records")))
    frame["at"] = pd.to_datetime(frame["at"], format="ISO8601", utc=True)
    frame["day"] = pd.to_datetime(frame["day"]).dt.date
    frame.to_parquet(parquet)
    assert [*load_stream(lines)] == [*load_stream(parquet)] == [*stream]
    xs = [x for x, _ in load_stream(csv, categorical=["day"])]
    assert [x.get("day") for x in xs] == ["2024-05-17", None, "2024-05-19"]
    assert [y for _, y in load_stream(csv, "day")] == ["2024-05-17", "2024-05-19"]
    with pytest.raises(EvaluationError, match="'2024-05-17'"):
        load_stream(csv, "day", task="regression")
