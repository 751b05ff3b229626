"""``minSegments`` above the number of segments: it only stops merges, and nothing splits up to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity
from engine.text import counted

ID: Final = "scalable-min-segments"


def check(case: ScalableCase) -> Iterator[Finding]:
    """One finding where the topic has fewer active segments. O(segments).

    >>> from engine.lint.model import World
    >>> from engine.scalable.layout import first_layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> case = ScalableCase(World(), "topic://t/n/x", first_layout(2), AutoScaleSettings(minSegments=4))
    >>> [finding.number("segments") for finding in check(case)]
    [2]
    """
    segments, least = len(case.layout.active()), case.settings.minSegments
    if 0 < segments < least and case.settings.enabled:
        what = (
            f"minSegments is {least:,} and the topic has {counted(segments, 'segment')}: it keeps segments from being"
            " merged, and none is split to reach it"
        )
        advice = "split segments by hand, or create topics with that many"
        numbers = (("segments", segments), ("min_segments", least))
        yield Finding(ID, Severity.WARNING, what, case.where(), numbers, advice)


RULE: Final = Rule(
    ID, "minSegments is above the number of segments", Severity.WARNING, "AutoScalePolicyEvaluator", check
)
