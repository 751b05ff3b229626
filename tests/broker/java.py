"""Which Java runs brokers."""

from __future__ import annotations

import os
from pathlib import Path


def java() -> str:
    """The command: that of ``JAVA_HOME``, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"
