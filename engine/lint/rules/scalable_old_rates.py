"""Load records that are looked at more often than rates change: the same rates are seen again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from engine.lint.model import Finding, Rule, Severity, Where, World
from engine.scalable.load_reports import INTERVAL, interval_seconds

ID: Final = "scalable-old-rates"
STATISTICS: Final = "statsUpdateFrequencyInSecs"


def check(world: World) -> Iterator[Finding]:
    """One finding where scalable topics are scaled by rates older than their load records. O(1).

    That is so by default, so it is only to be known: a split follows a peak up to a minute later.

    >>> printed = {STATISTICS: "60", "scalableTopicLoadReportIntervalSeconds": "10"}
    >>> [finding.severity.label for finding in check(World(configuration=printed, has_scalable_topics=True))]
    ['info']
    """
    every, interval = _number(world.configuration, STATISTICS), interval_seconds(world.configuration)
    if not world.has_scalable_topics or every is None or interval is None or not 0 < interval < every:
        return
    what = (
        f"{STATISTICS}={every:,} is longer than {INTERVAL}={interval:,}: rates change every {every:,} s, and load"
        " records in between repeat them"
    )
    numbers = (("statistics_interval_s", every), ("report_interval_s", interval))
    advice = f"lower {STATISTICS} where splits have to follow traffic faster"
    yield Finding(ID, Severity.INFO, what, Where(), numbers, advice)


def _number(configuration: Mapping[str, str], name: str) -> int | None:
    text = configuration.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


RULE: Final = Rule(ID, "rates are older than the load records of segments", Severity.INFO, "SegmentLoadReporter", check)
