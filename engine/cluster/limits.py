"""Limits of the model, so that a typing error does not fill the memory. Pulsar's own limits are wider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.hashing import utf8

NAME_LIMIT_BYTES: Final = 65_536
"""UTF-8 bytes of a consumer name, a topic name, or the value of a setting."""

MAX_PARTITIONS: Final = 100_000
"""Partitions of one topic; a broker without ``maxNumPartitionsPerPartitionedTopic`` has no limit."""

MAX_WITHOUT_STATISTICS: Final = 200_000
"""Partitions of all topics without statistics: a single number in a file can create any number of them."""

MAX_CONSUMERS: Final = 100_000
"""Consumers of one subscription, whatever ``maxConsumersPerSubscription`` allows."""

MAX_STEPS: Final = 100_000
"""Steps of one timeline, all branches together."""

INT_32: Final = range(-(2**31), 2**31)
"""Numbers that the wire protocol can carry as a priority level."""

MAX_KEY_MESSAGES: Final = 10**12
"""Past messages of one known key: the sum over millions of keys still fits into 64 bits."""

IDS: Final = range(2**31 - 1)
"""The highest consumer id: columns hold signed 32-bit numbers."""

INT_64: Final = range(-(2**63), 2**63)
"""Numbers that a JSON body can carry as a split position (Java ``long``)."""

MAX_POSITIONS: Final = 10_000
"""Positions of one split request."""

MAX_PRODUCERS: Final = 10_000
"""Partitioned producers of one topic."""

MAX_PRODUCER_CELLS: Final = 2_000_000
"""Producers times partitions of one topic: the matrix of who has opened what."""

MAX_PRODUCER_OBJECTS: Final = 200_000
"""Producer objects on brokers, of one topic."""

MAX_PRODUCER_MESSAGES: Final = 10_000
"""Messages that producers send in one step."""


MAX_MSGS_PER_SEC: Final = 1e9
"""Messages a second of one producer."""

MAX_RATE_KEYS: Final = 10_000
"""Keys of the messages that one producer sends at a rate."""


def without_statistics(state: ClusterState) -> int:
    """How many partitions have no statistics. O(topics)."""
    return int(state.topics.partitions.sum()) - len(state.loads)


def count_faults(partitions: Mapping[str, int], reported: int) -> list[str]:
    """Why topics with these partitions, ``reported`` of which have statistics, exceed the model. O(topics)."""
    faults = [
        f"topic {name!r} has {count} partitions: 0 to {MAX_PARTITIONS} are modelled"
        for name, count in partitions.items()
        if not 0 <= count <= MAX_PARTITIONS
    ]
    bare = sum(max(count, 1) for count in partitions.values()) - reported
    if not faults and bare > MAX_WITHOUT_STATISTICS + len(partitions):
        faults.append(f"{bare} partitions have no statistics: up to {MAX_WITHOUT_STATISTICS} are modelled")
    return faults


def refuse_partitions(state: ClusterState, more: int, partitions: int) -> Rejection | None:
    """Why a topic cannot have ``partitions``, ``more`` than now. Pulsar's own limits are wider."""
    if partitions > MAX_PARTITIONS:
        return _refuse(f"{partitions} partitions: up to {MAX_PARTITIONS} of one topic are modelled here")
    bare = without_statistics(state) + more
    if more > 0 and bare > MAX_WITHOUT_STATISTICS:
        return _refuse(
            f"{bare} partitions would have no statistics: up to {MAX_WITHOUT_STATISTICS} in all are modelled here"
        )
    return None


def _refuse(message: str) -> Rejection:
    return Rejection("TooManyPartitions", message, "partitions", 406)


def refuse_long_name(name: str, field: str) -> Rejection | None:
    """None for a name of at most ``NAME_LIMIT_BYTES``; any characters are allowed, halves of surrogate pairs too."""
    # A character has one to four bytes, so a text that is far too long need not be encoded.
    size = len(name) if len(name) > NAME_LIMIT_BYTES else len(utf8(name))
    if size <= NAME_LIMIT_BYTES:
        return None
    return Rejection(
        "IllegalArgumentException",
        f"{short(name)} has more than {NAME_LIMIT_BYTES} bytes in UTF-8, the limit here; choose a shorter one",
        field,
    )


def short(text: str) -> str:
    """A text for a message, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
