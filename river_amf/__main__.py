"""`python -m river_amf`: the command."""

from __future__ import annotations

import sys

from river_amf.cli import main

if __name__ == "__main__":
    sys.exit(main())
