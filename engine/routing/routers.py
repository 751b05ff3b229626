"""The routers of a producer on a partitioned topic, as values: a call gives the next state and the partition.

Sources: ``SinglePartitionMessageRouterImpl``, ``RoundRobinPartitionMessageRouterImpl`` of the Java client. What that
client draws at random when a producer is created (an index, a start) is given by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from engine.hashing import sign_safe_mod
from engine.routing.batch_round_robin import BatchRoundRobinRouter
from engine.routing.keys import HashingScheme, Message, partition_of_key
from engine.routing.partial import PartialRoundRobinRouter
from engine.routing.turns import next_turn

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


@dataclass(frozen=True, slots=True)
class SinglePartitionRouter:
    """``SinglePartition``: every message without a key goes to one partition, ``index``, drawn at creation.

    The index stays when partitions are added.
    """

    index: int
    hashing: HashingScheme = "JavaStringHash"


@dataclass(frozen=True, slots=True)
class RoundRobinRouter:
    """``RoundRobinPartition``: messages without a key go round, by the clock while batching, else one by one.

    ``start`` and ``counter`` are signed 32-bit numbers; a new router's counter is its start (``round_robin`` makes
    one). ``switch_ms`` is the time at one partition; a value below 1 counts as 1.
    """

    start: int
    counter: int
    batching: bool = True
    switch_ms: int = 10
    hashing: HashingScheme = "JavaStringHash"


def round_robin(
    start: int, *, batching: bool = True, switch_ms: int = 10, hashing: HashingScheme = "JavaStringHash"
) -> RoundRobinRouter:
    """A new round-robin router that begins at ``start``."""
    return RoundRobinRouter(start, start, batching, switch_ms, hashing)


Router = SinglePartitionRouter | RoundRobinRouter | PartialRoundRobinRouter | BatchRoundRobinRouter


def route(router: Router, message: Message, partitions: int, now_ms: int) -> tuple[Router, int]:
    """The router after one message, and the partition of the message; constant time.

    ``partitions`` is the count the client knows now, at least 1: a grown count takes effect with the next message.
    ``now_ms`` is the producer's clock, read by round robin with batching only. The index of a ``SinglePartitionRouter``
    is answered as it is, even where it is no partition.

    >>> state: Router = round_robin(0, batching=False)
    >>> state, first = route(state, Message(), 2, now_ms=0)
    >>> state, second = route(state, Message(), 2, now_ms=0)
    >>> first, second, state.counter
    (0, 1, 2)
    """
    assert partitions > 0, f"a partitioned topic has partitions, not {partitions}"
    if isinstance(router, PartialRoundRobinRouter):
        return router.extended(partitions).turn()
    if message.key is not None and message.has_key(router.hashing):
        return router, partition_of_key(message.key, router.hashing, partitions)
    if isinstance(router, SinglePartitionRouter):
        return router, router.index
    if isinstance(router, BatchRoundRobinRouter):
        return router.turn(partitions, message.size_bytes, now_ms)
    if router.batching:
        return router, sign_safe_mod(period_of(now_ms, router.switch_ms) + router.start, partitions)
    return replace(router, counter=next_turn(router.counter)), sign_safe_mod(router.counter, partitions)


def period_of(now_ms: int, switch_ms: int) -> int:
    """Which period of the clock a moment is in; the whole division of Java, which rounds toward zero.

    >>> period_of(123459, 10), period_of(123460, 10), period_of(-9, 10), period_of(7, 0)
    (12345, 12346, 0, 7)
    """
    whole = abs(now_ms) // max(1, switch_ms)
    return whole if now_ms >= 0 else -whole
