"""``AvgShedder`` (PIP-364): the fullest broker is paired with the emptiest and gives it part of the difference.

It is a placement strategy as well, :mod:`engine.balance.placement.strategies`, and both halves share this memory.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cmp_to_key

from engine.balance.averages import BundleData, TimeAverageMessageData
from engine.balance.brokers import BrokerLoad, weighted_usage
from engine.balance.java_maps import MapOrder
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import (
    BrokerVerdict,
    BundleVerdict,
    ShedPlan,
    ShedView,
    TrafficMeasure,
    double_key,
    falling,
    planned,
    with_bundles,
)
from engine.balance.shedding.uniform import java_int
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules


@dataclass(frozen=True, slots=True)
class AverageMemory:
    """What ``AvgShedder`` keeps: hits by broker above both thresholds, planned destinations, the map of its scores.

    ``destinations`` goes by :func:`destination_key`. ``owners``: the bundle whose record is the key of one, as long as
    the leader goes on changing that record. ``sources``: the broker that a planned bundle leaves, in releases that keep
    plans for one cycle.
    """

    high: Mapping[str, int] = field(default_factory=dict)
    low: Mapping[str, int] = field(default_factory=dict)
    destinations: Mapping[str | bytes, str] = field(default_factory=dict)
    scores: MapOrder = field(default_factory=lambda: MapOrder("hash"))
    owners: Mapping[str | bytes, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def attempted(self, rules: LoadRules) -> AverageMemory:
        """The memory once the leader has tried to unload what was planned (``onUnloadAttemptCompleted``)."""
        if rules.avg_destinations != "attempt":
            return self
        return replace(self, destinations={}, owners={}, sources={})

    def sampled(self, data: Mapping[str, BundleData], rules: LoadRules) -> AverageMemory:
        """The memory once the leader has read new averages; ``data``: of all bundles that it still keeps any for.

        The key of a destination is the leader's own record, which the next sample changes: Java's map then finds it
        neither by the old numbers nor by the new ones. The record of a bundle that nobody reports any more stays.
        """
        lost: set[str | bytes] = set()
        left: set[str | bytes] = set()
        for key, bundle in self.owners.items():
            known = data.get(bundle)
            if known is None:
                left.add(key)
            elif destination_key(bundle, known, rules) != key:
                lost.add(key)
        if rules.avg_destinations == "bundle":
            lost |= left  # a bundle that comes back has another record
        if not lost and not left:
            return self
        gone = lost | left
        return replace(
            self,
            destinations={key: broker for key, broker in self.destinations.items() if key not in lost},
            owners={key: bundle for key, bundle in self.owners.items() if key not in gone},
        )

    def with_destination(self, bundle: str, data: BundleData | None, broker: str, rules: LoadRules) -> AverageMemory:
        """The memory with the planned or drawn destination of a bundle."""
        destinations, owners = dict(self.destinations), dict(self.owners)
        put_destination(destinations, owners, destination_key(bundle, data, rules), bundle, broker)
        return replace(self, destinations=destinations, owners=owners)


def put_destination(
    destinations: dict[str | bytes, str], owners: dict[str | bytes, str], key: str | bytes, bundle: str, broker: str
) -> None:
    """Keep where a bundle is to go; a record that is equal already stays the key, with its owner."""
    if key not in destinations:
        owners[key] = bundle
    destinations[key] = broker


def destination_key(bundle: str, data: BundleData | None, rules: LoadRules = CURRENT_LOAD_RULES) -> str | bytes:
    """What a planned destination is kept by: the bundle's numbers, from which two bundles cannot be told apart, or its
    name in releases that do so.

    >>> from engine.balance.averages import new_bundle_data
    >>> rules = LoadRules(avg_destinations="bundle-numbers")
    >>> one, other = (destination_key(name, new_bundle_data(), rules) for name in ("t/n/0x0_0x1", "t/n/0x1_0x2"))
    >>> one == other
    True
    """
    if rules.avg_destinations != "bundle-numbers" or data is None:
        return bundle
    return struct.pack(">q", data.topics) + _numbers(data.short_term) + _numbers(data.long_term)


def _numbers(average: TimeAverageMessageData) -> bytes:
    return struct.pack(
        ">qqdddd",
        average.max_samples,
        average.num_samples,
        average.msg_rate_in,
        average.msg_rate_out,
        average.throughput_in_bytes_per_sec,
        average.throughput_out_bytes_per_sec,
    )


def shed_average(
    memory: AverageMemory, view: ShedView, settings: LoadSettings, rules: LoadRules = CURRENT_LOAD_RULES
) -> tuple[AverageMemory, ShedPlan]:
    """One cycle. A broker's only bundle may be moved too; what is moved has traffic, and fits what is left to move."""
    memory = memory.attempted(rules)
    cycle = _Cycle(view, settings, rules, dict(memory.high), dict(memory.low))
    cycle.destinations, cycle.owners = dict(memory.destinations), dict(memory.owners)
    by_name = {load.broker: load for load in view.brokers}
    scores = memory.scores.cleared().updated(by_name)
    usages = {broker: 100 * weighted_usage(load, settings, rules) for broker, load in by_name.items()}
    ranked = list(scores)
    if rules.avg_scores_whole:

        def compare(one: str, other: str) -> int:
            return java_int(usages[one] - usages[other])

        ranked.sort(key=cmp_to_key(compare))
    else:
        ranked.sort(key=lambda broker: double_key(usages[broker]))
    pairs = cycle.count_hits(ranked, usages)
    for bottom, top in pairs:
        cycle.judge(by_name[bottom], by_name[top], usages[top] - usages[bottom])
    for broker in by_name:
        if broker not in cycle.verdicts:
            limit = float(settings.loadBalancerAvgShedderLowThreshold)
            difference = cycle.differences[broker]
            cycle.verdicts[broker] = [
                BrokerVerdict(broker, "below-threshold", difference, limit, measure="usage-difference")
            ]
    following = AverageMemory(cycle.high, cycle.low, cycle.destinations, scores.cleared(), cycle.owners, cycle.sources)
    verdicts = [verdict for judged in cycle.verdicts.values() for verdict in judged]
    _, plan = planned(MapOrder("hash"), verdicts, cycle.planned)
    return following, plan


@dataclass(slots=True)
class _Cycle:
    """The workings of one cycle; lives no longer than the call."""

    view: ShedView
    settings: LoadSettings
    rules: LoadRules
    high: dict[str, int]
    low: dict[str, int]
    destinations: dict[str | bytes, str] = field(default_factory=dict)
    owners: dict[str | bytes, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, list[BrokerVerdict]] = field(default_factory=dict)
    differences: dict[str, float] = field(default_factory=dict)
    """How far each broker is from the one it is paired with, in percentage points."""

    def count_hits(self, ranked: list[str], usages: Mapping[str, float]) -> list[tuple[str, str]]:
        """Count how often in a row each pair was far apart; the pairs that are, from the outermost inwards.

        With an odd number of brokers the middle one meets itself, and with a low threshold of 0 or less is counted
        twice a cycle.
        """
        pairs: list[tuple[str, str]] = []
        first, last = 0, len(ranked) - 1
        while first <= last:
            bottom, top = ranked[first], ranked[last]
            difference = usages[top] - usages[bottom]
            self.differences[bottom] = self.differences[top] = difference
            if difference < self.settings.loadBalancerAvgShedderLowThreshold:
                self.forget(bottom, top)
            else:
                pairs.append((bottom, top))
                for broker in (bottom, top):
                    self.low[broker] = self.low.get(broker, 0) + 1
                for broker in (bottom, top):
                    if difference < self.settings.loadBalancerAvgShedderHighThreshold:
                        self.high.pop(broker, None)
                    else:
                        self.high[broker] = self.high.get(broker, 0) + 1
            first, last = first + 1, last - 1
        if not pairs:
            self.high.clear()
            self.low.clear()
        return pairs

    def forget(self, *brokers: str) -> None:
        for broker in brokers:
            self.high.pop(broker, None)
            self.low.pop(broker, None)

    def hit_often_enough(self, bottom: str, top: str) -> bool:
        # Asking stores a 0 for the high threshold, and the first yes ends the asking. Both have just been counted for
        # the low one.
        settings = self.settings
        return (
            self.high.setdefault(bottom, 0) >= settings.loadBalancerAvgShedderHitCountHighThreshold
            or self.high.setdefault(top, 0) >= settings.loadBalancerAvgShedderHitCountHighThreshold
            or self.low[bottom] >= settings.loadBalancerAvgShedderHitCountLowThreshold
            or self.low[top] >= settings.loadBalancerAvgShedderHitCountLowThreshold
        )

    def too_few_hits(self, bottom: str, top: str) -> BrokerVerdict:
        """The verdict on a pair that was uneven in too few cycles: by the count that is nearer to its limit."""
        settings = self.settings
        low = max(self.low[bottom], self.low[top])
        high = max(self.high[bottom], self.high[top])
        low_needed = settings.loadBalancerAvgShedderHitCountLowThreshold
        high_needed = settings.loadBalancerAvgShedderHitCountHighThreshold
        if high and high_needed - high <= low_needed - low:
            return BrokerVerdict(top, "hits-too-few", float(high), float(high_needed), measure="high-hits")
        return BrokerVerdict(top, "hits-too-few", float(low), float(low_needed), measure="low-hits")

    def judge(self, bottom: BrokerLoad, top: BrokerLoad, difference: float) -> None:
        """Decide what the top broker of a pair gives to the bottom one."""
        settings = self.settings
        limit = float(settings.loadBalancerAvgShedderLowThreshold)
        verdict = BrokerVerdict(top.broker, "below-minimum-traffic", difference, limit, measure="usage-difference")
        judged = self.verdicts.setdefault(top.broker, [])
        if bottom.broker != top.broker:
            emptier = replace(verdict, broker=bottom.broker, outcome="not-the-busiest")
            self.verdicts.setdefault(bottom.broker, [emptier])
        if not self.hit_often_enough(bottom.broker, top.broker):
            judged.append(self.too_few_hits(bottom.broker, top.broker))
            return
        self.forget(bottom.broker, top.broker)
        msgs = (top.msgs_per_sec - bottom.msgs_per_sec) * settings.maxUnloadPercentage
        octets = (top.bytes_per_sec - bottom.bytes_per_sec) * settings.maxUnloadPercentage
        measure: TrafficMeasure = "messages"
        if msgs > settings.minUnloadMessage:
            left = msgs
        elif octets > settings.minUnloadMessageThroughput:
            left, measure = octets, "bytes"
        else:
            judged.append(replace(verdict, need=octets, least=float(settings.minUnloadMessageThroughput)))
            return
        need = left
        candidates, passed = falling(self.view, top, measure)
        bundles: list[BundleVerdict] = []
        for bundle, traffic in candidates:
            if 0 < traffic <= left:
                left -= traffic
                bundles.append(BundleVerdict(bundle, "unloaded", traffic))
                key = destination_key(bundle, self.view.bundles[bundle], self.rules)
                put_destination(self.destinations, self.owners, key, bundle, bottom.broker)
                if self.rules.avg_destinations == "attempt":
                    self.sources[bundle] = top.broker
                self.planned[bundle] = bottom.broker
            else:
                bundles.append(BundleVerdict(bundle, "too-large" if traffic > left else "idle", traffic))
        judged.append(with_bundles(replace(verdict, need=need, need_measure=measure), (*bundles, *passed)))
