"""When the owner broker of a segment writes its load record, from which the automatic scaling decides.

After ``SegmentLoadReporter`` of Pulsar 5.0.1. Only a change is written, so a rate that settles above a limit within the
threshold of the last record is never seen, and the time of the record says how long the load has been about the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

INTERVAL_SECONDS: Final = 10
INTERVAL: Final = "scalableTopicLoadReportIntervalSeconds"
CHANGE_THRESHOLD: Final = 0.25


def interval_seconds(configuration: Mapping[str, str]) -> int | None:
    """The seconds between two looks by a broker's settings, None where they lack it.

    >>> interval_seconds({INTERVAL: "30"}), interval_seconds({})
    (30, None)
    """
    text = configuration.get(INTERVAL, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


class Rates(Struct, frozen=True):
    """The four rates of a segment; what goes out is the sum over all subscriptions."""

    msg_rate_in: float = 0.0
    byte_rate_in: float = 0.0
    msg_rate_out: float = 0.0
    byte_rate_out: float = 0.0

    def values(self) -> tuple[float, float, float, float]:
        return self.msg_rate_in, self.byte_rate_in, self.msg_rate_out, self.byte_rate_out


class LoadRecord(Struct, frozen=True):
    """The rates as they were written last, and when."""

    rates: Rates
    modified_ms: int


def is_written(last: Rates | None, now: Rates, threshold: float = CHANGE_THRESHOLD) -> bool:
    """Whether the record is written again; ``last`` is the one written last, None for none at all.

    >>> is_written(Rates(100.0), Rates(125.0)), is_written(Rates(100.0), Rates(74.9)), is_written(None, Rates())
    (False, True, True)
    """
    return last is None or any(
        _changed(before, after, threshold) for before, after in zip(last.values(), now.values(), strict=True)
    )


def _changed(before: float, after: float, threshold: float) -> bool:
    if before == 0:
        return after != 0
    return abs(after - before) / before > threshold
