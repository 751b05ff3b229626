"""What every broker would report now, as numbers that change in place: the bulk form of ``LoadWorld``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.balance.ahead.model import share_of
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.limits import BundleStats


@dataclass(slots=True)
class _Broker:
    """One broker; ``load`` is its last report made here, which is out of date once the broker ``has_changed``."""

    load: BrokerLoad
    cpu: float
    direct_memory: float
    bandwidth_in: float
    bandwidth_out: float
    msg_rate_in: float
    msg_rate_out: float
    bytes_in: float
    bytes_out: float
    topics: int
    bundles: dict[str, None]
    stats: dict[str, BundleStats]
    has_changed: bool = False

    @classmethod
    def of(cls, load: BrokerLoad) -> _Broker:
        return cls(
            load,
            load.cpu.usage,
            load.direct_memory.usage,
            load.bandwidth_in.usage,
            load.bandwidth_out.usage,
            load.msg_rate_in,
            load.msg_rate_out,
            load.throughput_in_bytes_per_sec,
            load.throughput_out_bytes_per_sec,
            load.topics,
            dict.fromkeys(load.bundles),
            {stats.bundle: stats for stats in load.stats},
        )

    def change(self, stats: BundleStats, sign: int, used: tuple[float, float, float, float]) -> None:
        self.cpu = max(self.cpu + sign * used[0], 0.0)
        self.direct_memory = max(self.direct_memory + sign * used[1], 0.0)
        self.bandwidth_in = max(self.bandwidth_in + sign * used[2], 0.0)
        self.bandwidth_out = max(self.bandwidth_out + sign * used[3], 0.0)
        self.msg_rate_in = max(self.msg_rate_in + sign * stats.msg_rate_in, 0.0)
        self.msg_rate_out = max(self.msg_rate_out + sign * stats.msg_rate_out, 0.0)
        self.bytes_in = max(self.bytes_in + sign * stats.throughput_in_bytes_per_sec, 0.0)
        self.bytes_out = max(self.bytes_out + sign * stats.throughput_out_bytes_per_sec, 0.0)
        self.topics = max(self.topics + sign * stats.topics, 0)
        self.has_changed = True

    def report(self) -> BrokerLoad:
        if self.has_changed:
            load = self.load
            self.load = replace(
                load,
                cpu=ResourceUsage(self.cpu, load.cpu.limit),
                direct_memory=ResourceUsage(self.direct_memory, load.direct_memory.limit),
                bandwidth_in=ResourceUsage(self.bandwidth_in, load.bandwidth_in.limit),
                bandwidth_out=ResourceUsage(self.bandwidth_out, load.bandwidth_out.limit),
                msg_rate_in=self.msg_rate_in,
                msg_rate_out=self.msg_rate_out,
                throughput_in_bytes_per_sec=self.bytes_in,
                throughput_out_bytes_per_sec=self.bytes_out,
                bundles=tuple(self.bundles),
                stats=tuple(self.stats.values()),
                topics=self.topics,
            )
            self.has_changed = False
        return self.load


class MovingWorld:
    """Brokers whose bundles move. Every bundle is at one broker."""

    def __init__(self, loads: Sequence[BrokerLoad]) -> None:
        self._brokers: Final = {load.broker: _Broker.of(load) for load in loads}
        self._owners: Final = {bundle: load.broker for load in loads for bundle in load.bundles}

    def owner_of(self, bundle: str, reported_by: str) -> str:
        return self._owners.get(bundle, reported_by)

    def stats_of(self, bundle: str, broker: str) -> BundleStats:
        return self._brokers[broker].stats.get(bundle) or BundleStats(bundle)

    def move(self, bundle: str, source: str, target: str) -> None:
        """Move a bundle with what it uses of its broker, as ``LoadWorld.moved`` does."""
        if source == target or target not in self._brokers:
            return
        giver, taker = self._brokers[source], self._brokers[target]
        stats = self.stats_of(bundle, source)
        both = share_of(stats.bytes_per_sec, giver.bytes_in + giver.bytes_out)
        inward = share_of(stats.throughput_in_bytes_per_sec, giver.bytes_in)
        outward = share_of(stats.throughput_out_bytes_per_sec, giver.bytes_out)
        used = (
            both * giver.cpu,
            both * giver.direct_memory,
            inward * giver.bandwidth_in,
            outward * giver.bandwidth_out,
        )
        giver.change(stats, -1, used)
        taker.change(stats, 1, used)
        giver.bundles.pop(bundle, None)
        giver.stats.pop(bundle, None)
        taker.bundles[bundle] = None
        taker.stats[bundle] = stats
        self._owners[bundle] = target

    def loads(self) -> dict[str, BrokerLoad]:
        """What all report now; a broker that has not changed has the same report as before."""
        return {name: broker.report() for name, broker in self._brokers.items()}
