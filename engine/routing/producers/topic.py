"""The brokers' side of a partitioned topic: which producers are connected to which partition, and who may join.

Source: ``ServerCnx`` of the broker (``handleProducer``: the limit is checked before everything else) and
``AbstractTopic`` (``addProducer``, ``incrementTopicEpochIfNeeded``, ``internalAddProducer``). Its queue of producers
that wait for exclusive access is not modelled: one that would have to wait is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from engine.errors import Rejection
from engine.producer_limit import NO_LIMIT, ProducerLimit, counts
from engine.routing.producers.settings import AccessMode


class BrokerProducer(Struct, frozen=True):
    """One producer object of a broker; ``owner`` is the number of the partitioned producer it belongs to."""

    owner: int
    producer_name: str
    access_mode: AccessMode = "Shared"


class PartitionedTopic(Struct, frozen=True):
    """A partitioned topic. ``connected`` has for each partition its producer objects in the order they came.

    ``failing`` maps a partition to the error that every attempt to connect to it gets. ``names_given`` counts the names
    that brokers generated, of the form ``standalone-0-7``; ``name_prefix`` is their first part. Brokers apply
    ``limit`` to every partition by itself.
    """

    connected: tuple[tuple[BrokerProducer, ...], ...]
    failing: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    names_given: int = 0
    name_prefix: str = "standalone-0"
    limit: ProducerLimit = NO_LIMIT

    @property
    def partitions(self) -> int:
        """The number of partitions, as the metadata has it."""
        return len(self.connected)

    def has(self, owner: int, partition: int) -> bool:
        """Whether this partitioned producer has an object at this partition."""
        return any(producer.owner == owner for producer in self.connected[partition])

    def is_full(self, partition: int) -> bool:
        """Whether this partition refuses another producer because of its limit. O(its producers)."""
        return 0 < self.limit.most <= sum(counts(there.producer_name) for there in self.connected[partition])


def partitioned_topic(partitions: int) -> PartitionedTopic | Rejection:
    """A new topic, nobody connected; ``partitions`` is at least 1."""
    if partitions < 1:
        message = f"a partitioned topic has at least 1 partition, not {partitions}"
        return Rejection("IllegalArgumentException", message, field="partitions")
    return PartitionedTopic(((),) * partitions)


def connect(
    topic: PartitionedTopic, partition: int, owner: int, name: str | None, access_mode: AccessMode
) -> tuple[PartitionedTopic, str | Rejection]:
    """The topic after an attempt to connect one producer, and its name or the broker's refusal; see ``connect_all``.

    >>> topic = PartitionedTopic(connected=((),))
    >>> topic, given = connect(topic, 0, 7, None, "Exclusive")
    >>> given, connect(topic, 0, 8, "late", "Shared")[1].message
    ('standalone-0-0', 'Topic has an existing exclusive producer: standalone-0-0')
    """
    topic, answers = connect_all(topic, (partition,), owner, name, access_mode)
    return topic, answers[partition]


def connect_all(
    topic: PartitionedTopic, partitions: Iterable[int], owner: int, name: str | None, access_mode: AccessMode
) -> tuple[PartitionedTopic, dict[int, str | Rejection]]:
    """Attempts to connect at several partitions, in order, each for itself: a name or the broker's refusal for each.

    Without a name the broker makes one, before anything can refuse, so that a failed attempt uses one up.
    ``ExclusiveWithFencing`` fences out every connected producer. Linear in the partitions and in the producers at those
    asked.
    """
    connected = list(topic.connected)
    names_given = topic.names_given
    answers: dict[int, str | Rejection] = {}
    for partition in partitions:
        mine = name
        if mine is None:
            mine = f"{topic.name_prefix}-{names_given}"
            names_given += 1
        refusal = _refusal(topic, partition, mine, access_mode)
        if refusal is None:
            there = () if access_mode == "ExclusiveWithFencing" else connected[partition]
            connected[partition] = (*there, BrokerProducer(owner, mine, access_mode))
        answers[partition] = refusal or mine
    return replace(topic, connected=tuple(connected), names_given=names_given), answers


def disconnect(topic: PartitionedTopic, owner: int, partitions: Iterable[int]) -> PartitionedTopic:
    """The topic without the objects of this producer at these partitions; those it has not are left alone."""
    left = {
        at: tuple(producer for producer in topic.connected[at] if producer.owner != owner)
        for at in partitions
        if at < topic.partitions
    }
    return _with_producers(topic, left)


def grown(topic: PartitionedTopic, partitions: int, *, error: str | None = None) -> PartitionedTopic | Rejection:
    """The topic with more partitions; their number can not be lowered.

    With ``error``, brokers do not serve the new partitions yet: they refuse producers there with it.
    """
    if partitions < topic.partitions:
        message = f"partitions cannot be taken away: the topic has {topic.partitions}, asked for {partitions}"
        return Rejection("NotSupportedException", message, field="partitions")
    added = range(topic.partitions, partitions)
    failing = {**topic.failing, **({} if error is None else dict.fromkeys(added, error))}
    return replace(topic, connected=(*topic.connected, *((),) * len(added)), failing=MappingProxyType(failing))


def failed(topic: PartitionedTopic, partition: int, error: str) -> PartitionedTopic | Rejection:
    """The topic after one partition went down: its objects are gone, and new ones are refused with this error."""
    if not 0 <= partition < topic.partitions:
        return unknown_partition(topic, partition)
    failing = MappingProxyType({**topic.failing, partition: error})
    return replace(_with_producers(topic, {partition: ()}), failing=failing)


def recovered(topic: PartitionedTopic, partition: int) -> PartitionedTopic | Rejection:
    """The topic after a partition is served again; nobody is connected to it by that alone."""
    if not 0 <= partition < topic.partitions:
        return unknown_partition(topic, partition)
    failing = {at: error for at, error in topic.failing.items() if at != partition}
    return replace(topic, failing=MappingProxyType(failing))


def unknown_partition(topic: PartitionedTopic, partition: int) -> Rejection:
    """What a request about a partition that does not exist is answered."""
    message = f"there is no partition {partition}: the topic has 0 to {topic.partitions - 1}"
    return Rejection("IllegalArgumentException", message, field="partition")


def _refusal(topic: PartitionedTopic, partition: int, name: str, access_mode: AccessMode) -> Rejection | None:
    if partition >= topic.partitions:
        return unknown_partition(topic, partition)
    if partition in topic.failing:
        return Rejection("ServiceNotReady", topic.failing[partition], field="partition")
    if counts(name) and topic.is_full(partition):
        return Rejection("ProducerBusy", "Topic reached max producers limit", field="maxProducersPerTopic")
    there = topic.connected[partition]
    if access_mode == "ExclusiveWithFencing" or not there:
        return None
    if access_mode == "WaitForExclusive":
        message = f"waits until {there[0].producer_name} and whoever else is connected to partition {partition} is gone"
        return Rejection("StillWaiting", message, field="accessMode")
    exclusive = there[0].access_mode != "Shared"
    if access_mode == "Exclusive":
        who = f"an existing exclusive producer: {there[0].producer_name}" if exclusive else "existing shared producers"
        return Rejection("ProducerFenced", f"Topic has {who}", field="accessMode")
    if exclusive:
        message = f"Topic has an existing exclusive producer: {there[0].producer_name}"
        return Rejection("ProducerBusy", message, field="accessMode")
    if any(producer.producer_name == name for producer in there):
        message = f"Producer with name '{name}' is already connected to topic"
        return Rejection("ProducerBusy", message, field="producerName")
    return None


def _with_producers(topic: PartitionedTopic, changed: Mapping[int, tuple[BrokerProducer, ...]]) -> PartitionedTopic:
    if not changed:
        return topic
    connected = list(topic.connected)
    for partition, there in changed.items():
        connected[partition] = there
    return replace(topic, connected=tuple(connected))
