"""Entry point of `python -m river_amf`, the same command as `river-amf`."""

from __future__ import annotations

import sys

from river_amf.cli import main

if __name__ == "__main__":
    sys.exit(main())
