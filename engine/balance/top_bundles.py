"""Which bundles a broker of the extensible manager reports as its largest, and in which order (``TopKBundles``).

Bundles are compared in coarse steps of 100 kB/s and 100 msg/s, so most bundles of a small cluster are equal, and the
way the list is partitioned decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules

SYSTEM_NAMESPACE: Final = "pulsar/system"
_LONG_MAX: Final = 2**63 - 1
_Key = tuple[int, int, int, int, int]


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


def coarse(bundle: MeasuredBundle) -> _Key:
    """What bundles are compared by: throughput in and out, messages, topics with clients, cache; each in steps."""
    stats = bundle.stats
    return (
        _rounded(stats.throughput_in_bytes_per_sec / 1e5),
        _rounded(stats.throughput_out_bytes_per_sec / 1e5),
        _rounded(stats.msgs_per_sec / 100),
        (stats.topics + stats.consumers + stats.producers) // 500,
        bundle.cache_bytes // 100_000,
    )


def _rounded(value: float) -> int:
    """``Math.round``: to the nearest, halves up; NaN is 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return _LONG_MAX if value > 0 else -_LONG_MAX - 1
    return min(max(math.floor(value + 0.5), -_LONG_MAX - 1), _LONG_MAX)


def partition_sort(keys: Sequence[_Key], first: int) -> list[int]:
    """The places of the ``first`` greatest, the way ``TopKBundles.partitionSort`` leaves them. O(n) on average.

    Equal ones stay where the exchanges of the partition put them.
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
    head = sorted(order[: max(end, 0)], key=lambda place: keys[place], reverse=True)
    return (head + order[max(end, 0) :])[:first]


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
    places = partition_sort([coarse(bundle) for bundle in kept], first)
    return tuple(kept[place].stats for place in reversed(places))
