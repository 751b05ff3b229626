"""Producers whose clients send one key to different partitions: Java beside C++ or Python (bug pattern R01)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from engine.lint.model import Finding, NamespaceCase, Rule, Severity
from engine.text import listed

ID: Final = "producers-mixed-key-routing"
_JAVA: Final = re.compile(r"Pulsar-Java-v|\d+\.\d+\.\d+")
_CPP: Final = re.compile(r"Pulsar-CPP-v")
_ADVICE: Final = (
    "if messages have keys, set one hashing scheme in all of them (JavaStringHash or Murmur3_32Hash; the C++ and Python"
    " clients default to BoostHash)"
)


def check(case: NamespaceCase) -> Iterator[Finding]:
    """One finding for each partitioned topic with producers of both kinds: the part of all keys that goes apart.

    Java hashes a key with JavaStringHash, C++ (Python is built on it) with BoostHash, unless configured otherwise;
    brokers do not report how a producer is configured, nor whether messages have keys. Of n partitions a key finds the
    same one in both by chance only, 1 time in n. O(topics with reported producers).

    >>> from engine.bundles.boundaries import NamespaceBundles
    >>> from engine.lint.model import ProducedTopic
    >>> from engine.lint.model import World
    >>> both = ProducedTopic("persistent://t/n/x", 4, frozenset({"Pulsar-Java-v4.0.7", "Pulsar-CPP-v3.7.0"}))
    >>> case = NamespaceCase(World(), NamespaceBundles("t/n", (0, 2**32 - 1)), (), produced=(both,))
    >>> [finding.number("keys_apart_share") for finding in check(case)]
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
        yield Finding(ID, Severity.INFO, what, case.where("", topic.topic), numbers, _ADVICE)


RULE: Final = Rule(
    ID,
    "clients that hash keys differently produce to one partitioned topic",
    Severity.INFO,
    "#1017, #1029",
    check,
)
