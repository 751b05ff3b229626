"""Partitions that have as many producers as they take: another one is refused, and so is one that comes back early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, NamespaceCase, Rule, Severity
from engine.text import counted

ID: Final = "producers-full"
_ADVICE: Final = (
    "raise maxProducersPerTopic where it is set, close producers that are not needed, or let producers open only some"
    " partitions (lazy start with partial round robin) and add partitions"
)


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each topic with full partitions. O(topics with reported producers).

    Brokers count at every partition by itself, without replicators, as statistics do. A producer whose connection broke
    counts until the broker has noticed.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.lint.model import ProducedTopic, World
    >>> from engine.producer_limit import ProducerLimit
    >>> full = ProducedTopic("persistent://t/n/x", 3, frozenset(), (4, 5, 1), ProducerLimit(4, "namespace policy"))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 2**32 - 1)), (), produced=(full,))
    >>> [finding.number("full_partitions") for finding in check(case)]
    [2]
    """
    for topic in case.produced:
        most = topic.limit.most
        full = [producers for producers in topic.producers if 0 < most <= producers]
        if not full:
            continue
        of = f"{len(full):,} of {counted(topic.partitions, 'partition')} has" if len(full) == 1 else ""
        of = of or f"{len(full):,} of {topic.partitions:,} partitions have"
        what = (
            f"{of if topic.partitions else 'it has'} as many producers as maxProducersPerTopic allows ({most:,},"
            f" {topic.limit.source}), {max(full):,} at most: another producer is refused, and so is one that reconnects"
            " before the broker has noticed that it was gone"
        )
        numbers = (
            ("full_partitions", len(full)),
            ("partitions", topic.partitions),
            ("producers", max(full)),
            ("max_producers", most),
        )
        yield Finding(ID, Severity.WARNING, what, case.where("", topic.topic), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "partitions have as many producers as maxProducersPerTopic allows",
    Severity.WARNING,
    "PIP-79",
    check,
)
