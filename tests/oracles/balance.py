"""Automatic splitting over time, from the description of both load managers: everything is looked at in every cycle."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.oracles import bundles
from tests.oracles.hashes import java_string_hash

WINDOW = 1000
"""Samples of the long-term average."""
MINUTE_MS = 60_000

Range = tuple[int, int]


class Traffic(NamedTuple):
    """One topic: ``rates`` are messages in and out and bytes in and out a second, None without statistics."""

    name: str
    place: int
    rates: tuple[float, float, float, float] | None
    sessions: int = 0
    growth: float = 1.0
    steps: tuple[tuple[int, float], ...] = ()

    def at(self, interval: int) -> bundles.Placed:
        """The topic after so many full intervals."""
        stepped = [factor for start, factor in sorted(self.steps) if start <= interval]
        factor = (stepped[-1] if stepped else 1.0) * self.growth**interval
        rates = None if self.rates is None else tuple(rate * factor for rate in self.rates)
        return bundles.Placed(self.name, self.place, rates)


class Stats(NamedTuple):
    """What is reported of a bundle."""

    bundle: Range
    topics: int
    sessions: int
    rates: tuple[float, float, float, float]


class Tried(NamedTuple):
    """One split that was asked for, and what became of it."""

    bundle: Range
    broker: str
    outcome: str
    cuts: tuple[int, ...] = ()


class Cycle(NamedTuple):
    """What happened, and what the namespace is then; ``moves``: bundle, old and new broker.

    ``seen``: bundle, messages a second and samples of its average before the first decision; ``judged``: for each
    decision the bundles and what became of them. Both of the modular load manager only.
    """

    at_ms: int
    tried: tuple[Tried, ...]
    moves: tuple[tuple[Range, str, str], ...]
    boundaries: tuple[int, ...]
    owners: Mapping[Range, str]
    seen: tuple[tuple[Range, float, int], ...] = ()
    judged: tuple[tuple[tuple[Range, str], ...], ...] = ()


@dataclass
class Space:
    """A namespace between two cycles. ``rules`` and ``intervals`` go by the names of broker.conf."""

    name: str
    boundaries: list[int]
    topics: Sequence[Traffic]
    brokers: Sequence[str]
    owners: dict[Range, str]
    rules: Mapping[str, Any]
    intervals: Mapping[str, int]
    algorithms: Sequence[str] = bundles.ALGORITHMS
    first_rate_factor: float = 1.0
    answers_failed_splits: bool = False
    interval: int = 0
    fresh: set[Range] = field(default_factory=set)

    def text(self, bundle: Range) -> str:
        return f"{self.name}/{bundles.text_of(*bundle)}"

    def ranges(self) -> list[Range]:
        return list(zip(self.boundaries, self.boundaries[1:], strict=False))

    def stats(self) -> dict[Range, Stats]:
        """Of each bundle with topics."""
        result = {}
        for bundle in self.ranges():
            inside = [topic for topic in self.topics if bundles.holds(*bundle, topic.place)]
            if inside:
                factor = self.first_rate_factor if bundle in self.fresh else 1.0
                now = [topic.at(self.interval).rates or (0.0, 0.0, 0.0, 0.0) for topic in inside]
                sums = tuple(sum(rates[at] * factor for rates in now) for at in range(4))
                result[bundle] = Stats(bundle, len(inside), sum(topic.sessions for topic in inside), sums)
        return result

    def above(self, stats: Stats, rate: float, size: float) -> bool:
        """Whether a bundle is above one of the limits; the bandwidth is multiplied in 32 bits."""
        sessions = self.rules["loadBalancerNamespaceBundleMaxSessions"]
        bandwidth = self.rules["loadBalancerNamespaceBundleMaxBandwidthMbytes"] * 2**20 & 0xFFFFFFFF
        return (
            stats.topics > self.rules["loadBalancerNamespaceBundleMaxTopics"]
            or 0 < sessions < stats.sessions
            or rate > self.rules["loadBalancerNamespaceBundleMaxMsgRate"]
            or size > (bandwidth - 2**32 if bandwidth >= 2**31 else bandwidth)
        )

    def default_cuts(self, bundle: Range) -> list[int] | None:
        """Those of the default algorithm; None where it fails because it wants positions."""
        name = self.rules["defaultNamespaceBundleSplitAlgorithm"]
        used = name if name in self.algorithms else bundles.ALGORITHMS[0]
        if used == "specified_positions_divide":
            return None
        limits = (
            self.rules["loadBalancerNamespaceBundleMaxMsgRate"],
            self.rules["loadBalancerNamespaceBundleMaxBandwidthMbytes"],
            self.rules["flowOrQpsDifferenceThresholdPercentage"],
        )
        return bundles.cuts(bundle, used, (), [topic.at(self.interval) for topic in self.topics], limits)

    def split(self, bundle: Range, cuts: Sequence[int]) -> list[Range]:
        """Put the children in the place of a bundle; they stay with its broker."""
        broker = self.owners.pop(bundle)
        self.fresh.discard(bundle)
        self.boundaries = sorted([*self.boundaries, *cuts])
        edges = [bundle[0], *sorted(cuts), bundle[1]]
        children = list(itertools.pairwise(edges))
        self.owners.update(dict.fromkeys(children, broker))
        return children

    def unload(self, bundle: Range) -> tuple[Range, str, str]:
        """To the broker with the least messages, then the fewest bundles, then the first one."""
        before, stats = self.owners.pop(bundle), self.stats()

        def load(broker: str) -> tuple[float, int]:
            mine = [each for each, owner in self.owners.items() if owner == broker]
            return sum(sum(stats[each].rates[:2]) for each in mine if each in stats), len(mine)

        after = min(self.brokers, key=load)
        self.owners[bundle] = after
        self.fresh.add(bundle)
        return bundle, before, after


def java_order(texts: Sequence[str]) -> list[str]:
    """The order of Java's hash maps: by bucket, those of one bucket as they came."""
    buckets = 16
    while len(texts) >= buckets * 3 // 4:
        buckets *= 2
    codes = {text: java_string_hash(text) for text in texts}
    return sorted(texts, key=lambda text: (codes[text] ^ codes[text] >> 16) % buckets)


@dataclass
class Leader:
    """The modular load manager. ``averages``: of bundles by text, the number of samples and the four rates."""

    space: Space
    averages: dict[str, tuple[int, tuple[float, ...]]] = field(default_factory=dict)
    reports: dict[str, list[Stats]] = field(default_factory=dict)
    at_ms: int = 0

    def next(self, *, first: bool) -> Cycle:
        """Reports at their time, or earlier where much has changed; one decision for each of them."""
        space = self.space
        changed = [] if first else [broker for broker in space.brokers if self._has_changed(broker)]
        if not changed and not first:
            space.interval += 1
        least = space.intervals["loadBalancerReportUpdateMinIntervalMillis"]
        most = space.intervals["loadBalancerReportUpdateMaxIntervalMinutes"] * MINUTE_MS
        waited = least if changed else max(least, most)
        stored = space.intervals["loadBalancerResourceQuotaUpdateIntervalMinutes"] * MINUTE_MS
        for _ in range((self.at_ms + waited) // stored - self.at_ms // stored):
            self._sample()
        self.at_ms += waited
        new = [(broker, self._report(broker)) for broker in changed or space.brokers]
        space.fresh.clear()
        tried: list[Tried] = []
        moves: list[tuple[Range, str, str]] = []
        seen: tuple[tuple[Range, float, int], ...] = ()
        judged: list[tuple[tuple[Range, str], ...]] = []
        for broker, report in new:
            self.reports[broker] = report
            self._sample()
            seen = seen or self._averages_now()
            verdicts: list[tuple[Range, str]] = []
            if space.rules["loadBalancerAutoBundleSplitEnabled"] and len(space.brokers) > 1:
                for bundle, owner in self._chosen(verdicts).items():
                    tried.append(self._try(bundle, owner, moves))
            judged.append(tuple(verdicts))
        return Cycle(
            self.at_ms, tuple(tried), tuple(moves), tuple(space.boundaries), dict(space.owners), seen, tuple(judged)
        )

    def _averages_now(self) -> tuple[tuple[Range, float, int], ...]:
        known = [(bundle, self.averages.get(self.space.text(bundle))) for bundle in self.space.stats()]
        return tuple((bundle, found[1][0] + found[1][1], found[0]) for bundle, found in known if found is not None)

    def _report(self, broker: str) -> list[Stats]:
        owners, stats = self.space.owners, self.space.stats()
        own = {self.space.text(bundle): each for bundle, each in stats.items() if owners[bundle] == broker}
        return [own[name] for name in java_order(list(own))]

    def _has_changed(self, broker: str) -> bool:
        def totals(report: list[Stats]) -> list[float]:
            rates = [sum(stats.rates[0] + stats.rates[1] for stats in report)]
            return [*rates, sum(stats.rates[2] + stats.rates[3] for stats in report), len(report)]

        percent = self.space.intervals["loadBalancerReportUpdateThresholdPercentage"]
        for before, now in zip(totals(self.reports[broker]), totals(self._report(broker)), strict=True):
            if (before == 0 and now != 0) or (before and 100 * abs(before - now) / before > percent):
                return True
        return False

    def _sample(self) -> None:
        """One more sample of each bundle in each last report; the others are forgotten."""
        named = {self.space.text(stats.bundle) for report in self.reports.values() for stats in report}
        self.averages = {name: average for name, average in self.averages.items() if name in named}
        for report in self.reports.values():
            for stats in report:
                count, means = self.averages.get(self.space.text(stats.bundle), (0, (0.0,) * 4))
                n = min(count + 1, WINDOW)
                mixed = tuple(((n - 1) * mean + rate) / n for mean, rate in zip(means, stats.rates, strict=True))
                self.averages[self.space.text(stats.bundle)] = (n, mixed)

    def _chosen(self, verdicts: list[tuple[Range, str]]) -> dict[Range, str]:
        results: dict[Range, str] = {}
        count = len(self.space.ranges())
        for broker in java_order(list(self.reports)):
            for stats in self.reports[broker]:
                _, means = self.averages[self.space.text(stats.bundle)]
                if stats.topics < 2:
                    outcome = "too-few-topics"
                elif not self.space.above(stats, means[0] + means[1], means[2] + means[3]):
                    outcome = "below-limits"
                elif count < self.space.rules["loadBalancerNamespaceMaximumBundles"]:
                    outcome = "chosen"
                    results[stats.bundle] = broker
                    count += 1
                else:
                    outcome = "namespace-full"
                verdicts.append((stats.bundle, outcome))
        return results

    def _try(self, bundle: Range, broker: str, moves: list[tuple[Range, str, str]]) -> Tried:
        space = self.space
        if bundle not in space.ranges():
            return Tried(bundle, broker, "gone")
        if bundle[1] - bundle[0] <= 1:
            return Tried(bundle, broker, "too-narrow")
        self.averages.pop(space.text(bundle), None)
        cuts = space.default_cuts(bundle)
        if cuts is None or any(not bundle[0] < cut < bundle[1] for cut in cuts):
            return Tried(bundle, broker, "refused")
        if len(set(cuts)) != len(cuts):
            return Tried(
                bundle, broker, *(("refused",) if space.answers_failed_splits else ("never-answered", tuple(cuts)))
            )
        if not cuts:
            return Tried(bundle, broker, "no-change")
        children = space.split(bundle, cuts)
        if space.rules["loadBalancerAutoUnloadSplitBundlesEnabled"]:
            # A child without topics is looked up by nobody, so it comes nowhere.
            places = [topic.place for topic in space.topics]
            inhabited = [child for child in children if any(bundles.holds(*child, place) for place in places)]
            moves += [space.unload(child) for child in inhabited]
        return Tried(bundle, broker, "split", tuple(cuts))


@dataclass
class Brokers:
    """The extensible load manager: each broker counts how often in a row its bundles were above a limit."""

    space: Space
    hits: dict[str, dict[Range, int]] = field(default_factory=dict)
    at_ms: int = 0

    def next(self, *, first: bool) -> Cycle:
        """One interval on, each broker runs once."""
        space = self.space
        space.interval += not first
        self.at_ms += space.intervals["loadBalancerSplitIntervalMinutes"] * MINUTE_MS
        stats = space.stats()
        own = {broker: [each for each in stats if space.owners[each] == broker] for broker in space.brokers}
        tried: list[Tried] = []
        if space.rules["loadBalancerAutoBundleSplitEnabled"]:
            for broker in space.brokers:
                tried += self._run(broker, [stats[bundle] for bundle in own[broker]])
        return Cycle(self.at_ms, tuple(tried), (), tuple(space.boundaries), dict(space.owners))

    def _run(self, broker: str, reported: list[Stats]) -> list[Tried]:
        space, chosen = self.space, []
        by_text = {space.text(stats.bundle): stats for stats in reported}
        hits = {bundle: count for bundle, count in self.hits.get(broker, {}).items() if space.text(bundle) in by_text}
        self.hits[broker] = hits
        for text in java_order(list(by_text)):
            stats = by_text[text]
            bundle = stats.bundle
            if stats.topics < 2 or bundle[1] - bundle[0] <= 1:
                continue
            if not space.above(stats, sum(stats.rates[:2]), sum(stats.rates[2:])):
                hits.pop(bundle, None)
                continue
            hits[bundle] = hits.get(bundle, 0) + 1
            if hits[bundle] <= space.rules["loadBalancerNamespaceBundleSplitConditionHitCountThreshold"]:
                continue
            if len(space.ranges()) + len(chosen) >= space.rules["loadBalancerNamespaceMaximumBundles"]:
                continue
            cuts = space.default_cuts(bundle)
            if cuts is None or len(cuts) != 1:
                continue
            if not bundle[0] < cuts[0] < bundle[1]:
                if cuts[0] == bundle[1] == bundles.TOP:
                    # The closed top is no empty range, so the decider lets it pass; the list of bundles does not.
                    chosen.append((bundle, cuts[0]))
                    del hits[bundle]
                    if len(chosen) == space.rules["loadBalancerMaxNumberOfBundlesToSplitPerCycle"]:
                        break
                    continue
                return []  # thrown out of the cycle
            chosen.append((bundle, cuts[0]))
            del hits[bundle]
            if len(chosen) == space.rules["loadBalancerMaxNumberOfBundlesToSplitPerCycle"]:
                break
        result = []
        for bundle, cut in chosen:
            inside = bundle[0] < cut < bundle[1]
            if inside:
                space.split(bundle, [cut])
            result.append(Tried(bundle, broker, "split" if inside else "refused", (cut,) if inside else ()))
        return result


def simulated(space: Space, load_manager: str, cycles: int) -> list[Cycle]:
    """So many cycles."""
    running = Leader(space) if load_manager == "modular" else Brokers(space)
    return [running.next(first=number == 0) for number in range(cycles)]
