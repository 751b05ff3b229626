"""Bundles: valid lists, hash positions, and that topics are where the lists say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final

from engine.admin.earlier import EarlierAnswers
from engine.admin.facts import BrokerStats, BundleList, HashPositions
from engine.admin.kinds import AnswerKind
from engine.admin.namespaces import decode_bundles, decode_policies
from engine.admin.requests import Naming
from engine.admin.topics import broker_stats_of
from engine.bundles.boundaries import BundleRange, NamespaceBundles, boundary_text, namespace_bundles, parse_range
from engine.errors import Rejection
from engine.hashing import crc32_hash
from engine.verify.answers import Answer
from engine.verify.report import FactKind, Ledger

CRC_RULE: Final = "CRC-32 of the complete topic name"
VALID_RULE: Final = "NamespaceBundles: ascending from the first to 0xffffffff, one bundle fewer than boundaries"
IN_RANGE_RULE: Final = "the range of the bundle includes the CRC-32 of the topic name"
LOADED_RULE: Final = "it has loaded topics"


def compare_list(ledger: Ledger, subject: str, answer: BundleList, *, counts: bool = True) -> NamespaceBundles | None:
    """Check that a list of boundaries is valid for a namespace; return its bundles, or None.

    In policies it ``counts`` only where it is not.
    """
    bundles = namespace_bundles(subject, answer.boundaries)
    recorded = validity(answer, bundles)
    if counts or recorded != "valid":
        ledger.compare(FactKind.VALID_LIST, subject or "the namespace", recorded, "valid", VALID_RULE)
    return None if isinstance(bundles, Rejection) else bundles


def validity(answer: BundleList, bundles: NamespaceBundles | Rejection) -> str:
    """Whether the answer is a valid list with the right number of bundles, in words."""
    if isinstance(bundles, Rejection):
        return "not a valid list"
    count = len(bundles.boundaries) - 1
    if answer.reported_count in (None, count):
        return "valid"
    return f"numBundles {answer.reported_count}, but boundaries of {count}"


def compare_positions(ledger: Ledger, subject: str, answer: HashPositions, bundle: str = "") -> None:
    """Compare each position with the CRC-32 of its topic and with the range; ``bundle`` is the one asked for."""
    if bundle:
        ledger.compare(FactKind.LISTED_IN_BUNDLE, subject, answer.bundle, bundle, "the bundle that was asked for")
    place = parse_range(answer.bundle)
    for name, position in answer.positions.items():
        ledger.compare(FactKind.HASH_POSITION, name, position, crc32_hash(name), CRC_RULE)
        if isinstance(place, BundleRange):
            compare_place(ledger, FactKind.LISTED_IN_BUNDLE, name, place)


def compare_places(ledger: Ledger, stats: BrokerStats) -> None:
    """Compare that broker-stats lists each topic below a range that includes its hash."""
    bundles = {text: parse_range(text) for text in {place.bundle for place in stats.places.values()}}
    for name in stats.topics:
        bundle = bundles[stats.places[name].bundle]
        if isinstance(bundle, BundleRange):
            compare_place(ledger, FactKind.TOPIC_BUNDLE, name, bundle)


def compare_place(ledger: Ledger, kind: FactKind, topic: str, bundle: BundleRange) -> None:
    """Compare that a bundle's range includes the hash of a topic."""
    position = crc32_hash(topic)
    modelled = str(bundle) if bundle.includes(position) else f"outside, at 0x{position:08x}"
    ledger.compare(kind, topic, str(bundle), modelled, IN_RANGE_RULE)


def compare_owned(ledger: Ledger, names: Iterable[str]) -> None:
    """Compare that a broker's list of its own bundles has no two of a namespace that overlap. O(n log n).

    After a split nobody owns the parent any longer.
    """
    by_namespace: dict[str, list[BundleRange]] = {}
    for name in names:
        namespace, _, text = name.rpartition("/")
        bundle = parse_range(text)
        if isinstance(bundle, BundleRange):
            by_namespace.setdefault(namespace, []).append(bundle)
    for namespace, bundles in by_namespace.items():
        bundles.sort(key=lambda bundle: (bundle.lower, bundle.upper))
        overlaps = tuple(f"{one} and {other}" for one, other in pairwise(bundles) if other.lower < one.upper)
        ledger.compare(FactKind.OWNED_DISJOINT, namespace, overlaps, (), "after a split nobody owns the parent")


def compare_moment(
    ledger: Ledger, naming: Naming, answers: Iterable[Answer], earlier: EarlierAnswers | None = None
) -> None:
    """Compare the answers of one moment with each other.

    Where they have exactly one bundle list of a namespace, its policies must carry the same list, and bundles with
    loaded topics must be in it. Two lists were recorded before and after a change, so nothing can be said.
    """
    answers = tuple(answers)
    lists: dict[str, list[BundleList]] = {}
    for answer in answers:
        if answer.kind is AnswerKind.BUNDLES:
            namespace = naming.namespace(answer.file) or ""
            lists.setdefault(namespace, []).append(decode_bundles(answer.data).good)
    known = {name: same[0] for name, same in lists.items() if len(same) == 1 and same[0].boundaries}
    for answer in answers:
        ledger.file = answer.file
        if answer.kind is AnswerKind.POLICIES:
            _compare_with_policies(
                ledger, known, naming.namespace(answer.file) or "", decode_policies(answer.data).good
            )
        elif answer.kind is AnswerKind.BROKER_STATS_TOPICS:
            _compare_loaded(ledger, known, broker_stats_of(answer.data, answer.file, earlier).good)


def _compare_with_policies(
    ledger: Ledger, lists: Mapping[str, BundleList], namespace: str, policies: BundleList
) -> None:
    if namespace in lists and policies.boundaries:
        sides = boundary_texts(policies.boundaries), boundary_texts(lists[namespace].boundaries)
        ledger.compare(FactKind.POLICIES, namespace, *sides, "the same list as in the bundle list of that moment")


def _compare_loaded(ledger: Ledger, lists: Mapping[str, BundleList], stats: BrokerStats) -> None:
    for namespace, bundle in sorted({(place.namespace, place.bundle) for place in stats.places.values()}):
        if namespace not in lists:
            continue
        if _was_split(bundle, lists[namespace]):
            ledger.skip("statistics that still name a bundle that was split: brokers update them once an interval")
            continue
        listed = "listed" if bundle in lists[namespace].ranges else "not listed"
        ledger.compare(FactKind.BUNDLE_IN_LIST, f"{namespace}/{bundle}", "listed", listed, LOADED_RULE)


def _was_split(bundle: str, bundles: BundleList) -> bool:
    """Whether this bundle is the union of several bundles in the list."""
    place = parse_range(bundle)
    if bundle in bundles.ranges or not isinstance(place, BundleRange):
        return False
    return place.lower in bundles.boundaries and place.upper in bundles.boundaries


def boundary_texts(boundaries: Iterable[int]) -> tuple[str, ...]:
    """Boundaries as brokers write them."""
    return tuple(boundary_text(boundary) for boundary in boundaries)
