"""What a producer is configured with: its client, its name, its access mode, lazy start, queues and routing.

Source: ``ProducerBuilderImpl`` and ``ProducerConfigurationData`` of the Java client, ``PartitionedProducerImpl``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from engine.errors import Rejection
from engine.hashing import murmur3_32
from engine.routing.clients import ROUTING_CLIENTS, RoutingClient, key_routing

if TYPE_CHECKING:
    from engine.routing.routers import Router

AccessMode = Literal["Shared", "Exclusive", "ExclusiveWithFencing", "WaitForExclusive"]
RouterKind = Literal["SinglePartition", "RoundRobinPartition", "PartialRoundRobin"]

ACCESS_MODES: Final[tuple[AccessMode, ...]] = ("Shared", "Exclusive", "ExclusiveWithFencing", "WaitForExclusive")
ROUTER_KINDS: Final[tuple[RouterKind, ...]] = ("SinglePartition", "RoundRobinPartition", "PartialRoundRobin")

DEFAULT_MSG_SIZE_BYTES: Final = 100
"""The size of a message where the caller names none."""


class Client(Struct, frozen=True):
    """A client library, in what differs between them here.

    ``common_producer_name``: all partitions of a producer get one name (#12401); else a producer without a name of its
    own has another generated name in each partition. ``supports_partial_producer`` is the feature flag the connection
    sends. ``word`` is that of its family, which has its hashes; ``batching`` is the default.
    """

    word: str
    common_producer_name: bool
    supports_partial_producer: bool
    batching: bool

    @property
    def family(self) -> RoutingClient:
        return ROUTING_CLIENTS[self.word]

    @property
    def name(self) -> str:
        return self.family.name


JAVA: Final = Client("java", True, True, batching=True)
PYTHON: Final = Client("python", False, False, batching=False)
CPP: Final = Client("cpp", False, False, batching=True)

CLIENTS: Final = {client.word: client for client in (JAVA, PYTHON, CPP)}
"""Those whose producers are modelled; of the other families only the hashes are."""


class Routing(Struct, frozen=True):
    """How a producer routes; ``new_router`` makes its router.

    ``num_partitions_limit`` is of ``PartialRoundRobin`` only. None for another member is the client's default.
    ``publish_delay_ms`` is how long a batch waits for more messages (``batchingMaxPublishDelay``). While batching,
    round robin of the Java client moves on after ``switch_frequency`` such delays
    (``roundRobinRouterBatchingPartitionSwitchFrequency``).
    """

    kind: RouterKind = "RoundRobinPartition"
    num_partitions_limit: int = 0
    hashing: str | None = None
    batching: bool | None = None
    publish_delay_ms: int | None = None
    switch_frequency: int | None = None


class ProducerSettings(Struct, frozen=True):
    """The settings of a partitioned producer with the defaults of the Java client, whatever the client.

    A limit of 0 for pending messages means no limit.
    """

    producer_name: str | None = None
    client: Client = JAVA
    access_mode: AccessMode = "Shared"
    lazy_start_partitioned_producers: bool = False
    max_pending_messages: int = 0
    max_pending_messages_across_partitions: int = 0
    auto_update_partitions: bool = True
    auto_update_partitions_interval_seconds: int = 60

    @property
    def starts_lazily(self) -> bool:
        """Lazy start needs access mode Shared: with any other, all partitions are started.

        >>> [ProducerSettings(access_mode=mode, lazy_start_partitioned_producers=True).starts_lazily
        ...  for mode in ACCESS_MODES]
        [True, False, False, False]
        """
        return self.lazy_start_partitioned_producers and self.access_mode == "Shared"


def checked_settings(settings: ProducerSettings) -> ProducerSettings | Rejection:
    """The settings, or what the client's builder refuses about them."""

    def refused(field: str, message: str) -> Rejection:
        return Rejection("IllegalArgumentException", message, field=field)

    if settings.producer_name is not None and not settings.producer_name.strip():
        return refused("producerName", "producerName cannot be blank")
    if settings.access_mode not in ACCESS_MODES:
        return refused("accessMode", f"{settings.access_mode!r} is none of {', '.join(ACCESS_MODES)}")
    if settings.max_pending_messages < 0:
        return refused("maxPendingMessages", "maxPendingMessages needs to be >= 0")
    if settings.max_pending_messages_across_partitions < 0:
        return refused("maxPendingMessagesAcrossPartitions", "maxPendingMessagesAcrossPartitions needs to be >= 0")
    if settings.auto_update_partitions_interval_seconds < 1:
        return refused("autoUpdatePartitionsIntervalSeconds", "interval needs to be > 0")
    return settings


def queue_limit(settings: ProducerSettings, partitions: int) -> int:
    """How many messages may wait in the queue of one partition; 0 means no limit.

    It is computed once, at creation, from all partitions, however few of them a lazy producer ever starts. Where
    ``maxPendingMessagesAcrossPartitions`` is smaller than the number of partitions the quotient is 0, and the limit is
    gone instead of tight: an oddity of Pulsar's.

    >>> def limit(most: int, across: int, partitions: int) -> int:
    ...     return queue_limit(ProducerSettings(None, JAVA, "Shared", False, most, across), partitions)
    >>> limit(10, 0, 1), limit(0, 5, 1), limit(10, 10, 2), limit(10, 5, 6)
    (10, 5, 5, 0)
    """
    most, across = settings.max_pending_messages, settings.max_pending_messages_across_partitions
    if across == 0:
        return most
    share = across // partitions
    return min(share, most) if most else share


def new_router(routing: Routing, client: Client, partitions: int, seed: str, now_ms: int = 0) -> Router | Rejection:
    """The router of a new producer on ``partitions`` partitions (at least 1).

    What a client draws at random is drawn from the seed: equal seeds, equal routers.

    >>> new_router(Routing("SinglePartition"), JAVA, 1, "any")
    SinglePartitionRouter(index=0, keys=KeyRouting(client='java', hashing='JavaStringHash'))
    """
    from engine.routing import routers

    keys = key_routing(client.word, routing.hashing)
    if isinstance(keys, Rejection):
        return replace(keys, field="hashingScheme")
    delay_ms, frequency = routing.publish_delay_ms, routing.switch_frequency
    if delay_ms is not None and delay_ms < 1:
        message = "configured value for batch delay must be at least 1ms"
        return Rejection("IllegalArgumentException", message, field="batchingMaxPublishDelay")
    if frequency is not None and (frequency < 1 or client != JAVA):
        known = "configured value for partition switch frequency must be >= 1"
        message = known if client == JAVA else f"the {client.name} client has no partition switch frequency"
        return Rejection("IllegalArgumentException", message, field="batchingPartitionSwitchFrequencyByPublishDelay")
    drawn = murmur3_32(f"{seed}/router") % partitions
    batching = client.batching if routing.batching is None else routing.batching
    if routing.kind == "SinglePartition":
        return routers.SinglePartitionRouter(drawn, keys)
    if routing.kind == "PartialRoundRobin":
        if not client.supports_partial_producer:
            message = f"the {client.name} client has no partial round robin; it is a router of the Java client"
            return Rejection("IllegalArgumentException", message, field="messageRouter")
        return routers.partial_round_robin(routing.num_partitions_limit, murmur3_32(f"{seed}/partial"))
    if routing.kind != "RoundRobinPartition":
        message = f"{routing.kind!r} is none of {', '.join(ROUTER_KINDS)}"
        return Rejection("IllegalArgumentException", message, field="messageRoutingMode")
    if batching and client != JAVA:
        return routers.BatchRoundRobinRouter(
            drawn, now_ms, max_delay_ms=delay_ms or routers.MAX_BATCH_DELAY_MS, keys=keys
        )
    delay_us = routers.DEFAULT_MAX_PUBLISH_DELAY_US if delay_ms is None else delay_ms * 1000
    switch_ms = routers.switch_period_ms(frequency or routers.DEFAULT_SWITCH_FREQUENCY, delay_us)
    return routers.round_robin(drawn, batching=batching, switch_ms=switch_ms, keys=keys)


def checked_limit(limit: int, partitions: int, *, allow_above: bool = False) -> int | Rejection:
    """A ``numPartitionsLimit`` for this number of partitions.

    Below 1 Pulsar refuses it. Above the partitions Pulsar takes all of them and goes on to take in those that are
    added later; unless that is meant (``allow_above``), it is refused here, since it saves nothing.

    >>> checked_limit(3, 6), str(checked_limit(9, 6)).split(":")[0], checked_limit(9, 6, allow_above=True)
    (3, 'numPartitionsLimit', 9)
    """
    from engine.routing.routers import partial_round_robin

    if limit < 1:
        router = partial_round_robin(limit)
        assert isinstance(router, Rejection)
        return router
    if limit > partitions and not allow_above:
        message = (
            f"a limit of {limit} is above the {partitions} partitions of the topic: it would use all of them, and"
            f" partitions added later up to the {limit}th; give 1 to {partitions}, or say that this is meant"
        )
        return Rejection("LimitAbovePartitions", message, field="numPartitionsLimit")
    return limit
