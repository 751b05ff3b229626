"""A topic whose hash is 0xffffffff: the broker's look-up of its bundle fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange
from engine.bundles.loads import topics_in
from engine.lint.model import Finding, NamespaceCase, Rule, Severity

ID: Final = "topic-lookup-fails"
_LOST: Final = BundleRange(FULL_UPPER_BOUND, FULL_UPPER_BOUND)
"""The hashes for which ``pulsar_lookup_fails``: only the top, which is closed."""


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each such topic; one name in 2^32 is one. O(t) for t topics.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.bundles.loads import TopicLoad
    >>> from engine.lint.model import World
    >>> one = (TopicLoad("persistent://t/n/a", 0xFFFFFFFF), TopicLoad("persistent://t/n/b", 0xFFFFFFFE))
    >>> [finding.where.topic for finding in check(NamespaceCase(World(), NamespaceBundles("t/n", (0, 2**32 - 1)), one))]
    ['persistent://t/n/a']
    """
    for topic in topics_in(_LOST, case.topics):
        what = "its CRC-32 is 0xffffffff, and for this one hash the broker's look-up of the bundle fails"
        where = case.where(case.bundle_text(topic.hash), topic.name)
        yield Finding(ID, Severity.ERROR, what, where, (("hash", topic.hash),), "rename the topic")


RULE: Final = Rule(
    ID, "a topic's hash is the one the broker cannot look up", Severity.ERROR, "NamespaceBundles.findBundle", check
)
