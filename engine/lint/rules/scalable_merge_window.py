"""A merge window shorter than the interval of load records: segments are taken for cold by a single record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity
from engine.scalable.load_reports import interval_seconds

ID: Final = "scalable-merge-window"


def check(case: ScalableCase) -> Iterator[Finding]:
    """One finding where a segment can be merged before its load is looked at again, by printed settings. O(1).

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> world = World(configuration={"scalableTopicLoadReportIntervalSeconds": "10"})
    >>> case = ScalableCase(world, "topic://t/n/x", Layout({}), AutoScaleSettings(mergeWindowSeconds=5))
    >>> [finding.number("report_interval_s") for finding in check(case)]
    [10]
    """
    window, interval = case.settings.mergeWindowSeconds, interval_seconds(case.world.configuration)
    if not case.settings.enabled or interval is None or not 0 <= window < interval:
        return
    what = (
        f"mergeWindowSeconds is {window:,}, and loads are looked at every {interval:,} s: one quiet look is enough"
        " for a merge"
    )
    advice = f"set mergeWindowSeconds to several times {interval:,}"
    numbers = (("merge_window_s", window), ("report_interval_s", interval))
    yield Finding(ID, Severity.WARNING, what, case.where(), numbers, advice)


RULE: Final = Rule(
    ID, "segments are merged after one quiet load record", Severity.WARNING, "AutoScalePolicyEvaluator", check
)
