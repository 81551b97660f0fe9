"""Three files as a newcomer has them: sales with dates, customers with ids and gaps, reviews."""

import csv
import datetime as dt
import random
import re
import uuid

import pandas as pd
import pytest

PRAISE = ["great", "lovely", "solid", "quick", "perfect"]
BLAME = ["broken", "slow", "poor", "useless", "late"]
FILLER = "the it was and my phone came box with again very for a screen battery shop"


def sales(rng):
    for day in range(700):
        date = dt.date(2023, 1, 2) + dt.timedelta(day)
        for shop in ("north", "south"):
            price = rng.choice([2.49, 2.99, 3.49])
            busy = 3.0 if date.weekday() > 4 else 1.0
            sold = busy * 40 * (shop == "north") + busy * 90 - 15 * price + rng.gauss(0, 5)
            yield {"date": date, "shop": shop, "price": price, "sold": max(0, round(sold))}


def customers(rng):
    for _ in range(1500):
        id, months = uuid.UUID(int=rng.getrandbits(128)), rng.randrange(1, 60)
        bill, contract = rng.choice(["", 35.5, 60.25]), rng.choice(["monthly", "yearly"])
        leaves = rng.random() < (0.8 if contract == "monthly" and months < 20 else 0.1)
        row = {"customer": id, "months": months, "bill": bill, "contract": contract}
        yield row | {"churn": "Yes" if leaves else "No"}


def reviews(rng):
    for n in range(1200):
        words = rng.choices(FILLER.split(), k=9) + rng.choices((BLAME, PRAISE)[n % 2], k=2)
        words += rng.choices([*PRAISE, *BLAME])
        rng.shuffle(words)
        yield {"review": " ".join(words), "opinion": ("bad", "good")[n % 2]}


@pytest.mark.parametrize(
    ("rows_of", "options", "odd", "metric", "least"),
    [
        (sales, [], [], "R2", 0.95),
        (customers, ["--drop", "customer"], ["customer"], "accuracy", 0.85),
        (reviews, ["--text", "review"], ["review"], "accuracy", 0.95),
    ],
)
def test_one_obvious_command_is_enough(rows_of, options, odd, metric, least, tmp_path, run):
    path, table, model = (str(tmp_path / name) for name in ("data.csv", "table.csv", "model"))
    rows = pd.DataFrame(rows_of(random.Random(1)))
    rows.to_csv(path, index=False)
    for arguments, noted in ((["--limit", 500], odd), ([*options, "--save", model], [])):
        assert re.findall(r"column '(\w+)'", str(run("evaluate", path, *arguments)[2])) == noted
    run("compare", path, *options, "--models", "adaptive", "--csv", table)
    assert pd.read_csv(table, index_col="model")[metric]["adaptive"] >= least
    predicted = [*csv.DictReader(run("predict", model, path)[1].splitlines())]
    pairs = [*zip(predicted, rows.iloc[:, -1], strict=True)]
    if rows_of is sales:
        hits = sum(float(row["lower"]) <= y <= float(row["upper"]) for row, y in pairs)
        assert 0.8 < hits / len(rows) < 1.0
    else:
        assert sum(row["prediction"] == y for row, y in pairs) / len(rows) >= least
