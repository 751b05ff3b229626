"""``python -m tui`` is the command ``ringside``."""

from __future__ import annotations

import sys

from tui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
