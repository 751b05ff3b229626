"""Limits so close to each other that the halves of a split are cold, and are merged again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity
from engine.scalable.settings import METRICS, refuse_settings
from engine.text import joined

ID: Final = "scalable-split-merges"


def check(case: ScalableCase) -> Iterator[Finding]:
    """One finding with all rates whose split limit is less than two merge limits. O(1).

    A segment a little above such a limit has halves that are both below the merge limit, if keys are even and no other
    rate is high.

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> close = AutoScaleSettings(splitMsgRateInThreshold=1500)
    >>> [finding.numbers for finding in check(ScalableCase(World(), "topic://t/n/x", Layout({}), close))]
    [(('msgRateIn_split', 1500), ('msgRateIn_merge', 1000.0))]
    """
    settings = case.settings
    if not settings.enabled or refuse_settings(settings) is not None:
        return
    limits = zip(METRICS, settings.split_limits(), settings.merge_limits(), strict=True)
    close = [(name, split, merge) for name, split, merge in limits if split < 2 * merge]
    if close:
        which = joined([f"{name} (split above {split:,.0f}, merge below {merge:,.0f})" for name, split, merge in close])
        what = f"one split by {which} makes two segments that are cold, and are merged after the window"
        numbers = tuple(
            pair for name, split, merge in close for pair in ((f"{name}_split", split), (f"{name}_merge", merge))
        )
        advice = "set the merge limit to a quarter of the split limit or less"
        yield Finding(ID, Severity.WARNING, what, case.where(), numbers, advice)


RULE: Final = Rule(
    ID, "a split makes segments that are merged again", Severity.WARNING, "AutoScalePolicyEvaluator", check
)
