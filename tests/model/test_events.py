"""Log messages, and that nothing is printed unless a handler is set up."""

import subprocess
import sys

import pandas as pd

from river_amf import AdaptiveAMFClassifier


def test_restarts_in_blocks_are_logged(caplog):
    caplog.set_level("INFO", "river_amf.events")
    xs = pd.DataFrame({"a": [float(i % 7) for i in range(1600)]})
    ys = [(i % 7 < 3) == (i < 1000) for i in range(1600)]
    model = AdaptiveAMFClassifier(n_estimators=4, seed=1)
    model.learn_many(xs[:1000], ys[:1000])
    assert not caplog.messages
    model.learn_many(xs[1000:], ys[1000:])
    trees, nodes = model._arena.trees, model._arena.nodes
    restarted = [t for t in range(4) if nodes["n_samples"][t, trees["root"][t]] < 1600]
    assert restarted
    assert caplog.messages == [f"after a drift, the trees {restarted} have restarted"]


def test_nothing_is_printed_by_default():
    code = (
        "import logging, river_amf\n"
        "river_amf.AMFClassifier(n_estimators=1).learn_one({'a': 1}, 1)\n"
        "assert not logging.getLogger().handlers\n"
        "logging.getLogger('river_amf.events').warning('not printed')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
