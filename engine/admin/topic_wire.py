"""What statistics say of one topic, by Pulsar's names, and of all topics of a document in which nothing is wrong.

The latter is the bulk form of ``engine.admin.topics.decode_broker_stats_topics``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from engine.admin.facts import NOT_REPORTED, Count, Counter, NotReported, Rate, ReplicatorFacts, SubscriptionFacts
from engine.admin.text import WHOLE_CHECK_BYTES, without_nulls
from engine.bundles.boundaries import FULL_UPPER_BOUND, parse_range
from engine.errors import Rejection
from engine.names import (
    PARTITION_SUFFIX,
    parse_topic_name,
    partition_index,
    refuse_namespace,
    refuse_range,
    refuse_subscription,
)

# Nearly all names have this form; the full rules for the others take ten times as long.
_PLAIN_NAME: Final = re.compile(r"(persistent|non-persistent)://([-=:.A-Za-z0-9_]+/[-=:.A-Za-z0-9_]+)/[^/\s]+")
_SLASHES: Final = 4
"""Slashes in the full name of a topic."""
DOMAINS: Final = ("persistent", "non-persistent")


class NotListed(dict[str, SubscriptionFacts]):
    """No subscriptions in the place of those that an answer does not have."""

    __slots__ = ()


class TopicWire(msgspec.Struct):
    """The members of topic statistics that are read, by Pulsar's exact names; all are optional.

    ``without_nulls`` removes the nulls of older releases. msgspec refuses a number given as text, a negative rate or a
    number beyond a double, with its place.
    """

    msgRateIn: Rate | None = None
    msgRateOut: Rate | None = None
    msgThroughputIn: Rate | None = None
    msgThroughputOut: Rate | None = None
    storageSize: Count | None = None
    backlogSize: Count | None = None
    producerCount: Count | None = None
    publishers: tuple[msgspec.Raw, ...] = NOT_REPORTED
    subscriptions: dict[str, SubscriptionFacts] = field(default_factory=NotListed)
    msgInCounter: Counter | None = None
    msgOutCounter: Counter | None = None
    backlogQuotaLimitSize: Counter = -1
    waitingPublishers: Count = 0
    lastPublishTimeStamp: Counter = 0
    ongoingTxnCount: Count = 0
    replication: dict[str, ReplicatorFacts] = {}

    @property
    def producers(self) -> int | None:
        """How many producers are connected; None where the answer has neither their number nor a list."""
        if self.producerCount is not None:
            return self.producerCount
        return None if isinstance(self.publishers, NotReported) else len(self.publishers)


_TOPIC: Final = msgspec.json.Decoder(TopicWire)
_Wire = TypeVar("_Wire", bound=TopicWire)


class SoundTopics(Struct, Generic[_Wire], frozen=True, dict=True):
    """The topics of a document in which nothing is wrong, in columns; ``bundles``: the range each is listed under."""

    names: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    bundles: list[str] = field(default_factory=list)
    wires: list[_Wire] = field(default_factory=list)

    @property
    def partition_indices(self) -> list[int]:
        return [partition_index(name) if PARTITION_SUFFIX in name else -1 for name in self.names]

    def add(self, domain: str, namespace: str, bundle: str, topics: dict[str, _Wire]) -> bool:
        """Add one list of topics; return False, with nothing added, if one of them is in another place."""
        place = f"{domain}://{namespace}/"
        # All names begin like the first and the last of them by order.
        if not (min(topics).startswith(place) and max(topics).startswith(place)):
            return False
        self.names.extend(topics)
        self.domains.extend([domain] * len(topics))
        self.namespaces.extend([namespace] * len(topics))
        self.bundles.extend([bundle] * len(topics))
        self.wires.extend(topics.values())
        return True


def sound_topics(data: bytes, document: msgspec.json.Decoder[Any]) -> SoundTopics[Any] | None:
    """All topics of ``broker-stats/topics``, decoded at once; None where any part of it needs the careful reader.

    ``document`` decodes namespace -> bundle -> domain -> topic -> a ``TopicWire``. O(length); it pays off where the
    garbage collector is off and what is decoded goes into columns.
    """
    try:
        read = document.decode(data)
        if _may_repeat(data):
            return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    ranges = {bundle for bundles in read.values() for bundle in bundles}
    if any(map(refuse_namespace, read)) or any(refuse_range(text) or refuse_ends(text) for text in ranges):
        return None
    topics: SoundTopics[Any] = SoundTopics()
    for namespace, bundles in read.items():
        for bundle, domains in bundles.items():
            for domain in DOMAINS:
                if domains.get(domain) and not topics.add(domain, namespace, bundle, domains[domain]):
                    return None
    names, subscriptions = topics.names, [wire.subscriptions for wire in topics.wires]
    # A name that occurs twice, anywhere, could be a repeated member.
    if data.count(b"persistent://") != len(names) or len(set(names)) != len(names) or not _are_plain(names):
        return None
    if any(map(refuse_subscription, {name for below in subscriptions for name in below})):
        return None
    if any(unreadable_range(below.values()) is not None for below in subscriptions):
        return None
    return topics


def _are_plain(names: Sequence[str]) -> bool:
    """Whether all names, which begin as they should, are good to their end. Nearly all have no slash and no space."""
    together = "\n".join(names)
    if together.count("/") == _SLASHES * len(names) and together.split() == names:
        return not any(name.endswith("/") for name in names)
    return all(parsed_name(name)[1] for name in names)


def _may_repeat(data: bytes) -> bool:
    """Whether a member could occur twice in one object: decoding and encoding again would lose it."""
    return len(data) <= WHOLE_CHECK_BYTES and data.count(b'":') != msgspec.json.encode(msgspec.json.decode(data)).count(
        b'":'
    )


def parsed_name(topic: str) -> tuple[str, str, int]:
    """Return domain, namespace and partition index; for an invalid name its fault, "" and -1."""
    plain = _PLAIN_NAME.fullmatch(topic)
    if plain is not None:
        return plain[1], plain[2], partition_index(topic) if PARTITION_SUFFIX in topic else -1
    name = parse_topic_name(topic)
    if isinstance(name, Rejection):
        return name.message, "", -1
    return name.domain, name.namespace, name.partition_index


def decoded_wire(raw: bytes) -> TopicWire:
    try:
        return _TOPIC.decode(raw)
    except msgspec.ValidationError as fault:
        if "got `null`" not in str(fault):
            raise
    return _TOPIC.decode(msgspec.json.encode(without_nulls(msgspec.json.decode(raw))))


MISSING_SLOT: Final = "missing required field `hash`"
"""What msgspec says of a draining entry that does not name its slot."""


def without_slotless(raw: bytes) -> tuple[bytes, tuple[tuple[str, int, int], ...]]:
    """Statistics without the draining entries that do not name their slot, and the subscription, consumer and number
    of each of these."""
    topic = msgspec.json.decode(raw)
    places: list[tuple[str, int, int]] = []
    for name, subscription in _members(_member(topic, "subscriptions")):
        for number, consumer in enumerate(_items(_member(subscription, "consumers"))):
            entries = _items(_member(consumer, "drainingHashes"))
            lacking = {at for at, each in enumerate(entries) if isinstance(each, dict) and each.get("hash") is None}
            if lacking:
                places += [(name, number, at) for at in sorted(lacking)]
                consumer["drainingHashes"] = [entry for at, entry in enumerate(entries) if at not in lacking]
    return msgspec.json.encode(topic), tuple(places)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def refuse_ends(bundle: str) -> Rejection | None:
    """Refuse a range that no bundle can have: its ends ascend and are within the hash."""
    read = parse_range(bundle)
    if isinstance(read, Rejection):
        return read
    if read.upper > FULL_UPPER_BOUND:
        return Rejection("IllegalArgumentException", f"{bundle!r} ends above {FULL_UPPER_BOUND:#010x}", "bundle")
    return None


def unreadable_range(subscriptions: Iterable[SubscriptionFacts]) -> str | None:
    for subscription in subscriptions:
        if subscription.type == "Key_Shared":
            for consumer in subscription.consumers:
                if consumer.unreadable_range is not None:
                    return consumer.unreadable_range
    return None
