"""Bundle lists that change by themselves: which bundle was cut where, and which topics and traffic it had just then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from engine.bundles import BundleRange, NamespaceBundles, TopicLoad, choose_cuts, namespace_bundles, topics_in
from engine.errors import Rejection
from tests.lab.balance.records import AutomaticSplit, BalancingTold
from tests.lab.balance.series import SeenTopics, Series, WrittenList
from tests.lab.bundles.namespaces import load_of
from tests.lab.judge import Judge
from tests.lab.report import FactKind, Ledger


@dataclass(frozen=True, slots=True)
class SeenSplit:
    """One bundle that a later list has no more, with the cuts inside of it. ``at_ms``: of that later list."""

    at_ms: int
    namespace: str
    bundle: BundleRange
    cuts: tuple[int, ...]

    @property
    def name(self) -> str:
        """``tenant/namespace/range``."""
        return f"{self.namespace}/{self.bundle}"


class ListBook:
    """The lists of all namespaces over time, and the topics the brokers had loaded."""

    def __init__(self, series: Series, ledger: Ledger) -> None:
        self._topics = series.topics
        self.lists: list[tuple[WrittenList, NamespaceBundles]] = []
        for each in series.lists:
            found = namespace_bundles(each.namespace, each.boundaries)
            valid = "no valid list" if isinstance(found, Rejection) else "valid"
            rule = "NamespaceBundles: ascending from the first to 0xffffffff"
            ledger.compare(FactKind.VALID_LIST, each.namespace, valid, "valid", rule)
            if not isinstance(found, Rejection):
                self.lists.append((each, found))

    def at(self, at_ms: int) -> dict[str, NamespaceBundles]:
        """The list of each namespace at a moment; what was written in that millisecond counts."""
        return {written.namespace: found for written, found in self.lists if written.at_ms <= at_ms}

    def splits(self) -> list[SeenSplit]:
        """The bundles that were cut, in the order of the lists; two cuts of one bundle may hide two splits."""
        found: list[SeenSplit] = []
        last: dict[str, NamespaceBundles] = {}
        for written, bundles in self.lists:
            before = last.get(written.namespace)
            last[written.namespace] = bundles
            for bundle in before or ():
                cuts = tuple(cut for cut in bundles.boundaries if bundle.lower < cut < bundle.upper)
                if cuts:
                    found.append(SeenSplit(written.at_ms, written.namespace, bundle, cuts))
        return found

    def topics(self, namespace: str, at_ms: int) -> list[list[TopicLoad]]:
        """The topics of a namespace as last seen before a moment, and as first seen after it, of all brokers."""
        return [
            loads
            for loads in (self._seen(namespace, at_ms, after=False), self._seen(namespace, at_ms, after=True))
            if loads
        ]

    def _seen(self, namespace: str, at_ms: int, *, after: bool) -> list[TopicLoad]:
        chosen: dict[str, SeenTopics] = {}
        for each in self._topics:
            if each.at_ms <= at_ms:
                chosen[each.broker] = each
        if after:
            for each in reversed(self._topics):
                if each.at_ms > at_ms:
                    chosen[each.broker] = each
        loads: dict[str, TopicLoad] = {}
        for seen in sorted(chosen.values(), key=lambda each: each.at_ms):
            for name, place in seen.stats.places.items():
                if place.namespace == namespace:
                    loads[name] = load_of(seen.stats.topics[name])
        return list(loads.values())

    def extremes(self, namespace: str, at_ms: int, sightings: int = 3) -> list[list[TopicLoad]]:
        """The topics of a namespace with the highest, and with the lowest rates seen shortly before and after."""
        before = [each.at_ms for each in self._topics if each.at_ms <= at_ms]
        after = [each.at_ms for each in self._topics if each.at_ms > at_ms]
        brokers = len({each.broker for each in self._topics})
        near = [*before[-sightings * brokers :], *after[: sightings * brokers]]
        seen: dict[str, list[TopicLoad]] = {}
        for each in self._topics:
            if each.at_ms in near:
                for name, place in each.stats.places.items():
                    if place.namespace == namespace:
                        seen.setdefault(name, []).append(load_of(each.stats.topics[name]))
        return [[_extreme(loads, pick) for loads in seen.values()] for pick in (max, min)] if seen else []

    def cuts(self, judge: Judge, namespace: str, bundle: BundleRange, at_ms: int) -> list[tuple[int, ...]]:
        """What the default algorithm would cut a bundle at, for each list of topics it may have had. [] without any."""
        algorithm = judge.settings.defaultNamespaceBundleSplitAlgorithm
        found: list[tuple[int, ...]] = []
        for topics in self.topics(namespace, at_ms) or [[]]:
            cuts = choose_cuts(bundle, algorithm, None, topics_in(bundle, topics), judge.settings)
            found.append(() if cuts is None or isinstance(cuts, Rejection) else tuple(cuts))
        return found


def _extreme(loads: Sequence[TopicLoad], pick: Callable[[Iterable[float]], float]) -> TopicLoad:
    return replace(
        loads[0],
        msg_rate_in=pick(each.msg_rate_in for each in loads),
        msg_rate_out=pick(each.msg_rate_out for each in loads),
        throughput_in_bytes_per_sec=pick(each.throughput_in_bytes_per_sec for each in loads),
        throughput_out_bytes_per_sec=pick(each.throughput_out_bytes_per_sec for each in loads),
    )


def compare_splits(book: ListBook, told: BalancingTold, judge: Judge, ledger: Ledger) -> None:
    """Each cut of a bundle against the algorithm, and the scenario's own list against the lists of the series."""
    algorithm = judge.settings.defaultNamespaceBundleSplitAlgorithm
    seen = book.splits()
    for split in seen:
        ledger.step, ledger.file = f"{split.at_ms / 1000:.3f} s", told.files[0]
        modelled = book.cuts(judge, split.namespace, split.bundle, split.at_ms)
        wanted = split.cuts if split.cuts in modelled else next(iter(modelled), ())
        rule = f"{algorithm}, with the topics and rates seen just before or after"
        ledger.compare(FactKind.AUTO_BOUNDARIES, split.name, _texts(split.cuts), _texts(wanted), rule)
    ledger.step = "the list of splits"
    ledger.file = ""
    _compare_told(seen, told.splits, ledger)


def _compare_told(seen: Sequence[SeenSplit], told: Iterable[AutomaticSplit], ledger: Ledger) -> None:
    left = [(each.name, each.cuts) for each in seen]
    rule = "the bundle lists in the metadata store"
    for split in told:
        name = f"{split.namespace}/{split.bundle}"
        same = next((each for each in left if each[0] == name), None)
        if same is not None:
            left.remove(same)
        wanted = _texts(same[1]) if same is not None else "no such split"
        ledger.compare(FactKind.AUTO_SPLIT_TOLD, name, _texts(split.cuts), wanted, rule)
    for name, cuts in left:
        ledger.compare(FactKind.AUTO_SPLIT_TOLD, name, "not told", _texts(cuts), rule)


def _texts(cuts: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"0x{cut:08x}" for cut in cuts)
