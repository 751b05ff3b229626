"""More STREAM consumers than buckets: those beyond have nothing until segments get more buckets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity
from engine.text import counted

ID: Final = "scalable-few-buckets"


def check(case: ScalableCase) -> Iterator[Finding]:
    """One finding for each STREAM subscription with more consumers than buckets of all active segments. O(segments).

    A topic that begins with three segments or more has one bucket in each, by the default budget of four.

    >>> from engine.lint.model import World
    >>> from engine.scalable.layout import first_layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> groups = {"a": ("STREAM", 5), "b": ("STREAM", 3)}
    >>> case = ScalableCase(World(), "topic://t/n/x", first_layout(3), AutoScaleSettings(), groups)
    >>> [(finding.where.subscription, finding.number("idle")) for finding in check(case)]
    [('a', 2)]
    """
    active = case.layout.active()
    buckets = sum(segment.buckets for segment in active)
    for name, (kind, consumers) in case.subscriptions.items():
        idle = consumers - buckets
        if kind != "STREAM" or not active or idle <= 0:
            continue
        helped = "until the next evaluation gives them more" if case.settings.enabled else "and nothing gives them more"
        what = (
            f"{counted(idle, 'consumer')} of {consumers:,} have nothing: {counted(len(active), 'segment')} have"
            f" {counted(buckets, 'bucket')}, {helped}"
        )
        numbers = (("consumers", consumers), ("segments", len(active)), ("buckets", buckets), ("idle", idle))
        advice = "rebucket segments by hand, create topics with fewer segments, or raise scalableTopicEntryBucketBudget"
        yield Finding(ID, Severity.WARNING, what, case.where(name), numbers, advice)


RULE: Final = Rule(
    ID, "more STREAM consumers than buckets of all segments", Severity.WARNING, "EntryBucketSplits", check
)
