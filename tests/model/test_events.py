"""Nothing is printed unless a handler is set up."""

import subprocess
import sys


def test_nothing_is_printed_by_default():
    code = (
        "import logging, river_amf\n"
        "river_amf.AMFClassifier(n_estimators=1).learn_one({'a': 1}, 1)\n"
        "assert not logging.getLogger().handlers\n"
        "logging.getLogger('river_amf.persistence').warning('not printed')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
