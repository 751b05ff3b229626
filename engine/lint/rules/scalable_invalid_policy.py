"""A policy of automatic scaling that contradicts itself: Pulsar then treats it as switched off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, Rule, ScalableCase, Severity
from engine.scalable.settings import refuse_settings

ID: Final = "scalable-invalid-policy"
_ADVICE: Final = "change the policy of the topic or of its namespace; pulsar-admin checks only the one that is set last"


def check(case: ScalableCase) -> Iterator[Finding]:
    """The first contradiction in Pulsar's order, if there is one.

    >>> from engine.lint.model import World
    >>> from engine.scalable.model import Layout
    >>> from engine.scalable.settings import AutoScaleSettings
    >>> case = ScalableCase(World(), "topic://t/n/x", Layout({}), AutoScaleSettings(minSegments=9, maxSegments=8))
    >>> [finding.rule for finding in check(case)]
    ['scalable-invalid-policy']
    """
    refused = refuse_settings(case.settings)
    if refused is not None:
        what = f"no segment is split, merged or rebucketed automatically: {refused.message}"
        yield Finding(ID, Severity.ERROR, what, case.where(), (), _ADVICE)


RULE: Final = Rule(ID, "the policy of automatic scaling contradicts itself", Severity.ERROR, "AutoScaleConfig", check)
