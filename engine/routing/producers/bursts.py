"""What batching does to the rates of partitions: round robin stays at one partition for a while, then skips it.

The Java client moves on by the clock, every ``switch_ms``, and all its producers with the same period move at once, as
far as their clocks agree. The C++ client moves on with a message that finds its batch full, by number, by bytes or by
time; no clock is shared. Messages are taken to come at even intervals.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.routing.producers.model import PartitionedProducer, ProducersState, SendRate
from engine.routing.producers.rates import flow_of, sends
from engine.routing.routers import BatchRoundRobinRouter, RoundRobinRouter, Router

_FINEST: Final = 10**6
"""Rates are taken as fractions with at most this denominator."""


@dataclass(frozen=True, slots=True)
class Burst:
    """What a partition sees of one producer that goes round by batches.

    For ``stay_ms`` it gets all, ``msgs`` on average, then nothing for ``away_ms``. Where ``msgs`` is below 1, most
    visits bring nothing: ``reached`` is then how many of the ``partitions`` ever get a message, if they come evenly.
    """

    stay_ms: float
    away_ms: float
    msgs: float
    partitions: int
    reached: int


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
