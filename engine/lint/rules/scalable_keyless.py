"""Messages without a key all go to bucket 0 of a segment: of those that share it, one gets everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity

ID: Final = "scalable-keyless"
_ADVICE: Final = "let producers set keys, split the segment, or use a QUEUE subscription where order does not matter"


def check(case: ScalableCase) -> Iterator[Finding]:
    """One finding for each shared segment of which only the consumer with bucket 0 gets messages.

    Answers do not print whether producers set keys; few keys can look the same.

    >>> from engine.lint.model import OneBucket, World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> shared = OneBucket("s", 3, "a", 4, 20.0)
    >>> case = ScalableCase(World(), "topic://t/n/x", Layout({}), AutoScaleSettings(), one_bucket=(shared,))
    >>> [(finding.where.consumer, finding.number("consumers")) for finding in check(case)]
    [('a', 4)]
    """
    for one in case.one_bucket:
        what = (
            f"of {one.consumers:,} consumers that share segment {one.segment_id} only {one.consumer} gets messages"
            f" ({one.msgs_per_sec:,.1f}/s): it has bucket 0, where all messages without a key go"
        )
        numbers = (("segment", one.segment_id), ("consumers", one.consumers), ("msgs_per_sec", one.msgs_per_sec))
        yield Finding(ID, Severity.WARNING, what, case.where(one.subscription, one.consumer), numbers, _ADVICE)


RULE: Final = Rule(
    ID, "of consumers that share a segment one gets every message", Severity.WARNING, "EntryBucketBatchContainer", check
)
