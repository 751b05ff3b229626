"""Namespaces while a recording is followed: the bundle list that requests should have left, and the known topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.admin.facts import BrokerStats, BundleList, HashPositions, TopicFacts
from engine.bundles.boundaries import BundleRange, NamespaceBundles, default_boundaries, namespace_bundles, parse_range
from engine.bundles.loads import TopicLoad
from engine.errors import Rejection
from engine.hashing import crc32_hash
from engine.verify.bundles import (
    LOADED_RULE,
    boundary_texts,
    compare_list,
    compare_place,
    compare_places,
    compare_positions,
)
from engine.verify.report import FactKind, Ledger
from tests.lab.bundles.splits import PendingSplit, compare_outcome
from tests.lab.facts import StepFact
from tests.lab.scenario import Recording


@dataclass(slots=True)
class Namespace:
    """What is known of one namespace so far.

    ``made_with``: how many bundles it was made with; ``made_as``: boundaries it was made with. ``listed``: every range
    of a list so far; ``all_listed`` is False when one of them may be unknown. ``in_bundle``: range -> topics that the
    broker listed in it, "" for the whole namespace. ``rates`` are those of the latest statistics.
    """

    name: str
    bundles: NamespaceBundles | None = None
    pending: PendingSplit | None = None
    listed: set[str] = field(default_factory=set)
    all_listed: bool = True
    made_with: int | None = None
    made_as: NamespaceBundles | None = None
    topics: dict[str, TopicLoad] = field(default_factory=dict)
    in_bundle: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rates: dict[str, TopicLoad] = field(default_factory=dict)
    has_statistics: bool = False

    def knows_topics_of(self, bundle: str) -> bool:
        """Whether the topics of a bundle were listed, be it to say that there are none."""
        return bundle in self.in_bundle or "" in self.in_bundle

    def has_loaded_topics(self, bundle: BundleRange) -> bool:
        """Whether the latest statistics have a topic in a bundle."""
        return any(bundle.includes(load.hash) for load in self.rates.values())

    def forget_list(self) -> None:
        """Forget the list after a request whose outcome is unknown: the next one is neither expected nor the first."""
        self.bundles = self.pending = self.made_with = self.made_as = None
        self.all_listed = False

    def remember(self, bundles: NamespaceBundles) -> None:
        """Keep the ranges of a list that was recorded, or that a request met."""
        self.listed.update(str(bundle) for bundle in bundles)

    def can_have(self, bundle: str) -> bool:
        """Whether topics can be loaded in this bundle: statistics show bundles of earlier lists for a while."""
        after = self.pending.list_after if self.pending is not None else None
        return bundle in self.listed or (after is not None and bundle in {str(one) for one in after})

    @property
    def is_certain(self) -> bool:
        """Whether all lists so far are known: one that waits for the rates of its moment is not."""
        pending = self.pending
        settled = pending is None or (pending.plan is not None and not pending.depends_on_rates)
        return self.bundles is not None and self.all_listed and settled


class Namespaces:
    """The namespaces of a recording by name. ``automatic``: brokers split on their own as well."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.by_name: dict[str, Namespace] = {}
        self.automatic = bool(recording.automatic_splits) or (
            recording.named_settings.get("loadBalancerAutoBundleSplitEnabled", "").lower() == "true"
        )

    def of(self, name: str) -> Namespace:
        made_with = self._recording.bundle_count if name == self._recording.namespace else None
        return self.by_name.setdefault(name, Namespace(name, made_with=made_with))


def compare_bundle_list(namespace: Namespace, ledger: Ledger, answer: BundleList, *, automatic: bool) -> None:
    """Compare a bundle list with what the requests so far should have turned the last one into.

    ``automatic``: brokers split on their own as well, so a list may have become finer without a request, and another
    broker may still show the coarser one.
    """
    recorded = compare_list(ledger, namespace.name, answer)
    if recorded is None:
        return
    if namespace.bundles is None:
        _compare_first(namespace, ledger, recorded)
    elif namespace.pending is not None:
        compare_outcome(namespace.pending, ledger, recorded)
    elif automatic and _is_finer(namespace.bundles, recorded):
        ledger.skip("bundle lists that brokers made finer on their own")
    else:
        sides = boundary_texts(recorded.boundaries), boundary_texts(namespace.bundles.boundaries)
        ledger.compare(StepFact.BUNDLE_LIST, namespace.name or "the namespace", *sides, "no request changed it")
    namespace.bundles = recorded
    namespace.pending = None
    namespace.remember(recorded)


def _is_finer(one: NamespaceBundles, other: NamespaceBundles) -> bool:
    """Whether either list is the other one with more boundaries."""
    a, b = set(one.boundaries), set(other.boundaries)
    return a < b or b < a


def _compare_first(namespace: Namespace, ledger: Ledger, recorded: NamespaceBundles) -> None:
    modelled: tuple[int, ...] | Rejection | None = None
    rule = f"{namespace.made_with} equal bundles"
    if namespace.made_as is not None:
        modelled, rule = namespace.made_as.boundaries, "the boundaries it was made with"
    elif namespace.made_with is not None:
        modelled = default_boundaries(namespace.made_with)
    if modelled is None or isinstance(modelled, Rejection):
        ledger.skip("first bundle lists of namespaces whose making was not recorded")
        return
    sides = boundary_texts(recorded.boundaries), boundary_texts(modelled)
    ledger.compare(StepFact.DEFAULT_BOUNDARIES, namespace.name, *sides, rule)


def compare_policy_list(namespace: Namespace, ledger: Ledger, answer: BundleList, *, automatic: bool) -> None:
    """Compare that the policies carry the known list; without one so far, theirs becomes the known one."""
    recorded = compare_list(ledger, namespace.name, answer, counts=False)
    if recorded is None:
        return
    if namespace.bundles is None:
        _compare_first(namespace, ledger, recorded)
        namespace.bundles = recorded
        namespace.remember(recorded)
    elif automatic:
        ledger.skip("policies while brokers split on their own")
    elif namespace.pending is None:
        sides = boundary_texts(recorded.boundaries), boundary_texts(namespace.bundles.boundaries)
        ledger.compare(FactKind.POLICIES, namespace.name, *sides, "the same list as …/bundles")


def note_making(namespace: Namespace, body: object) -> None:
    """Note how a namespace was made: with the boundaries, or the number of bundles, that the request named."""
    wished = body.get("bundles") if isinstance(body, dict) else None
    if not isinstance(wished, dict):
        return
    boundaries, count = wished.get("boundaries"), wished.get("numBundles")
    if isinstance(boundaries, list) and boundaries:
        try:
            bundles = namespace_bundles(namespace.name, tuple(int(text, 16) for text in boundaries))
        except (TypeError, ValueError):
            return
        namespace.made_as = None if isinstance(bundles, Rejection) else bundles
    elif isinstance(count, int) and not isinstance(count, bool):
        namespace.made_with = count


def compare_hash_positions(namespace: Namespace, ledger: Ledger, answer: HashPositions, bundle: str) -> None:
    """Compare the positions of topics in a bundle, and keep the topics; ``bundle`` is the one that was asked for."""
    compare_positions(ledger, namespace.name, answer, bundle)
    for name in answer.positions:
        namespace.topics.setdefault(name, TopicLoad(name, crc32_hash(name), has_stats=False))
    namespace.in_bundle[answer.bundle] = tuple(answer.positions)


def compare_topic_list(namespace: Namespace, ledger: Ledger, names: tuple[str, ...], bundle: str) -> None:
    """Compare a list of topics, of one bundle if it was asked for one, and keep the topics."""
    place = parse_range(bundle) if bundle else None
    positions = set(namespace.in_bundle.get(bundle, ())) if bundle else set()
    if not bundle:
        namespace.in_bundle[""] = names
    for name in names:
        if isinstance(place, BundleRange):
            compare_place(ledger, FactKind.LISTED_IN_BUNDLE, name, place)
        if positions:
            rule = "topicHashPositions of the same bundle"
            where = "listed" if name in positions else "missing"
            ledger.compare(FactKind.LISTED_IN_BUNDLE, name, "listed", where, rule)
        namespace.topics.setdefault(name, TopicLoad(name, crc32_hash(name), has_stats=False))


def compare_broker_stats(
    namespaces: Mapping[str, Namespace], ledger: Ledger, stats: BrokerStats, *, automatic: bool
) -> None:
    """Compare where broker-stats list topics, and keep their rates for flow splits."""
    compare_places(ledger, stats)
    seen: set[tuple[str, str]] = set()
    for name, topic in stats.topics.items():
        place = stats.places[name]
        namespace = namespaces.get(place.namespace)
        if namespace is None:
            continue
        namespace.topics[name] = namespace.rates[name] = load_of(topic)
        if (place.namespace, place.bundle) not in seen:
            seen.add((place.namespace, place.bundle))
            if namespace.is_certain and not automatic:
                listed = "listed" if namespace.can_have(place.bundle) else "not listed"
                subject = f"{namespace.name}/{place.bundle}"
                ledger.compare(FactKind.BUNDLE_IN_LIST, subject, "listed", listed, LOADED_RULE)
    for namespace in namespaces.values():
        namespace.has_statistics = True
        namespace.rates = {name: load for name, load in namespace.rates.items() if name in stats.topics}


def load_of(topic: TopicFacts) -> TopicLoad:
    """Statistics of a topic as a split sees them: for a broker a rate that it does not print is none."""
    return TopicLoad(
        topic.name,
        crc32_hash(topic.name),
        topic.msg_rate_in_msgs_per_sec or 0.0,
        topic.msg_rate_out_msgs_per_sec or 0.0,
        topic.msg_throughput_in_bytes_per_sec or 0.0,
        topic.msg_throughput_out_bytes_per_sec or 0.0,
    )
