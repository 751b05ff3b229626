"""Bundle lists that change by themselves: which bundle was cut where, and which topics and traffic it had just then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from engine.bundles.algorithms import flow_limits
from engine.bundles.boundaries import BundleRange, NamespaceBundles, namespace_bundles
from engine.bundles.columns import topics_in
from engine.bundles.loads import TopicLoad
from engine.bundles.split import choose_cuts
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE
from engine.errors import Rejection
from engine.verify.bundles import VALID_RULE
from engine.verify.report import FactKind, Ledger, Rules
from tests.lab.balance.records import AutomaticSplit, BalanceRecords
from tests.lab.balance.series import SeenTopics, Series, WrittenList
from tests.lab.bundles.flow_rates import Window, reachable, windows_of
from tests.lab.bundles.namespaces import load_of
from tests.lab.facts import StepFact

SIGHTINGS = 3
"""How many statistics of each broker before, and after, a moment count as around it."""


@dataclass(frozen=True, slots=True)
class SeenSplit:
    """A bundle that a later list no longer has, with the cuts inside of it. ``at_ms``: of that later list."""

    at_ms: int
    namespace: str
    bundle: BundleRange
    cuts: tuple[int, ...]

    @property
    def name(self) -> str:
        """``tenant/namespace/range``."""
        return f"{self.namespace}/{self.bundle}"


class ListHistory:
    """The lists of all namespaces over time, and the topics that the brokers had loaded."""

    def __init__(self, series: Series, ledger: Ledger) -> None:
        self._topics = series.topics
        self._brokers = len({seen.broker for seen in series.topics})
        self.lists: list[tuple[WrittenList, NamespaceBundles]] = []
        for written in series.lists:
            bundles = namespace_bundles(written.namespace, written.boundaries)
            valid = "not a valid list" if isinstance(bundles, Rejection) else "valid"
            ledger.compare(FactKind.VALID_LIST, written.namespace, valid, "valid", VALID_RULE)
            if not isinstance(bundles, Rejection):
                self.lists.append((written, bundles))

    def at(self, at_ms: int) -> dict[str, NamespaceBundles]:
        """The list of each namespace at a moment; what was written in that millisecond counts."""
        return {written.namespace: bundles for written, bundles in self.lists if written.at_ms <= at_ms}

    def splits(self) -> list[SeenSplit]:
        """The bundles that were cut, in the order of the lists; two cuts of one bundle may hide two splits."""
        splits: list[SeenSplit] = []
        last: dict[str, NamespaceBundles] = {}
        for written, bundles in self.lists:
            before = last.get(written.namespace)
            last[written.namespace] = bundles
            for bundle in before or ():
                cuts = tuple(cut for cut in bundles.boundaries if bundle.lower < cut < bundle.upper)
                if cuts:
                    splits.append(SeenSplit(written.at_ms, written.namespace, bundle, cuts))
        return splits

    def topics(self, namespace: str, at_ms: int) -> list[list[TopicLoad]]:
        """The topics of a namespace as last seen before a moment, and as first seen after it, by all brokers."""
        sides = (self._seen(namespace, at_ms, after=False), self._seen(namespace, at_ms, after=True))
        return [loads for loads in sides if loads]

    def _seen(self, namespace: str, at_ms: int, *, after: bool) -> list[TopicLoad]:
        chosen: dict[str, SeenTopics] = {}
        for seen in self._topics:
            if seen.at_ms <= at_ms:
                chosen[seen.broker] = seen
        if after:
            for seen in reversed(self._topics):
                if seen.at_ms > at_ms:
                    chosen[seen.broker] = seen
        loads: dict[str, TopicLoad] = {}
        for seen in sorted(chosen.values(), key=lambda seen: seen.at_ms):
            for name, place in seen.stats.places.items():
                if place.namespace == namespace:
                    loads[name] = load_of(seen.stats.topics[name])
        return list(loads.values())

    def around(self, namespace: str, at_ms: int) -> dict[str, list[TopicLoad]]:
        """Topic of a namespace -> all that was seen of it shortly before and after a moment."""
        before = [seen.at_ms for seen in self._topics if seen.at_ms <= at_ms]
        after = [seen.at_ms for seen in self._topics if seen.at_ms > at_ms]
        count = SIGHTINGS * self._brokers
        near = {*before[-count:], *after[:count]}
        around: dict[str, list[TopicLoad]] = {}
        for seen in self._topics:
            if seen.at_ms in near:
                for name, place in seen.stats.places.items():
                    if place.namespace == namespace:
                        around.setdefault(name, []).append(load_of(seen.stats.topics[name]))
        return around

    def extremes(self, namespace: str, at_ms: int) -> list[list[TopicLoad]]:
        """The topics of a namespace with the highest, and with the lowest rates seen around a moment."""
        around = self.around(namespace, at_ms).values()
        return [[_extreme(loads, pick) for loads in around] for pick in (max, min)] if around else []

    def windows(self, namespace: str, bundle: BundleRange, at_ms: int) -> tuple[Window, ...]:
        """The intervals of the rates of a bundle's topics around a moment."""
        around = self.around(namespace, at_ms)
        return windows_of({name: loads for name, loads in around.items() if bundle.includes(loads[0].hash)})

    def cuts(self, rules: Rules, namespace: str, bundle: BundleRange, at_ms: int) -> list[tuple[int, ...]]:
        """What the default algorithm cuts a bundle at, for each list of topics that it may have had."""
        algorithm = rules.settings.defaultNamespaceBundleSplitAlgorithm
        candidates: list[tuple[int, ...]] = []
        for topics in self.topics(namespace, at_ms) or [[]]:
            inside = topics_in(bundle, topics)
            cuts = choose_cuts(bundle, algorithm, None, inside, rules.settings, behaviour=rules.behaviour)
            candidates.append(() if cuts is None or isinstance(cuts, Rejection) else tuple(cuts))
        return candidates

    def may_cut(self, rules: Rules, namespace: str, bundle: BundleRange, at_ms: int, cuts: Sequence[int]) -> bool:
        """Whether rates in the intervals around a moment make the default algorithm cut exactly so."""
        if rules.settings.defaultNamespaceBundleSplitAlgorithm != FLOW_OR_QPS_EQUALLY_DIVIDE:
            return False
        return reachable(self.windows(namespace, bundle, at_ms), flow_limits(rules.settings), cuts)


def _extreme(loads: Sequence[TopicLoad], pick: Callable[[Iterable[float]], float]) -> TopicLoad:
    return replace(
        loads[0],
        msg_rate_in=pick(load.msg_rate_in for load in loads),
        msg_rate_out=pick(load.msg_rate_out for load in loads),
        throughput_in_bytes_per_sec=pick(load.throughput_in_bytes_per_sec for load in loads),
        throughput_out_bytes_per_sec=pick(load.throughput_out_bytes_per_sec for load in loads),
    )


def compare_splits(history: ListHistory, records: BalanceRecords, rules: Rules, ledger: Ledger) -> None:
    """Compare each cut of a bundle with the algorithm, and the scenario's own list with the lists of the series."""
    algorithm = rules.settings.defaultNamespaceBundleSplitAlgorithm
    splits = history.splits()
    for split in splits:
        ledger.moment, ledger.file = f"{split.at_ms / 1000:.3f} s", records.files[0]
        modelled = history.cuts(rules, split.namespace, split.bundle, split.at_ms)
        kind, rule = StepFact.AUTO_BOUNDARIES, f"{algorithm}, with the topics and rates seen just before or after"
        expected = split.cuts if split.cuts in modelled else next(iter(modelled), ())
        if expected != split.cuts and history.may_cut(rules, split.namespace, split.bundle, split.at_ms, split.cuts):
            kind, rule = StepFact.AUTO_BOUNDARIES_WITHIN, "some rates between those recorded around that moment give it"
            expected = split.cuts
        ledger.compare(kind, split.name, cut_texts(split.cuts), cut_texts(expected), rule)
    ledger.moment, ledger.file = "the list of splits", ""
    _compare_listed(splits, records.splits, ledger)


def _compare_listed(splits: Sequence[SeenSplit], listed: Iterable[AutomaticSplit], ledger: Ledger) -> None:
    left = [(split.name, split.cuts) for split in splits]
    rule = "the bundle lists in the metadata store"
    for split in listed:
        name = f"{split.namespace}/{split.bundle}"
        same = next((one for one in left if one[0] == name), None)
        if same is not None:
            left.remove(same)
        modelled = cut_texts(same[1]) if same is not None else "no such split"
        ledger.compare(StepFact.AUTO_SPLIT_LISTED, name, cut_texts(split.cuts), modelled, rule)
    for name, cuts in left:
        ledger.compare(StepFact.AUTO_SPLIT_LISTED, name, "not listed", cut_texts(cuts), rule)


def cut_texts(cuts: Iterable[int]) -> tuple[str, ...]:
    """Cuts as brokers write boundaries."""
    return tuple(f"0x{cut:08x}" for cut in cuts)
