"""One topic that alone is above a limit of a bundle (bug pattern B01): no split divides a topic."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from engine.bundles.algorithms import flow_limits
from engine.lint.model import Finding, NamespaceCase, Rule, Severity
from engine.lint.topics import above, traffic_of
from engine.text import counted

ID: Final = "bundle-hot-topic"
_ADVICE: Final = (
    "give the topic more partitions so that its traffic is in several bundles, or raise"
    " loadBalancerNamespaceBundleMaxMsgRate or ...MaxBandwidthMbytes above what one topic carries"
)


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each such topic; a warning while others are known to share its bundle, which is split in vain.

    O(t) for t topics, and O(t log b) once more when one is found. Rates are in plus out; limits are those of one
    bundle, the bandwidth in the 64 bits that were meant. ``share_of_bundle`` is that of messages where their limit is
    exceeded, else of bytes.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.lint.model import World
    >>> two = (TopicLoad("persistent://t/n/a", 5, msg_rate_in=30_001.0), TopicLoad("persistent://t/n/b", 6))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 0xFFFFFFFF)), two)
    >>> [(finding.where.topic, finding.number("share_of_bundle"), finding.severity.label) for finding in check(case)]
    [('persistent://t/n/a', 1.0, 'warning')]
    """
    limits = flow_limits(case.world.settings)
    # A limit of 0 or less is exceeded by everything, and so says nothing about a topic.
    most_msgs = limits.max_msgs_per_sec if limits.max_msgs_per_sec > 0 else inf
    most_bytes = limits.max_bytes_per_sec if limits.max_bytes_per_sec > 0 else inf
    hot = above(case.topics, most_msgs, most_bytes)
    if not hot:
        return
    by_bundle = {str(inside.bundle): traffic_of(inside.topics) for inside in case.by_bundle}
    for topic in hot:
        bundle = case.bundle_text(topic.hash)
        traffic = by_bundle.get(bundle) or traffic_of((topic,))
        # Of what it is above the limit with; it is more than 0, and so is the sum.
        if topic.msgs_per_sec > most_msgs:
            share = topic.msgs_per_sec / traffic.msgs_per_sec
        else:
            share = topic.bytes_per_sec / traffic.bytes_per_sec
        others = traffic.topics - 1
        if others:
            company = f"its bundle, with {counted(others, 'other topic')}, is due because of it however it is split"
        elif bundle:
            company = "it has its bundle to itself, and no split makes that smaller"
        else:
            company = "no answer names its bundle, and no split divides a topic"
        what = (
            f"one topic carries {topic.msgs_per_sec:,.0f} messages/s and {topic.bytes_per_sec:,.0f} bytes/s, more than"
            f" a bundle may ({limits.max_msgs_per_sec:,} and {limits.max_bytes_per_sec:,}): {company}"
        )
        numbers = (
            ("msgs_per_sec", topic.msgs_per_sec),
            ("max_msgs_per_sec", limits.max_msgs_per_sec),
            ("bytes_per_sec", topic.bytes_per_sec),
            ("max_bytes_per_sec", limits.max_bytes_per_sec),
            ("share_of_bundle", share),
            ("other_topics", others),
        )
        severity = Severity.WARNING if others else Severity.INFO
        yield Finding(ID, severity, what, case.where(bundle, topic.name), numbers, _ADVICE)


RULE: Final = Rule(ID, "one topic alone is above a limit of a bundle", Severity.WARNING, "#11937", check)
