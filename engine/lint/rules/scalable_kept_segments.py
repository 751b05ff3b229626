"""Sealed segments that are never pruned, since messages are kept for ever: the layout grows with every change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity

ID: Final = "scalable-kept-segments"
MANY: Final = 10
"""A topic with fewer sealed segments is not worth a finding."""


def check(case: ScalableCase) -> Iterator[Finding]:
    """One finding where retention is unlimited and at least ``MANY`` segments are sealed. O(segments).

    Each of them stays a topic with its own cursors, is dealt to QUEUE consumers, and counts for the depth of merges.

    >>> from engine.lint.model import World
    >>> from engine.scalable.layout import first_layout, rebucket
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> layout = first_layout(1)
    >>> for at in range(12):
    ...     layout = rebucket(layout, at, at + 5)
    >>> case = ScalableCase(World(), "topic://t/n/x", layout, AutoScaleSettings(), retention_minutes=-1)
    >>> [finding.number("sealed") for finding in check(case)]
    [12]
    """
    sealed = sum(1 for segment in case.layout.segments.values() if not segment.active)
    if case.retention_minutes is None or case.retention_minutes >= 0 or sealed < MANY:
        return
    what = f"{sealed:,} sealed segments are kept, and none is ever pruned: the retention time is unlimited"
    numbers = (("sealed", sealed), ("segments", len(case.layout.segments)), ("epoch", case.layout.epoch))
    advice = "limit the retention time of the namespace, or split and merge less often"
    yield Finding(ID, Severity.WARNING, what, case.where(), numbers, advice)


RULE: Final = Rule(ID, "sealed segments are kept for ever", Severity.WARNING, "ScalableTopicController", check)
