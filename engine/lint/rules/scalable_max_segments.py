"""More CHECKPOINT consumers than segments are allowed: they never share one, so some are idle for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity
from engine.text import counted

ID: Final = "scalable-max-segments"


def check(case: ScalableCase) -> Iterator[Finding]:
    """One finding for each CHECKPOINT subscription with more consumers than ``maxSegments``.

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> groups = {"a": ("CHECKPOINT", 5), "b": ("CHECKPOINT", 4), "c": ("STREAM", 9)}
    >>> case = ScalableCase(World(), "topic://t/n/x", Layout({}), AutoScaleSettings(maxSegments=4), groups)
    >>> [(finding.where.subscription, finding.number("idle")) for finding in check(case)]
    [('a', 1)]
    """
    most = case.settings.maxSegments
    for name, (kind, consumers) in case.subscriptions.items():
        if kind == "CHECKPOINT" and consumers > most:
            what = (
                f"{counted(consumers - most, 'consumer')} of {consumers:,} can never have a segment: CHECKPOINT"
                f" consumers do not share one, and maxSegments is {most:,}"
            )
            numbers = (("consumers", consumers), ("max_segments", most), ("idle", consumers - most))
            advice = f"set maxSegments to {consumers:,} or more, or take consumers away"
            yield Finding(ID, Severity.WARNING, what, case.where(name), numbers, advice)


RULE: Final = Rule(
    ID, "more CHECKPOINT consumers than segments are allowed", Severity.WARNING, "AutoScalePolicyEvaluator", check
)
