"""The namespace between two cycles of a simulation: bundles, owners, traffic. Lives no longer than the simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.balance.limits import BundleStats, limit_measures
from engine.balance.splitting.model import BundleLoad, Move
from engine.balance.splitting.start import BalanceStart
from engine.balance.splitting.topics import TopicsOfBundle
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.loads import TopicLoad


@dataclass(slots=True)
class World:
    """What the cycles change. ``fresh``: bundles just unloaded; ``born``: the interval in which a child was made.

    Topics are dealt out once and then only among the children of a split; sums are kept while the traffic stays.
    """

    start: BalanceStart
    bundles: NamespaceBundles = field(init=False)
    owners: dict[BundleRange, str] = field(init=False)
    interval: int = 0
    fresh: set[BundleRange] = field(default_factory=set)
    born: dict[BundleRange, int] = field(default_factory=dict)
    _inside: dict[BundleRange, TopicsOfBundle] = field(default_factory=dict)
    _sums: dict[BundleRange, BundleStats] = field(default_factory=dict)
    _first_sums: dict[BundleRange, BundleStats] = field(default_factory=dict)
    _loads: Sequence[TopicLoad] = ()
    _level: int = -1
    _grows: bool = False

    def __post_init__(self) -> None:
        self.bundles = self.start.bundles
        brokers = self.start.brokers
        self.owners = {
            bundle: self.start.owners.get(str(bundle), brokers[place % len(brokers)])
            for place, bundle in enumerate(self.bundles)
        }
        self._grows = not self.start.topics.is_steady
        self._inside = self.start.topics.dealt(self.bundles)

    def full_name(self, bundle: BundleRange) -> str:
        return f"{self.bundles.namespace}/{bundle}"

    def topics(self) -> Sequence[TopicLoad]:
        """The true traffic of this interval, in listing order."""
        self._renew()
        if not self._loads:
            self._loads = self.start.topics.loads_at(self.interval)
        return self._loads

    def topics_in(self, bundle: BundleRange) -> Sequence[TopicLoad]:
        """Those of one bundle in force."""
        return self._inside[bundle].loads_at(self.interval)

    @property
    def level(self) -> int:
        """Which traffic it is: the interval, or 0 always while all of it is steady."""
        return self.interval if self._grows else 0

    def _renew(self) -> None:
        """Forget sums when the traffic is another one; steady traffic is the same in every interval."""
        if self.level != self._level:
            self._level = self.level
            self._sums.clear()
            self._first_sums.clear()
            self._loads = ()

    def stats(self) -> dict[BundleRange, BundleStats]:
        """What is reported of each bundle with topics: sums in listing order, too high for those just unloaded."""
        self._renew()
        found = {}
        for bundle in self.bundles:
            stats = self._stats_of(bundle)
            if stats is not None:
                found[bundle] = stats
        return found

    def _stats_of(self, bundle: BundleRange) -> BundleStats | None:
        """What is reported of one bundle; None for one without topics. The sums must be of this interval's traffic."""
        first = self.start.first_rate_factor != 1.0 and bundle in self.fresh
        sums = self._first_sums if first else self._sums
        stats = sums.get(bundle)
        if stats is None:
            topics = self._inside[bundle]
            if not len(topics):
                return None
            factor = self.start.first_rate_factor if first else 1.0
            stats = sums[bundle] = BundleStats(self.full_name(bundle), *topics.sums(self.interval, factor))
        return stats

    def load_of(
        self, bundle: BundleRange, stats: BundleStats, msgs_per_sec: float, bytes_per_sec: float, samples: int
    ) -> BundleLoad:
        measures = limit_measures(stats, msgs_per_sec, bytes_per_sec, self.start.settings)
        return BundleLoad(bundle, self.owners[bundle], stats, msgs_per_sec, bytes_per_sec, samples, measures)

    def replace_bundle(self, parent: BundleRange, after: NamespaceBundles, children: Sequence[BundleRange]) -> None:
        """Carry out a split; the children stay with the parent's broker until they are unloaded."""
        broker = self.owners.pop(parent)
        topics = self._inside.pop(parent)
        self.bundles = after
        for child, inside in zip(children, topics.among(children), strict=True):
            self.owners[child] = broker
            self.born[child] = self.interval
            self._inside[child] = inside

    def unload(self, bundle: BundleRange) -> Move:
        """Let a bundle go and be looked up again: by the broker with the least message rate, then the fewest bundles.

        The modular load manager's own choice goes by long-term rates and more; this is its gist, and the order of the
        brokers given decides between equals.
        """
        self._renew()
        before = self.owners.pop(bundle)
        rates = dict.fromkeys(self.start.brokers, 0.0)
        counts = dict.fromkeys(self.start.brokers, 0)
        for owned, broker in self.owners.items():
            counts[broker] += 1
            stats = self._stats_of(owned)
            if stats is not None:
                rates[broker] += stats.msgs_per_sec
        after = min(self.start.brokers, key=lambda broker: (rates[broker], counts[broker]))
        self.owners[bundle] = after
        self.fresh.add(bundle)
        return Move(self.full_name(bundle), before, after, self._inside[bundle].names)

    def owned(self) -> tuple[tuple[BundleRange, str], ...]:
        return tuple(sorted(self.owners.items()))
