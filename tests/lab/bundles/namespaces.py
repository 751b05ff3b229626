"""Bundles: the list of a namespace as requests should have left it, and where topics are in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.admin.facts import BrokerStats, BundleList, HashPositions, TopicFacts
from engine.bundles import (
    BundleRange,
    NamespaceBundles,
    TopicLoad,
    default_boundaries,
    namespace_bundles,
    parse_range,
)
from engine.errors import Rejection
from engine.hashing import crc32_hash
from tests.lab.bundles.splits import Awaited, is_by_rates, judge_split_result, texts
from tests.lab.report import FactKind, Ledger

CRC_RULE = "CRC-32 of the complete topic name"
_VALID_RULE = "NamespaceBundles: ascending from the first to 0xffffffff, one bundle fewer than boundaries"
IN_RANGE_RULE = "CRC-32 of the topic name lies in the bundle's range"


@dataclass(slots=True)
class NamespaceBook:
    """What is known of one namespace while its recording is gone through.

    ``made_with``: how many bundles it was made with, where the scenario tells it. ``listed``: every range of a list so
    far, ``all_listed`` False when one of them may be unknown.
    """

    name: str
    bundles: NamespaceBundles | None = None
    awaited: Awaited | None = None
    listed: set[str] = field(default_factory=set)
    all_listed: bool = True
    made_with: int | None = None
    topics: dict[str, TopicLoad] = field(default_factory=dict)
    in_bundle: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rates: dict[str, TopicLoad] = field(default_factory=dict)

    def knows_topics_of(self, bundle: str) -> bool:
        """Whether the topics of a bundle were listed, if only to say that there are none."""
        return bundle in self.in_bundle or "" in self.in_bundle

    def forget_list(self) -> None:
        """Something happened whose outcome cannot be told: the next list is neither the last one nor the first."""
        self.bundles = self.awaited = self.made_with = None
        self.all_listed = False

    def met(self, bundles: NamespaceBundles) -> None:
        """Keep the ranges of a list that was recorded, or that a request met."""
        self.listed.update(str(bundle) for bundle in bundles)

    def can_have(self, bundle: str) -> bool:
        """Whether topics can be loaded in this bundle: statistics show bundles of earlier lists for a while."""
        after = self.awaited.list_after if self.awaited is not None else None
        return bundle in self.listed or (after is not None and bundle in {str(each) for each in after})

    @property
    def is_certain(self) -> bool:
        """Whether all lists up to now are known: one that waits for the rates of its moment is not."""
        plan = self.awaited.plan if self.awaited is not None else None
        settled = self.awaited is None or (plan is not None and not is_by_rates(plan))
        return self.bundles is not None and self.all_listed and settled


def see_list(book: NamespaceBook, ledger: Ledger, found: BundleList, *, automatic: bool) -> None:
    """A bundle list was recorded: hold it against what the requests before it should have made of the last one.

    ``automatic``: the brokers split on their own as well, so a list may have become finer without a request, and
    another broker may still show the coarser one.
    """
    recorded = namespace_bundles(book.name, found.boundaries)
    subject = book.name or "the namespace"
    ledger.compare(FactKind.VALID_LIST, subject, _validity(found, recorded), "valid", _VALID_RULE)
    if isinstance(recorded, Rejection):
        return
    if book.bundles is None:
        _see_first(book, ledger, recorded)
    elif book.awaited is not None:
        judge_split_result(book.awaited, ledger, recorded)
    elif automatic and _finer(book.bundles, recorded):
        ledger.skip("bundle lists that brokers made finer on their own")
    else:
        ledger.compare(
            FactKind.BUNDLE_LIST,
            subject,
            texts(recorded.boundaries),
            texts(book.bundles.boundaries),
            "no request changed it",
        )
    book.bundles = recorded
    book.awaited = None
    book.met(recorded)


def _validity(found: BundleList, recorded: NamespaceBundles | Rejection) -> str:
    if isinstance(recorded, Rejection):
        return "no valid list"
    count = len(recorded.boundaries) - 1
    told = found.told_count
    return "valid" if told in (None, count) else f"numBundles {told}, but boundaries of {count}"


def _finer(one: NamespaceBundles, other: NamespaceBundles) -> bool:
    a, b = set(one.boundaries), set(other.boundaries)
    return a < b or b < a


def _see_first(book: NamespaceBook, ledger: Ledger, recorded: NamespaceBundles) -> None:
    wanted = default_boundaries(book.made_with) if book.made_with is not None else None
    if wanted is None or isinstance(wanted, Rejection):
        ledger.skip("first bundle lists of namespaces whose making was not recorded")
    else:
        rule = f"{book.made_with} equal bundles"
        ledger.compare(FactKind.DEFAULT_BOUNDARIES, book.name, texts(recorded.boundaries), texts(wanted), rule)


def see_policies(book: NamespaceBook, ledger: Ledger, found: BundleList, *, automatic: bool) -> None:
    """The policies carry the same list; without one so far it becomes the known one."""
    recorded = namespace_bundles(book.name, found.boundaries)
    validity = _validity(found, recorded)
    if validity != "valid":
        ledger.compare(FactKind.VALID_LIST, book.name, validity, "valid", _VALID_RULE)
    if isinstance(recorded, Rejection):
        return
    if book.bundles is None:
        _see_first(book, ledger, recorded)
        book.bundles = recorded
        book.met(recorded)
    elif automatic:
        ledger.skip("policies while brokers split on their own")
    elif book.awaited is None:
        ledger.compare(
            FactKind.POLICIES,
            book.name,
            texts(recorded.boundaries),
            texts(book.bundles.boundaries),
            "the same list as …/bundles",
        )


def see_positions(book: NamespaceBook, ledger: Ledger, found: HashPositions, bundle: str) -> None:
    """topicHashPositions: each position is the CRC-32 of the name, and lies in the bundle that was asked for."""
    if bundle:
        ledger.compare(FactKind.LISTED_IN_BUNDLE, book.name, found.bundle, bundle, "the bundle that was asked for")
    place = parse_range(found.bundle)
    for name, position in found.positions.items():
        ledger.compare(FactKind.HASH_POSITION, name, position, crc32_hash(name), CRC_RULE)
        if isinstance(place, BundleRange):
            _in_bundle(ledger, FactKind.LISTED_IN_BUNDLE, name, place)
        book.topics.setdefault(name, TopicLoad(name, crc32_hash(name), has_stats=False))
    book.in_bundle[found.bundle] = tuple(found.positions)


def see_topic_list(book: NamespaceBook, ledger: Ledger, names: tuple[str, ...], bundle: str) -> None:
    """A list of topics, of one bundle if it was asked for so."""
    place = parse_range(bundle) if bundle else None
    positions = set(book.in_bundle.get(bundle, ())) if bundle else set()
    if not bundle:
        book.in_bundle[""] = names
    for name in names:
        if isinstance(place, BundleRange):
            _in_bundle(ledger, FactKind.LISTED_IN_BUNDLE, name, place)
        if positions:
            where = "listed" if name in positions else "missing"
            ledger.compare(FactKind.LISTED_IN_BUNDLE, name, "listed", where, "topicHashPositions of the same bundle")
        book.topics.setdefault(name, TopicLoad(name, crc32_hash(name), has_stats=False))


def _in_bundle(ledger: Ledger, kind: FactKind, name: str, place: BundleRange) -> None:
    position = crc32_hash(name)
    inside = str(place) if place.includes(position) else f"outside, at 0x{position:08x}"
    ledger.compare(kind, name, str(place), inside, IN_RANGE_RULE)


def see_broker_stats(
    books: Mapping[str, NamespaceBook], ledger: Ledger, stats: BrokerStats, *, automatic: bool
) -> None:
    """broker-stats: each topic is listed below a range that includes its hash; its rates are kept for flow splits."""
    seen: set[tuple[str, str]] = set()
    for name, topic in stats.topics.items():
        place = stats.places[name]
        bundle = parse_range(place.bundle)
        if isinstance(bundle, BundleRange):
            _in_bundle(ledger, FactKind.TOPIC_BUNDLE, name, bundle)
        book = books.get(place.namespace)
        if book is None:
            continue
        load = load_of(topic)
        book.topics[name] = book.rates[name] = load
        if (place.namespace, place.bundle) not in seen:
            seen.add((place.namespace, place.bundle))
            if book.is_certain and not automatic:
                found = "listed" if book.can_have(place.bundle) else "not listed"
                ledger.compare(
                    FactKind.BUNDLE_IN_LIST, f"{book.name}/{place.bundle}", "listed", found, "it has loaded topics"
                )
    for book in books.values():
        book.rates = {name: load for name, load in book.rates.items() if name in stats.topics}


def load_of(topic: TopicFacts) -> TopicLoad:
    """Statistics of a topic as a split sees them."""
    return TopicLoad(
        topic.name,
        crc32_hash(topic.name),
        topic.msg_rate_in_msgs_per_sec,
        topic.msg_rate_out_msgs_per_sec,
        topic.msg_throughput_in_bytes_per_sec,
        topic.msg_throughput_out_bytes_per_sec,
    )
