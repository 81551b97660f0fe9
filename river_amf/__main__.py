"""The process of the command, `river-amf` or `python -m river_amf`."""

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn


def run() -> NoReturn:
    """Run the command and end the process with its exit status."""
    # Those that are not ignored, as Ctrl-C is in the background of a shell; both end a run alike.
    signals = {signal.SIGINT, signal.SIGTERM}
    signals = {each for each in signals if signal.getsignal(each) != signal.SIG_IGN}
    for each in signals:
        signal.signal(each, _leave)
    import logging  # not before signals are handled

    from river_amf.cli import INTERRUPTED, load, main

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        # what the terminal has no characters for is printed as \x.. or \u....
        getattr(sys, name).reconfigure(errors="backslashreplace")
    logging.basicConfig(format="river-amf: %(message)s")
    logging.getLogger("river_amf.kernels").setLevel(logging.INFO)  # while kernels compile
    load(sys.argv[1:])
    for each in signals:
        signal.signal(each, signal.default_int_handler)
    try:
        status = main()
    except KeyboardInterrupt:  # a second one, while the first is reported
        status = INTERRUPTED
    if status == INTERRUPTED:
        os._exit(status)  # without waiting for a kernel that is still being compiled
    sys.exit(status)


def _leave(*_: object) -> NoReturn:
    """End the process while it imports, where an exception could get lost."""
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    run()
