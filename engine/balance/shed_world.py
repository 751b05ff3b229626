"""Brokers whose bundles move: what each would report after a bundle has gone from one to another.

Traffic moves with the bundle. So does the use of cpu, direct memory and bandwidth, by the share of its broker's bytes
that the bundle has, while heap memory stays: a model, since no report says what a bundle costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.limits import BundleStats

_NO_STATS = BundleStats("")


@dataclass(frozen=True, slots=True)
class LoadWorld:
    """What every broker would report now, by id."""

    loads: Mapping[str, BrokerLoad]

    @classmethod
    def of(cls, loads: Iterable[BrokerLoad]) -> LoadWorld:
        return cls({load.broker: load for load in loads})

    def stats_of(self, bundle: str, broker: str) -> BundleStats:
        """What a broker reports of a bundle; no traffic where it reports nothing."""
        found = (stats for stats in self.loads[broker].stats if stats.bundle == bundle)
        return next(found, replace(_NO_STATS, bundle=bundle))

    def moved(self, bundle: str, source: str, target: str) -> LoadWorld:
        """The brokers after a bundle has moved. What one loses the other gains. O(bundles of both).

        >>> stats = BundleStats("t/n/0x00000000_0xffffffff", topics=3, msg_rate_in=5.0)
        >>> full = BrokerLoad("b:1", msg_rate_in=5.0, bundles=(stats.bundle,), stats=(stats,), topics=3)
        >>> after = LoadWorld.of([full, BrokerLoad("b:2")]).moved(stats.bundle, "b:1", "b:2").loads
        >>> [(load.msg_rate_in, load.topics) for load in after.values()]
        [(0.0, 0), (5.0, 3)]
        """
        if source == target or target not in self.loads:
            return self
        giver, taker = self.loads[source], self.loads[target]
        stats = self.stats_of(bundle, source)
        both = _share(stats.bytes_per_sec, giver.bytes_per_sec)
        inward = _share(stats.throughput_in_bytes_per_sec, giver.throughput_in_bytes_per_sec)
        outward = _share(stats.throughput_out_bytes_per_sec, giver.throughput_out_bytes_per_sec)
        shares = {"cpu": both, "direct_memory": both, "bandwidth_in": inward, "bandwidth_out": outward}
        gave = _with(giver, stats, -1.0, {name: -share * _usage(giver, name) for name, share in shares.items()})
        took = _with(taker, stats, 1.0, {name: share * _usage(giver, name) for name, share in shares.items()})
        kept = replace(
            gave,
            bundles=tuple(name for name in giver.bundles if name != bundle),
            stats=tuple(each for each in giver.stats if each.bundle != bundle),
        )
        grown = replace(took, bundles=(*taker.bundles, bundle), stats=(*taker.stats, stats))
        return LoadWorld({**self.loads, source: kept, target: grown})


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0 else 0.0


def _usage(load: BrokerLoad, name: str) -> float:
    resource: ResourceUsage = getattr(load, name)
    return resource.usage


def _with(load: BrokerLoad, stats: BundleStats, sign: float, used: Mapping[str, float]) -> BrokerLoad:
    def resource(name: str) -> ResourceUsage:
        old: ResourceUsage = getattr(load, name)
        return ResourceUsage(max(old.usage + used[name], 0.0), old.limit)

    return replace(
        load,
        cpu=resource("cpu"),
        direct_memory=resource("direct_memory"),
        bandwidth_in=resource("bandwidth_in"),
        bandwidth_out=resource("bandwidth_out"),
        msg_rate_in=max(load.msg_rate_in + sign * stats.msg_rate_in, 0.0),
        msg_rate_out=max(load.msg_rate_out + sign * stats.msg_rate_out, 0.0),
        throughput_in_bytes_per_sec=max(
            load.throughput_in_bytes_per_sec + sign * stats.throughput_in_bytes_per_sec, 0.0
        ),
        throughput_out_bytes_per_sec=max(
            load.throughput_out_bytes_per_sec + sign * stats.throughput_out_bytes_per_sec, 0.0
        ),
        topics=max(load.topics + round(sign) * stats.topics, 0),
    )


@dataclass(slots=True)
class Trail:
    """Where bundles have been in a forecast, so that one that comes back is known."""

    left: dict[str, set[str]] = field(default_factory=dict)

    def goes(self, bundle: str, source: str, destination: str | None) -> bool:
        """Note a move; whether it is back to a broker the bundle had left."""
        returns = destination in self.left.get(bundle, ())
        self.left.setdefault(bundle, set()).add(source)
        return returns
