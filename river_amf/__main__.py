"""The process of the command, `river-amf` or `python -m river_amf`."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from river_amf import _startup
from river_amf.cli import main


def run() -> NoReturn:
    """Run the command and end the process with its exit status."""
    at_once = signal.getsignal(signal.SIGINT)
    is_ours = at_once is _startup.exit_at_once
    try:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            status = main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
        if is_ours:
            signal.signal(signal.SIGINT, at_once)
    except KeyboardInterrupt:  # between the lines above
        status = _startup.INTERRUPTED
        signal.signal(signal.SIGINT, at_once)
    if is_ours and status == _startup.INTERRUPTED:
        os._exit(status)  # without waiting for a kernel that is still being compiled
    sys.exit(status)


if __name__ == "__main__":
    run()
