"""What producers send in the long run, and what of it each partition gets.

Rates are means over a time that is long compared with a round of the router. Meanwhile batching makes bursts: round
robin stays at one partition, then skips it. The Java client moves on by the clock, every ``switch_ms``, and all its
producers with the same period move at once, as far as their clocks agree. The C++ client moves on with a message that
finds its batch full, by number, by bytes or by time. For bursts, messages are taken to come at even intervals.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil, gcd
from types import MappingProxyType
from typing import Annotated, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.answer import about
from engine.routing.clients import KeyRouting, partition_of
from engine.routing.producers.model import OpenReason, PartitionedProducer, ProducersState, SendRate
from engine.routing.producers.producer import open_partitions
from engine.routing.routers import (
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    RoundRobinRouter,
    Router,
    SinglePartitionRouter,
)

_FINEST: Final = 10**6
"""Rates are taken as fractions with at most this denominator."""


def shares(router: Router | None, rate: SendRate, partitions: int) -> Mapping[int, float]:
    """Partition -> its part (0..1) of the messages; empty for a custom router. O(partitions + keys).

    >>> from engine.routing.routers import round_robin
    >>> dict(shares(round_robin(0), SendRate(10.0), 2)), dict(shares(round_robin(0), SendRate(10.0, key="k"), 8))
    ({0: 0.5, 1: 0.5}, {3: 1.0})
    """
    if router is None:
        return {}
    if isinstance(router, PartialRoundRobinRouter):
        chosen = router.extended(partitions).chosen
        return dict.fromkeys(chosen, 1 / len(chosen))
    if rate.keys or not router.keys.undecided(rate.key):
        return _shares_of_keys(rate.key, rate.keys, router.keys, partitions)
    if isinstance(router, SinglePartitionRouter):
        return {router.index: 1.0}
    return dict.fromkeys(range(partitions), 1 / partitions)


@lru_cache(maxsize=256)
def _shares_of_keys(key: str | None, count: int, routing: KeyRouting, partitions: int) -> Mapping[int, float]:
    keys = SendRate(0.0, key=key, keys=count).every_key
    places = (partition_of(one, routing, partitions) for one in keys)
    counts = Counter(at for at in places if at is not None)
    return MappingProxyType({at: counts[at] / len(keys) for at in sorted(counts)})


def shares_on(producer: PartitionedProducer, partitions: int) -> Mapping[int, float]:
    """The same on a topic of another size, where a router that had drawn beyond it draws within it."""
    router, rate = producer.router, producer.rate
    if rate is None:
        return {}
    if isinstance(router, SinglePartitionRouter):
        router = replace(router, index=router.index % partitions)
    elif isinstance(router, PartialRoundRobinRouter) and any(at >= partitions for at in router.chosen):
        router = replace(router, chosen=())
    return shares(router, rate, partitions)


def sends(producer: PartitionedProducer) -> Mapping[int, float]:
    """Messages a second that a producer sends to each partition, whatever becomes of them; empty without a rate."""
    rate = producer.rate
    if rate is None or not rate.msgs_per_sec or producer.state != "Ready":
        return {}
    parts = shares(producer.router, rate, producer.partitions)
    return {at: rate.msgs_per_sec * share for at, share in parts.items()}


class Flow(Struct, frozen=True, eq=False):
    """What producers with a rate send: messages and bytes a second that each partition takes, (partitions,) float64.

    ``waiting`` is sent to partitions whose connection is lost, ``failing`` to those that could not be opened, in
    messages a second.
    """

    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    waiting: float = 0.0
    failing: float = 0.0


def flow_of(state: ProducersState) -> Flow:
    """The flow of all producers of a topic. O(producers x partitions)."""
    partitions = state.topic.partitions
    msgs, size_bytes = np.zeros(partitions), np.zeros(partitions)
    waiting = failing = 0.0
    for producer in state.producers:
        for at, sent in sends(producer).items():
            mine = producer.started.get(at)
            if mine is None:
                failing += sent
            elif not mine.connected:
                waiting += sent
            else:
                msgs[at] += sent
                size_bytes[at] += sent * (producer.rate.size_bytes if producer.rate is not None else 0)
    return Flow(msgs, size_bytes, waiting, failing)


def flow_on(state: ProducersState, partitions: int) -> NDArray[np.float64]:
    """Messages a second of each partition if the topic had so many, all opened and none full."""
    msgs = np.zeros(partitions)
    for producer in state.producers:
        if producer.rate is not None and producer.state == "Ready":
            for at, share in shares_on(producer, partitions).items():
                msgs[at] += producer.rate.msgs_per_sec * share
    return msgs


def is_rated(state: ProducersState) -> bool:
    """Whether the rate of any producer is known, closed ones included."""
    return any(producer.rate is not None for producer in state.producers)


def reached(state: ProducersState, number: int) -> ProducersState:
    """The state after a lazy producer has opened the partitions that its rate reaches, where it may."""
    producer = state.producers[number]
    rate = producer.rate
    if rate is None or not rate.msgs_per_sec or producer.state != "Ready" or not producer.settings.starts_lazily:
        return state
    router = producer.router
    if isinstance(router, PartialRoundRobinRouter):
        producer = replace(producer, router=router.extended(producer.partitions))
    keyed = (rate.key is not None or rate.keys > 0) and not isinstance(router, PartialRoundRobinRouter)
    missing = [at for at in shares(producer.router, rate, producer.partitions) if at not in producer.started]
    reason = OpenReason.KEY if keyed else OpenReason.ROUTER_CHOICE
    producer, topic, _ = open_partitions(producer, state.topic, missing, reason)
    before, after = state.producers[:number], state.producers[number + 1 :]
    return replace(state, topic=topic, producers=(*before, producer, *after))


class Burst(Struct, frozen=True):
    """What a partition sees of one producer that goes round by batches.

    Where ``msgs`` is below 1, most visits bring nothing.
    """

    stay_ms: Annotated[float, about("Milliseconds that it stays at a partition.", 0)]
    away_ms: Annotated[float, about("Milliseconds until it is back there.", 0)]
    msgs: Annotated[float, about("Messages of one stay, on average.", 0)]
    partitions: Annotated[int, about("Partitions that it goes round.", 2)]
    reached: Annotated[
        int,
        about("Partitions that messages at even intervals reach: all, unless a stay is shorter than an interval.", 1),
    ]


def burst_of(producer: PartitionedProducer) -> Burst | None:
    """The burst of a producer with a rate; None where its router does not go round by batches."""
    if producer.rate is None or producer.state != "Ready":
        return None
    return burst(producer.router, producer.rate, producer.partitions)


def burst(router: Router | None, rate: SendRate, partitions: int) -> Burst | None:
    """The burst of one router with a rate on so many partitions.

    >>> from engine.routing.routers import round_robin
    >>> burst(round_robin(0), SendRate(900.0), 6)
    Burst(stay_ms=10, away_ms=50, msgs=9.0, partitions=6, reached=6)
    >>> burst(round_robin(0), SendRate(0.5), 6)
    Burst(stay_ms=10, away_ms=50, msgs=0.005, partitions=6, reached=3)
    """
    if not rate.msgs_per_sec or partitions < 2 or not isinstance(router, RoundRobinRouter | BatchRoundRobinRouter):
        return None
    per_ms = Fraction(rate.msgs_per_sec).limit_denominator(_FINEST) / 1000
    if not per_ms or rate.keys or not router.keys.undecided(rate.key):
        return None
    if isinstance(router, BatchRoundRobinRouter):
        msgs = _msgs_of_a_batch(router, rate.size_bytes, per_ms)
        batch_ms = float(msgs / per_ms)
        return Burst(batch_ms, batch_ms * (partitions - 1), msgs, partitions, partitions) if msgs > 1 else None
    if not router.batching:
        return None
    stay_ms = max(1, router.switch_ms)
    reached = _reached(1 / per_ms, stay_ms, partitions)
    return Burst(stay_ms, stay_ms * (partitions - 1), float(stay_ms * per_ms), partitions, reached)


def _msgs_of_a_batch(router: BatchRoundRobinRouter, size_bytes: int, per_ms: Fraction) -> int:
    """Messages until one finds its batch full; after one above the limit of bytes these count no more."""
    msgs = min(router.max_msgs, max(1, ceil(router.max_delay_ms * per_ms)))
    if 0 < size_bytes <= router.max_bytes:
        msgs = min(msgs, max(1, ceil(router.max_bytes / size_bytes) - 1))
    return msgs


def _reached(apart_ms: Fraction, stay_ms: int, partitions: int) -> int:
    """Partitions that messages so far apart ever meet: their places in a round are the multiples of one step.

    >>> [_reached(Fraction(apart), 10, 4) for apart in (3, 15, 20, 40, 2000)]
    [4, 4, 2, 1, 1]
    """
    round_ms = stay_ms * partitions
    step_ms = Fraction(gcd(apart_ms.numerator, apart_ms.denominator * round_ms), apart_ms.denominator)
    return partitions if step_ms <= stay_ms else int(round_ms / step_ms)


def peaks_of(state: ProducersState) -> NDArray[np.float64]:
    """The most messages a second that each partition gets while bursts last, (partitions,) float64.

    Java producers of one period are at one partition together where their starts are equal, and never else; producers
    of other periods or clients can meet, so that their bursts are added up. Where a visit brings less than a message,
    the mean counts. O(producers x partitions).
    """
    peaks = flow_of(state).msgs_per_sec.copy()
    together: dict[tuple[int, int], dict[int, NDArray[np.float64]]] = defaultdict(dict)
    for producer in state.producers:
        found = burst_of(producer)
        if found is None or found.msgs < 1:
            continue
        more = np.zeros_like(peaks)
        for at, mean in sends(producer).items():
            opened = producer.started.get(at)
            if opened is not None and opened.connected:
                peaks[at] -= mean
                more[at] = mean * producer.partitions
        if isinstance(producer.router, RoundRobinRouter):
            group = together[producer.router.switch_ms, producer.partitions]
            start = producer.router.start % producer.partitions
            group[start] = group.get(start, 0.0) + more
        else:
            peaks += more
    for group in together.values():
        peaks += np.maximum.reduce(list(group.values()))
    return peaks
