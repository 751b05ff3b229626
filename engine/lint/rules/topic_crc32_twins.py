"""Topics of one namespace with one CRC-32 (bug pattern B07): no split of bundles ever parts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.bundles.algorithms import flow_limits
from engine.lint.model import Finding, NamespaceCase, Rule, Severity
from engine.lint.topics import traffic_of, twins_of
from engine.text import listed

ID: Final = "topic-crc32-twins"
_ADVICE: Final = "rename one of them if they must not stay together; a partition is hashed by its own name"


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each hash that several topics have; a warning when together they are above a limit of a bundle.

    O(t) for t topics. Among 100,000 topics one pair is to be expected by chance.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.lint.model import World
    >>> three = tuple(TopicLoad(f"persistent://t/n/{name}", at) for name, at in (("a", 7), ("b", 7), ("c", 8)))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 0xFFFFFFFF)), three)
    >>> [finding.number("topics") for finding in check(case)]
    [2]
    """
    limits = flow_limits(case.world.settings)
    for position, twins in twins_of(case.topics):
        names = sorted(topic.name for topic in twins)
        traffic = traffic_of(twins)
        rate, throughput = traffic.msgs_per_sec, traffic.bytes_per_sec
        # A limit of 0 or less is exceeded by everything, and so says nothing.
        above = 0 < limits.max_msgs_per_sec < rate or 0 < limits.max_bytes_per_sec < throughput
        effect = f"; together {rate:,.0f} messages/s, more than a bundle may carry" if above else ""
        what = (
            f"{len(twins)} topics have the CRC-32 {position:#010x} and stay in one bundle for ever: {listed(names)};"
            f" flow_or_qps_equally_divide counts one of them for all{effect}"
        )
        numbers = (("topics", len(twins)), ("msgs_per_sec", rate), ("bytes_per_sec", throughput))
        severity = Severity.WARNING if above else Severity.INFO
        yield Finding(ID, severity, what, case.where(case.bundle_text(position), names[0]), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "topics of one namespace have one CRC-32",
    Severity.WARNING,
    "FlowOrQpsEquallyDivideBundleSplitAlgorithm",
    check,
)
