"""What producers cost the brokers as the number of partitions changes: eager, lazy, and partial(limit).

Computed, not simulated: a producer that starts at a random partition opens a run of neighbours (round robin), one
partition (single) or a random set (partial), and its random keys open others. Expected values are means over those
draws. PIP-79 raises the question without numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import Rejection
from engine.routing.producers.settings import RouterKind
from engine.routing.routers import partial_round_robin


@dataclass(frozen=True, slots=True)
class Workload:
    """What each of ``producers`` sends: messages without a key, one at a time, and ``keys`` different keys.

    Round robin is meant without batching: one message, one partition on. ``messages`` None means so many that every
    partition a router can choose has been chosen. Keys fall on partitions at random, each once.
    """

    producers: int
    messages: int | None = None
    keys: int = 0


@dataclass(frozen=True, slots=True)
class Expected:
    """A number that is the same for every draw where ``exact``, else the mean over the random draws."""

    value: float
    exact: bool


@dataclass(frozen=True, slots=True)
class ExpectedCounts:
    """Broker-side producer objects, connections, and partitions with any producer, of all producers together."""

    broker_producers: Expected
    connections: Expected
    partitions_used: Expected


@dataclass(frozen=True, slots=True)
class CountsAt:
    """The counts at one number of partitions, for the same work with each way to start.

    ``lazy`` goes by the routing mode given, ``partial`` is lazy with partial round robin.
    """

    partitions: int
    eager: ExpectedCounts
    lazy: ExpectedCounts
    partial: ExpectedCounts


def counts_over_partitions(
    workload: Workload,
    partitions: Iterable[int],
    *,
    limit: int,
    mode: RouterKind = "RoundRobinPartition",
    brokers: int = 1,
) -> tuple[CountsAt, ...] | Rejection:
    """The curve over these numbers of partitions; partition i belongs to broker i mod ``brokers``. O(p) for each.

    A limit above some of the numbers means all partitions there, as in Pulsar. Negative counts, 0 brokers, 0
    partitions and a limit below 1 are refused.

    >>> [at] = counts_over_partitions(Workload(100), [1000], limit=3, mode="SinglePartition")
    >>> [counts.broker_producers.value for counts in (at.eager, at.lazy, at.partial)], at.partial.partitions_used.exact
    ([100000.0, 100.0, 300.0], False)
    """
    curve = tuple(partitions)
    router = partial_round_robin(limit)
    refused = (
        _below("producers", workload.producers, 0)
        or _below("messages", workload.messages or 0, 0)
        or _below("keys", workload.keys, 0)
        or _below("brokers", brokers, 1)
        or _below("partitions", min(curve, default=1), 1)
        or (router if isinstance(router, Rejection) else None)
    )
    if refused is not None:
        return refused
    return tuple(_at(workload, count, limit, mode, brokers) for count in curve)


def _at(workload: Workload, partitions: int, limit: int, mode: RouterKind, brokers: int) -> CountsAt:
    eager = _total(workload.producers, partitions, _all(partitions, brokers))
    partial = _total(workload.producers, partitions, _set(workload, partitions, min(limit, partitions), brokers))
    if mode == "PartialRoundRobin":
        return CountsAt(partitions, eager, partial, partial)
    lazy = _total(workload.producers, partitions, _run(workload, partitions, mode, brokers))
    return CountsAt(partitions, eager, lazy, partial)


_OfOne = tuple[Expected, Expected]
"""The objects and the connections of one producer."""


def _total(producers: int, partitions: int, of_one: _OfOne) -> ExpectedCounts:
    objects, connections = of_one
    used = partitions * (1 - (1 - objects.value / partitions) ** producers)
    sure = objects.exact and (producers <= 1 or objects.value == partitions)
    return ExpectedCounts(
        Expected(producers * objects.value, objects.exact),
        Expected(producers * connections.value, connections.exact),
        Expected(used, sure),
    )


def _all(partitions: int, brokers: int) -> _OfOne:
    return Expected(float(partitions), exact=True), Expected(float(min(brokers, partitions)), exact=True)


def _run(workload: Workload, partitions: int, mode: RouterKind, brokers: int) -> _OfOne:
    """A run of neighbours from a random start, one for the creation and one for each message, and random keys."""
    many = 1 if mode == "SinglePartition" else partitions if workload.messages is None else workload.messages + 1
    run = min(many, partitions)
    if run == partitions:
        return _all(partitions, brokers)
    opened = run + (partitions - run) * (1 - (1 - 1 / partitions) ** workload.keys)
    missed = [
        _runs_that_miss(partitions, run, brokers, broker)
        / partitions
        * (1 - _size(partitions, brokers, broker) / partitions) ** workload.keys
        for broker in range(min(brokers, partitions))
    ]
    keyless = workload.keys == 0
    # Why: a run meets as many brokers wherever it starts if the brokers' turns repeat without a seam, or if the turn
    # that is cut off at the seam is as long as the run.
    seam = partitions % brokers
    alike = keyless and (seam == 0 or run <= seam)
    connections = Expected(len(missed) - math.fsum(missed), alike or not any(missed))
    return Expected(opened, keyless), connections


def _set(workload: Workload, partitions: int, limit: int, brokers: int) -> _OfOne:
    """A random set; the router ignores keys, so that a key is one more message."""
    sent = limit if workload.messages is None else workload.messages + workload.keys + 1
    chosen = min(limit, sent)
    missed = [
        _sets_that_miss(partitions, chosen, _size(partitions, brokers, broker))
        for broker in range(min(brokers, partitions))
    ]
    alone = chosen == 1 or brokers >= partitions
    return Expected(float(chosen), exact=True), Expected(len(missed) - math.fsum(missed), alone or not any(missed))


def _size(partitions: int, brokers: int, broker: int) -> int:
    """How many of the partitions a broker has."""
    return (partitions - broker + brokers - 1) // brokers


def _runs_that_miss(partitions: int, run: int, brokers: int, broker: int) -> int:
    """Of all starts, how many give a run of neighbours (round the end) with no partition of this broker."""
    mine = range(broker, partitions, brokers)
    gaps = [brokers - 1] * (len(mine) - 1) + [partitions - mine[-1] - 1 + mine[0]]
    return sum(max(0, gap - run + 1) for gap in gaps)


def _sets_that_miss(partitions: int, chosen: int, mine: int) -> float:
    """The probability that a random set of ``chosen`` partitions has none of ``mine`` given ones."""
    return math.prod((partitions - mine - drawn) / (partitions - drawn) for drawn in range(chosen))


def _below(field: str, value: int, least: int) -> Rejection | None:
    if value >= least:
        return None
    return Rejection("IllegalArgumentException", f"{value} is below {least}", field=field)
