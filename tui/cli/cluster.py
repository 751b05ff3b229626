"""A running cluster on the command line: read once, with progress, and what could not be read said on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from tui.cli.output import say

if TYPE_CHECKING:
    from tui.sources.cluster.reading import ClusterReading, Progress
    from tui.sources.cluster.source import Source

SETTINGS_ASSUMED: Final = (
    "the brokers' settings cannot be read; Pulsar's defaults are assumed where --set NAME=VALUE gives none"
)
_EVERY_S: Final = 0.2
_SHOWN: Final = 10
_CLEAR_LINE: Final = "\r\x1b[K"


class ProgressLine:
    """One line of a terminal that says how far a reading is; nothing where stderr is not a terminal."""

    def __init__(self) -> None:
        self._shows = sys.stderr is not None and sys.stderr.isatty()
        self._next_s = 0.0
        self._written = False

    def __call__(self, progress: Progress) -> None:
        """Show it, a few times a second."""
        if not self._shows or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _EVERY_S
        left = f", {progress.left_s:,.0f} s left" if progress.left_s is not None else ""
        sys.stderr.write(f"{_CLEAR_LINE}reading: {progress.done:,} of {progress.total:,} requests{left}")
        sys.stderr.flush()
        self._written = True

    def clear(self) -> None:
        """Leave the line empty for what comes next."""
        if self._written:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()
            self._written = False


def read_once(source: Source) -> ClusterReading:
    """Read a cluster and say what is missing. Raises ``ClusterOutOfReachError``."""
    line = ProgressLine()
    try:
        reading = source.read(line)
    finally:
        line.clear()
    say_gaps(reading)
    return reading


def say_gaps(reading: ClusterReading) -> None:
    """What a reading lacks: requests without an answer by their kind, topics that were not asked for, settings."""
    from tui.sources.cluster.outcomes import summed_up

    sentences = summed_up(reading.gaps)
    for sentence in sentences[:_SHOWN]:
        say(sentence)
    if len(sentences) > _SHOWN:
        say(f"and {len(sentences) - _SHOWN} more kinds of gaps")
    if reading.not_loaded:
        because = "no broker has them loaded" if reading.knows_loaded else "which topics are loaded cannot be read"
        say(
            f"{reading.not_loaded:,} topics are listed without statistics: {because}, and asking would load them"
            " (--ask-unloaded asks)"
        )
    if "settings" in reading.assumed:
        say(SETTINGS_ASSUMED)
