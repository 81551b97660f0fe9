"""Three files as a newcomer has them: sales with dates, customers with ids and gaps, reviews."""

import csv
import datetime as dt
import random
import re
import uuid

import pytest

PRAISE, BLAME = "great lovely solid quick perfect", "broken slow poor useless late"
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
        months, bill = rng.randrange(1, 60), rng.choice(["", round(rng.uniform(20, 110), 2)])
        contract = rng.choice(["monthly", "yearly"])
        leaves = rng.random() < (0.8 if contract == "monthly" and months < 20 else 0.1)
        yield {
            "customer": uuid.UUID(int=rng.getrandbits(128)),
            "months": months,
            "bill": bill,
            "contract": contract,
            "churn": "Yes" if leaves else "No",
        }


def reviews(rng):
    for _ in range(1200):
        good = rng.random() < 0.5
        words = rng.choices(FILLER.split(), k=9)
        words += rng.choices((PRAISE if good else BLAME).split(), k=2)
        words += rng.choices([*PRAISE.split(), *BLAME.split()])
        rng.shuffle(words)
        yield {"review": " ".join(words), "opinion": "good" if good else "bad"}


# the one obvious option, the columns reported without it, the last metric it must reach
FILES = {
    "sales": (sales, [], [], "R2", 0.95),
    "customers": (customers, ["--drop", "customer"], ["customer"], "accuracy", 0.85),
    "reviews": (reviews, ["--text", "review"], ["review"], "accuracy", 0.95),
}


def last_figure(output, column):
    """Return a figure of the last row of the table that `evaluate` prints."""
    lines = [line.split() for line in output.splitlines()]
    header = next(line for line in lines if line[0] == "samples")
    *rows, _ = [cells for cells in lines if cells[0].isdigit()] + [[]]
    return float(rows[-1][header.index(column)])


@pytest.mark.parametrize("name", FILES)
def test_one_obvious_command_is_enough(name, tmp_path, run):
    rows_of, options, odd, metric, least = FILES[name]
    rows = [*rows_of(random.Random(1))]
    path, model = tmp_path / f"{name}.csv", tmp_path / f"{name}.amf"
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    _, _, told = run("evaluate", path, "--limit", 500, "--seed", 1)
    assert re.findall(r"column '(\w+)'", str(told)) == odd
    _, output, told = run("evaluate", path, *options, "--seed", 1, "--save", model)
    assert re.findall(r"column '(\w+)'", str(told)) == []
    assert last_figure(output, metric) >= least, output
    _, output, _ = run("compare", path, *options, "--seed", 1, "--models", "amf,adaptive")
    assert "adaptive" in output
    _, output, _ = run("predict", model, path)
    predicted = [*csv.DictReader(output.splitlines())]
    assert len(predicted) == len(rows)
    if name == "sales":
        hits = sum(
            float(p["lower"]) <= row["sold"] <= float(p["upper"])
            for p, row in zip(predicted, rows, strict=True)
        )
        assert 0.8 < hits / len(rows) < 1.0
    else:
        target = [*rows[0]][-1]
        hits = sum(p["prediction"] == row[target] for p, row in zip(predicted, rows, strict=True))
        assert hits / len(rows) >= least
