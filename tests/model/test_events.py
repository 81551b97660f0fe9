"""The log: what is told, when, and that nobody hears of it who did not ask."""

import logging
import random
import re
import subprocess
import sys

import pandas as pd
import pytest

import river_amf
from river_amf import AdaptiveAMFClassifier


@pytest.fixture
def told(caplog):
    """Return a function that returns what has been logged since the last call, from a level on."""
    caplog.set_level(logging.DEBUG, "river_amf")

    def lines(level=logging.INFO):
        found = [
            f"{record.name}: {record.getMessage()}"
            for record in caplog.records
            if record.levelno >= level
        ]
        caplog.clear()
        return found

    return lines


def rows(n_samples, n_categories=3):
    rng = random.Random(2)
    for i in range(n_samples):
        yield {"a": rng.random(), "user": f"user {rng.randrange(n_categories)}"}, i % 2


def learn(model, samples):
    for x, y in samples:
        model.learn_one(x, y)


# Files


def test_files_are_told_with_their_size(tmp_path, told):
    model = AdaptiveAMFClassifier()
    path = str(tmp_path / "model.amf")
    model.save(path)
    river_amf.load(path)
    size, kind = (tmp_path / "model.amf").stat().st_size, type(model)._file_kind
    saved, loaded = (re.sub(r"in \d+ ms$", "in N ms", line) for line in told())
    what = f"the file {path!r}: {size} bytes in N ms"
    assert saved == f"river_amf.persistence: saved {kind} to {what}"
    assert loaded == f"river_amf.persistence: loaded {kind} from {what}"


# Forests


def test_restarts_in_blocks(told):
    stream = [({"a": float(i % 7)}, (i % 7 < 3) == (i < 1000)) for i in range(1600)]
    xs, ys = zip(*stream, strict=True)
    model = AdaptiveAMFClassifier(n_estimators=4, seed=1)
    model.learn_many(pd.DataFrame(xs[:1000]), list(ys[:1000]))
    assert not [line for line in told() if "restarted" in line]
    model.learn_many(pd.DataFrame(xs[1000:]), list(ys[1000:]))
    arena = model._arena
    weights = [arena.nodes["n_samples"][t, arena.trees["root"][t]] for t in range(4)]
    restarted = [t for t in range(4) if weights[t] < 1600]
    assert restarted
    assert f"river_amf.events: after a drift, the trees {restarted} have restarted" in told()


def test_nobody_hears_of_it_who_did_not_ask():
    code = (
        "import logging, river_amf\n"
        "model = river_amf.AMFClassifier(n_estimators=1, max_nodes=3, max_categories=1)\n"
        "for i in range(9): model.learn_one({'a': str(i)}, i % 2)\n"
        "assert not logging.getLogger().handlers\n"
        "logging.getLogger('river_amf.events').warning('not heard')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
