"""What producers send in the long run, and what of it each partition gets.

Rates are means over a time that is long compared with a round of the router; ``bursts.py`` has what batching makes of
them meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from engine.routing.clients import KeyRouting, partition_of
from engine.routing.producers.model import OpenReason, PartitionedProducer, ProducersState, SendRate
from engine.routing.producers.producer import open_partitions
from engine.routing.routers import PartialRoundRobinRouter, Router, SinglePartitionRouter


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


@dataclass(frozen=True, eq=False, slots=True)
class Flow:
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
