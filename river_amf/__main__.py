"""The process of the command, `river-amf` or `python -m river_amf`."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import NoReturn

from river_amf.cli import INTERRUPTED, main


def run() -> NoReturn:
    """Run the command and end the process with its exit status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        # what the terminal has no characters for is printed as \x.. or \u....
        getattr(sys, name).reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it ends a run as Ctrl-C does
    logging.basicConfig(format="river-amf: %(message)s")
    logging.getLogger("river_amf.kernels").setLevel(logging.INFO)  # while kernels compile
    try:
        status = main()
    except KeyboardInterrupt:  # a second one, while the first is reported
        status = INTERRUPTED
    if status == INTERRUPTED:
        os._exit(status)  # without waiting for a kernel that is still being compiled
    sys.exit(status)


if __name__ == "__main__":
    run()
