from __future__ import annotations

import pytest

from river_amf.evaluation import figures


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("n_samples", 500.0, "500"),
        ("accuracy", 0.5, "0.5000"),
        ("log-loss", 0.25994, "0.2599"),
        ("us_per_sample", 12.34, "12.3"),
        ("memory", 2048, "2 KiB"),
    ],
)
def test_a_cell_is_rounded_as_its_column_asks(column, value, text):
    assert figures.cell(column, value) == text


def test_titles_are_short():
    columns = ["n_samples", "accuracy", "us_per_sample"]
    assert figures.titles(columns) == ["samples", "accuracy", "us/sample"]
