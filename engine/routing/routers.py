"""The routers of a producer on a partitioned topic, as values: a call gives the next state and the partition.

Sources: ``SinglePartitionMessageRouterImpl``, ``RoundRobinPartitionMessageRouterImpl`` and, for round robin over part
of the partitions, ``PartialRoundRobinMessageRouterImpl`` (PIP-79) of the Java client; ``RoundRobinMessageRouter`` of
the C++ client, on which the Python client is built and which moves on batch by batch. What a client draws at random
when a producer is created (an index, a start) is given by the caller.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engine.errors import Rejection
from engine.hashing import murmur3_32, sign_safe_mod
from engine.routing.clients import CPP_DEFAULT, JAVA_DEFAULT, KeyRouting, Message, partition_of

_LARGEST: Final = 2**31 - 1


def next_turn(counter: int) -> int:
    """The counter after one more message; past 2147483647 it goes on at -2147483648.

    At the wrap the sequence of partitions jumps, unless their number divides 2**32.

    >>> next_turn(6), next_turn(2**31 - 1)
    (7, -2147483648)
    """
    return counter + 1 if counter < _LARGEST else -_LARGEST - 1


MAX_BATCH_MSGS: Final = 1000
"""``batchingMaxMessages`` of the C++ client by default."""

MAX_BATCH_BYTES: Final = 128 * 1024
"""``batchingMaxAllowedSizeInBytes`` of the C++ client by default."""

MAX_BATCH_DELAY_MS: Final = 10
"""``batchingMaxPublishDelayMs`` of the C++ client by default."""

_UNSIGNED_32: Final = 2**32


class BatchRoundRobinRouter(Struct, frozen=True):
    """Messages without a key stay at one partition until a batch is full, by number, by bytes or by time.

    ``cursor`` is drawn at creation. ``msgs`` and ``size_bytes`` count what went to the current partition since
    ``last_change_ms``, at first the moment of creation.
    """

    cursor: int
    last_change_ms: int = 0
    max_msgs: int = MAX_BATCH_MSGS
    max_bytes: int = MAX_BATCH_BYTES
    max_delay_ms: int = MAX_BATCH_DELAY_MS
    keys: KeyRouting = CPP_DEFAULT
    msgs: int = 0
    size_bytes: int = 0

    def is_full(self, msg_size_bytes: int, now_ms: int) -> bool:
        """Whether the next message of this size starts a new batch, and so the next partition.

        The room left is an unsigned number: after one message above ``max_bytes`` it is huge, and the bytes count no
        more until the number or the time moves the router on.

        >>> router = BatchRoundRobinRouter(0, max_msgs=9, max_bytes=100)
        >>> [replace(router, size_bytes=size).is_full(40, 0) for size in (0, 60, 101)]
        [False, True, False]
        """
        room_bytes = (self.max_bytes - self.size_bytes) % _UNSIGNED_32
        late = now_ms - self.last_change_ms >= self.max_delay_ms
        return self.msgs >= self.max_msgs or msg_size_bytes >= room_bytes or late

    def turn(self, partitions: int, msg_size_bytes: int, now_ms: int) -> tuple[BatchRoundRobinRouter, int]:
        """The router after one message without a key, and that message's partition.

        With one partition nothing is counted.

        >>> router = BatchRoundRobinRouter(4, max_msgs=2)
        >>> router, first = router.turn(6, 1, now_ms=0)
        >>> router, second = router.turn(6, 1, now_ms=0)
        >>> first, second, router.turn(6, 1, now_ms=0)[1], router.turn(6, 1, now_ms=10)[1]
        (4, 4, 5, 5)
        """
        if partitions == 1:
            return self, 0
        if self.is_full(msg_size_bytes, now_ms):
            after = replace(
                self, cursor=next_turn(self.cursor), last_change_ms=now_ms, msgs=1, size_bytes=msg_size_bytes
            )
        else:
            after = replace(self, msgs=self.msgs + 1, size_bytes=self.size_bytes + msg_size_bytes)
        return after, sign_safe_mod(after.cursor, partitions)


class PartialRoundRobinRouter(Struct, frozen=True):
    """Goes round over at most ``limit`` partitions, and **ignores keys**: one key is met in several partitions.

    ``chosen`` is the list it goes round, empty before the first message; it only grows, at its end. ``counter`` is a
    signed 32-bit number. Java draws the partitions at random; here ``seed`` and the place in the list decide. The
    state belongs to the router object: producers that share one share list and counter.
    """

    limit: int
    seed: int = 0
    chosen: tuple[int, ...] = ()
    counter: int = 0

    def extended(self, partitions: int) -> PartialRoundRobinRouter:
        """The router with as many chosen partitions as it may have, ``min(limit, partitions)``; none leaves the list.

        So a router that first saw few partitions is filled up when some are added. It costs something only when
        one is missing.

        >>> router = PartialRoundRobinRouter(limit=3, seed=1)
        >>> sorted(router.extended(2).chosen), len(router.extended(2).extended(9).chosen)
        ([0, 1], 3)
        """
        missing = min(self.limit, partitions) - len(self.chosen)
        if missing <= 0:
            return self
        taken = frozenset(self.chosen)
        free = [partition for partition in range(partitions) if partition not in taken]
        places = range(len(self.chosen), len(self.chosen) + missing)
        drawn = [free.pop(murmur3_32(f"{self.seed}/{place}") % len(free)) for place in places]
        return replace(self, chosen=(*self.chosen, *drawn))

    def turn(self) -> tuple[PartialRoundRobinRouter, int]:
        """The router after one more message, and that message's partition; the list must not be empty.

        >>> PartialRoundRobinRouter(limit=2, chosen=(4, 1), counter=-1).turn()[1]
        1
        """
        partition = self.chosen[sign_safe_mod(self.counter, len(self.chosen))]
        return replace(self, counter=next_turn(self.counter)), partition


def partial_round_robin(limit: int, seed: int = 0) -> PartialRoundRobinRouter | Rejection:
    """A new router over at most ``limit`` partitions; a limit below 1 is refused with Pulsar's words."""
    if limit < 1:
        message = "numPartitionsLimit should be greater than or equal to 1"
        return Rejection("IllegalArgumentException", message, field="numPartitionsLimit")
    return PartialRoundRobinRouter(limit, seed)


DEFAULT_SWITCH_FREQUENCY: Final = 10
"""``batchingPartitionSwitchFrequencyByPublishDelay``: publish delays after which round robin moves on."""

DEFAULT_MAX_PUBLISH_DELAY_US: Final = 1000
"""``batchingMaxPublishDelay``: microseconds a batch waits for more messages."""


def switch_period_ms(
    switch_frequency: int = DEFAULT_SWITCH_FREQUENCY, max_publish_delay_us: int = DEFAULT_MAX_PUBLISH_DELAY_US
) -> int:
    """Milliseconds that round robin stays at one partition while batching: the product, cut to whole milliseconds.

    >>> switch_period_ms(), switch_period_ms(1, 999)
    (10, 0)
    """
    return switch_frequency * max_publish_delay_us // 1000


class SinglePartitionRouter(Struct, frozen=True):
    """``SinglePartition``: every message without a key goes to one partition, ``index``, drawn at creation.

    The index stays when partitions are added.
    """

    index: int
    keys: KeyRouting = JAVA_DEFAULT


class RoundRobinRouter(Struct, frozen=True):
    """``RoundRobinPartition``: messages without a key go round, by the clock while batching, else one by one.

    ``start`` and ``counter`` are signed 32-bit numbers; a new router's counter is its start (``round_robin`` makes
    one). ``switch_ms`` is the time at one partition; a value below 1 counts as 1.
    """

    start: int
    counter: int
    batching: bool = True
    switch_ms: int = 10
    keys: KeyRouting = JAVA_DEFAULT


def round_robin(
    start: int, *, batching: bool = True, switch_ms: int = 10, keys: KeyRouting = JAVA_DEFAULT
) -> RoundRobinRouter:
    """A new round-robin router that begins at ``start``."""
    return RoundRobinRouter(start, start, batching, switch_ms, keys)


Router = SinglePartitionRouter | RoundRobinRouter | PartialRoundRobinRouter | BatchRoundRobinRouter


def route(router: Router, message: Message, partitions: int, now_ms: int) -> tuple[Router, int]:
    """The router after one message, and the partition of the message; constant time.

    ``partitions`` is the count the client knows now, at least 1: a grown count takes effect with the next message.
    ``now_ms`` is the producer's clock, read by round robin with batching only. The index of a ``SinglePartitionRouter``
    is returned as it is, even if there is no such partition.

    >>> state: Router = round_robin(0, batching=False)
    >>> state, first = route(state, Message(), 2, now_ms=0)
    >>> state, second = route(state, Message(), 2, now_ms=0)
    >>> first, second, state.counter
    (0, 1, 2)
    """
    assert partitions > 0, f"a partitioned topic has partitions, not {partitions}"
    if isinstance(router, PartialRoundRobinRouter):
        return router.extended(partitions).turn()
    if message.key is not None:
        partition = partition_of(message.key, router.keys, partitions)
        if partition is not None:
            return router, partition
    if isinstance(router, SinglePartitionRouter):
        return router, router.index
    if isinstance(router, BatchRoundRobinRouter):
        return router.turn(partitions, message.size_bytes, now_ms)
    if router.batching:
        return router, sign_safe_mod(period_of(now_ms, router.switch_ms) + router.start, partitions)
    if partitions == 1 and router.keys.client != JAVA_DEFAULT.client:
        return router, 0  # as with batching: RoundRobinMessageRouter of the C++ client returns before it counts
    return replace(router, counter=next_turn(router.counter)), sign_safe_mod(router.counter, partitions)


def period_of(now_ms: int, switch_ms: int) -> int:
    """The period of the clock that a moment is in, by Java's integer division, which rounds toward zero.

    >>> period_of(123459, 10), period_of(123460, 10), period_of(-9, 10), period_of(7, 0)
    (12345, 12346, 0, 7)
    """
    whole = abs(now_ms) // max(1, switch_ms)
    return whole if now_ms >= 0 else -whole


def checked_partition(partition: int, partitions: int) -> int | Rejection:
    """The answer of a custom router (not modelled itself), refused where it is not one of 0 .. ``partitions`` - 1.

    >>> checked_partition(5, 6), str(checked_partition(6, 6))
    (5, 'Illegal partition index chosen by the message routing policy: 6')
    """
    if 0 <= partition < partitions:
        return partition
    message = f"Illegal partition index chosen by the message routing policy: {partition}"
    return Rejection("IllegalArgumentException", message)
