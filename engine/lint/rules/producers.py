"""Rules about producers of one topic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, NamespaceCase, Rule, Severity
from engine.text import counted, listed

_FULL_ADVICE: Final = (
    "raise maxProducersPerTopic where it is set, close producers that are not needed, or let producers open only some"
    " partitions (lazy start with partial round robin) and add partitions"
)


def full(case: NamespaceCase) -> Iterator[Finding]:
    """Partitions that have as many producers as they take: another one is refused, and so is one that comes back early.

    One finding for each topic with full partitions. O(topics with reported producers).

    Brokers count at every partition by itself, without replicators, as statistics do. A producer whose connection broke
    counts until the broker has noticed.

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.lint.model import ProducedTopic, World
    >>> from engine.producer_limit import ProducerLimit
    >>> crowded = ProducedTopic("persistent://t/n/x", 3, frozenset(), (4, 5, 1), ProducerLimit(4, "namespace policy"))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 2**32 - 1)), (), produced=(crowded,))
    >>> [finding.number("full_partitions") for finding in full(case)]
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
        yield Finding(FULL.id, Severity.WARNING, what, case.where("", topic.topic), numbers, _FULL_ADVICE)


FULL: Final = Rule(
    "producers-full",
    "partitions have as many producers as maxProducersPerTopic allows",
    Severity.WARNING,
    "PIP-79",
    full,
)


_JAVA: Final = re.compile(r"Pulsar-Java-v|\d+\.\d+\.\d+")
_CPP: Final = re.compile(r"Pulsar-CPP-v")
_MIXED_KEY_ROUTING_ADVICE: Final = (
    "if messages have keys, set one hashing scheme in all of them (JavaStringHash or Murmur3_32Hash; the C++ and Python"
    " clients default to BoostHash)"
)


def mixed_key_routing(case: NamespaceCase) -> Iterator[Finding]:
    """Producers whose clients send one key to different partitions: Java beside C++ or Python (bug pattern R01).

    One finding for each partitioned topic with producers of both kinds: the part of all keys that goes apart.

    Java hashes a key with JavaStringHash, C++ (Python is built on it) with BoostHash, unless configured otherwise;
    brokers do not report how a producer is configured, nor whether messages have keys. Of n partitions a key finds the
    same one in both by chance only, 1 time in n. O(topics with reported producers).

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.lint.model import ProducedTopic
    >>> from engine.lint.model import World
    >>> both = ProducedTopic("persistent://t/n/x", 4, frozenset({"Pulsar-Java-v4.0.7", "Pulsar-CPP-v3.7.0"}))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 2**32 - 1)), (), produced=(both,))
    >>> [finding.number("keys_apart_share") for finding in mixed_key_routing(case)]
    [0.75]
    """
    for topic in case.produced:
        java = sorted(client_version for client_version in topic.client_versions if _JAVA.match(client_version))
        cpp = sorted(client_version for client_version in topic.client_versions if _CPP.match(client_version))
        if topic.partitions < 2 or not java or not cpp:
            continue
        apart = 1 - 1 / topic.partitions
        what = (
            f"{listed(java)} and {listed(cpp)} produce here: by default they send one key to different partitions"
            f" ({apart:.0%} of the keys of {topic.partitions} partitions), and a key that is in two has no order"
        )
        numbers = (("partitions", topic.partitions), ("keys_apart_share", apart))
        yield Finding(
            MIXED_KEY_ROUTING.id,
            Severity.INFO,
            what,
            case.where("", topic.topic),
            numbers,
            _MIXED_KEY_ROUTING_ADVICE,
        )


MIXED_KEY_ROUTING: Final = Rule(
    "producers-mixed-key-routing",
    "clients that hash keys differently produce to one partitioned topic",
    Severity.INFO,
    "#1017, #1029",
    mixed_key_routing,
)
