"""Which bundles a broker of the extensible manager reports as its largest, and in which order (``TopKBundles``).

Bundles are compared in coarse steps of 100 kB/s and 100 msg/s, so most bundles of a small cluster are equal, and the
way the list is partitioned decides. Earlier releases took two for equal that are less than a step apart, which puts no
order on more than two (#24754).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, Final

from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

SYSTEM_NAMESPACE: Final = "pulsar/system"
_LONG_MAX: Final = 2**63 - 1
_STEPS: Final = (100_000.0, 100_000.0, 100.0, 500, 100_000)
"""Bytes/s in and out, messages/s, topics with their clients, bytes in the cache. Rates are rounded, counts cut."""
_MERGED_FROM: Final = 32
"""From so many on Java's sort merges runs; below it inserts one after the other."""


def is_heartbeat_namespace(namespace: str) -> bool:
    """Whether a namespace is a broker's own: that of heartbeats, or that of its service level agreement.

    >>> is_heartbeat_namespace("pulsar/10.0.0.1:8080"), is_heartbeat_namespace("pulsar/system")
    (True, False)
    """
    tenant, _, name = namespace.partition("/")
    host, _, port = name.rpartition(":")
    if tenant not in ("pulsar", "sla-monitor") or not host or ":" in host:
        return False
    return port.isascii() and port.isdigit()


@dataclass(frozen=True, slots=True)
class MeasuredBundle:
    """A bundle with the bytes its broker has cached for it, which only this comparison looks at."""

    stats: BundleStats
    cache_bytes: int = 0


def comparable(bundle: MeasuredBundle, rules: LoadRules = CURRENT_LOAD_RULES) -> Any:
    """What bundles are compared by: throughput in and out, messages, topics with clients, cache."""
    stats = bundle.stats
    figures = (
        stats.throughput_in_bytes_per_sec,
        stats.throughput_out_bytes_per_sec,
        stats.msgs_per_sec,
        stats.topics + stats.consumers + stats.producers,
        bundle.cache_bytes,
    )
    if rules.bundles_compared == "by-difference":
        return _compared_by_difference(figures)
    return tuple(
        _rounded(figure / step) if isinstance(step, float) else figure // step
        for figure, step in zip(figures, _STEPS, strict=True)
    )


def _by_difference(one: Sequence[float], other: Sequence[float]) -> int:
    """By the first figure that is more than a step apart."""
    for mine, theirs, step in zip(one, other, _STEPS, strict=True):
        if abs(mine - theirs) > step:
            return 1 if mine > theirs else -1
    return 0


_compared_by_difference: Final = cmp_to_key(_by_difference)


def _rounded(value: float) -> int:
    """``Math.round``: to the nearest, halves up; NaN is 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return _LONG_MAX if value > 0 else -_LONG_MAX - 1
    return min(max(math.floor(value + 0.5), -_LONG_MAX - 1), _LONG_MAX)


def partition_sort(keys: Sequence[Any], first: int) -> list[int]:
    """The places of the ``first`` greatest, the way ``TopKBundles.partitionSort`` leaves them. O(n) on average.

    Equal ones stay where the exchanges of the partition put them. ``keys`` as ``comparable`` returns them.
    """
    order = list(range(len(keys)))
    start, end, target = 0, len(order) - 1, first - 1
    while start < end:
        low, high, middle = start, end, start
        pivot = keys[order[high]]
        while middle <= high:
            key = keys[order[middle]]
            if key > pivot:
                order[low], order[middle] = order[middle], order[low]
                low, middle = low + 1, middle + 1
            elif key < pivot:
                order[middle], order[high] = order[high], order[middle]
                high -= 1
            else:
                middle += 1
        if low <= target < middle:
            end = low
            break
        if target < low:
            end = low - 1
        else:
            start = middle
    head = _inserted(order[: max(end, 0)], lambda place, other: bool(keys[place] > keys[other]))
    return (head + order[max(end, 0) :])[:first]


def _inserted(places: list[int], comes_before: Callable[[int, int], bool]) -> list[int]:
    """Sort as ``java.util.TimSort`` sorts fewer than 32: where comparisons contradict, it matters which are made.

    It merges 32 and more, which is not modelled: they come out right only where no comparisons contradict.
    """
    if len(places) < 2:
        return places
    if len(places) >= _MERGED_FROM:

        def compared(one: int, other: int) -> int:
            return comes_before(other, one) - comes_before(one, other)

        return sorted(places, key=cmp_to_key(compared))
    run = 2
    if comes_before(places[1], places[0]):
        while run < len(places) and comes_before(places[run], places[run - 1]):
            run += 1
        places = places[:run][::-1] + places[run:]
    else:
        while run < len(places) and not comes_before(places[run], places[run - 1]):
            run += 1
    ordered = places[:run]
    for place in places[run:]:
        left, right = 0, len(ordered)
        while left < right:
            middle = (left + right) // 2
            if comes_before(place, ordered[middle]):
                right = middle
            else:
                left = middle + 1
        ordered.insert(left, place)
    return ordered


def top_bundles(
    bundles: Sequence[MeasuredBundle],
    settings: LoadSettings,
    rules: LoadRules = CURRENT_LOAD_RULES,
    *,
    with_policies: frozenset[str] = frozenset(),
) -> tuple[BundleStats, ...]:
    """The bundles a broker reports, the smallest first.

    ``bundles`` in the order of the broker's ``ConcurrentHashMap``; ``with_policies``: namespaces with an isolation
    policy or an anti-affinity group.
    """

    def reported(bundle: BundleStats) -> bool:
        namespace = bundle.namespace
        if bundle.bytes_per_sec == 0 and not rules.shed_idle_bundles:
            return False
        if namespace == SYSTEM_NAMESPACE or is_heartbeat_namespace(namespace):
            return False
        if rules.excluded_namespaces and namespace in settings.loadBalancerSheddingExcludedNamespaces:
            return False
        return settings.loadBalancerSheddingBundlesWithPoliciesEnabled or namespace not in with_policies

    kept = [bundle for bundle in bundles if reported(bundle.stats)]
    first = min(settings.loadBalancerMaxNumberOfBundlesInBundleLoadReport, len(kept))
    places = partition_sort([comparable(bundle, rules) for bundle in kept], first)
    return tuple(kept[place].stats for place in reversed(places))
