"""``maxProducersPerTopic``: whose value counts, and which producers and topics it counts for.

Source: ``PolicyHierarchyValue``, ``AbstractTopic`` (``isProducersExceeded``, ``normalizeValue``), ``BrokerService``
(``isSystemTopic``) and ``ServerCnx`` (``handleProducer``) of 5.0.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from engine.names import PARTITION_SUFFIX, namespace_of, partition_index

LimitSource = Literal["topic policy", "namespace policy", "broker"]

_REPLICATOR: Final = "pulsar.repl."
"""``replicatorPrefix`` and a dot: brokers know replicators by their names alone."""
_SYSTEM_NAMESPACE: Final = "pulsar/system"
_OF_BROKERS: Final = re.compile(r"(?:pulsar|sla-monitor)/[^/]+:\d+")
"""Heartbeat and SLA namespaces of brokers."""
_SYSTEM_TOPICS: Final = frozenset(
    {
        "__change_events",
        "__transaction_buffer_snapshot",
        "__transaction_buffer_snapshot_indexes",
        "__transaction_buffer_snapshot_segments",
    }
)
_PENDING_ACKS: Final = "__transaction_pending_ack"


class ProducerLimit(Struct, frozen=True):
    """How many producers each partition takes at most; 0 means any number."""

    most: int
    source: LimitSource = "broker"


NO_LIMIT: Final = ProducerLimit(0)


def limit_in_force(of_topic: int | None, of_namespace: int | None, of_broker: int) -> ProducerLimit:
    """The limit of a topic: its own policy, else that of its namespace, else the broker's setting.

    A negative policy is none. A policy of 0 counts: it takes the limit away, whatever comes after it.

    >>> limit_in_force(0, 4, 9), limit_in_force(-1, 4, 9).most, limit_in_force(None, None, -3).most
    (ProducerLimit(most=0, source='topic policy'), 4, 0)
    """
    if of_topic is not None and of_topic >= 0:
        return ProducerLimit(of_topic, "topic policy")
    if of_namespace is not None and of_namespace >= 0:
        return ProducerLimit(of_namespace, "namespace policy")
    return ProducerLimit(max(0, of_broker))


def limit_of(topic: str, policies: Mapping[str, int], of_broker: int) -> ProducerLimit:
    """The limit of a topic by its name; ``policies`` are those of topics and of namespaces by theirs.

    >>> limit_of("persistent://t/n/x", {"t/n": 4}, 9), limit_of("persistent://pulsar/system/x", {}, 9).most
    (ProducerLimit(most=4, source='namespace policy'), 0)
    """
    if not is_limited(topic):
        return NO_LIMIT
    return limit_in_force(policies.get(topic), policies.get(namespace_of(topic)), of_broker)


def counts(producer_name: str) -> bool:
    """Whether a producer of this name counts against the limit, and is refused because of it: replicators are not."""
    return not producer_name.startswith(_REPLICATOR)


def is_limited(topic: str) -> bool:
    """Whether the limit holds for a topic or partition: it does not for system topics.

    >>> [is_limited(f"persistent://{name}") for name in ("t/n/x", "t/n/__change_events-partition-0", "pulsar/system/x")]
    [True, False, False]
    """
    namespace = namespace_of(topic)
    parent = topic.rpartition(PARTITION_SUFFIX)[0] if partition_index(topic) >= 0 else topic
    return not (
        namespace == _SYSTEM_NAMESPACE
        or _OF_BROKERS.fullmatch(namespace)
        or parent.rpartition("/")[2] in _SYSTEM_TOPICS
        or topic.endswith(_PENDING_ACKS)
    )
