"""Log messages, and that nothing is printed unless a handler is set up."""

import re
import subprocess
import sys

import river_amf
from river_amf import AdaptiveAMFClassifier


def test_files_are_logged_with_their_size(tmp_path, caplog):
    caplog.set_level("INFO", "river_amf.persistence")
    model, path = AdaptiveAMFClassifier(), str(tmp_path / "model.amf")
    model.save(path)
    river_amf.load(path)
    kind, what = model._file_kind, f"the file {path!r}: {(tmp_path / 'model.amf').stat().st_size}"
    assert [re.sub(r"in \d+ ms$", "in N ms", message) for message in caplog.messages] == [
        f"saved {kind} to {what} bytes in N ms",
        f"loaded {kind} from {what} bytes in N ms",
    ]


def test_nothing_is_printed_by_default():
    code = (
        "import logging, river_amf\n"
        "river_amf.AMFClassifier(n_estimators=1).learn_one({'a': 1}, 1)\n"
        "assert not logging.getLogger().handlers\n"
        "logging.getLogger('river_amf.persistence').warning('not printed')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
