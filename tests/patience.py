"""How long a test waits for another process, thread or loop: a guard against waiting for ever, and nothing else."""

from __future__ import annotations

from typing import Final

HANG_S: Final = 1800.0
"""What takes longer hangs, however many other things the machine does at the same time."""
