"""Key_Shared: who owns which hash range, and what drains, as statistics of one moment show it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from engine.admin.facts import ConsumerFacts, SubscriptionFacts, TopicFacts
from engine.keyshared.admission import KeySharedMode
from engine.verify.report import FactKind, Ledger

HISTORY: Final = "Key_Shared ranges by consumer: they depend on who joined and left before"
_HIGHEST_SLOT: Final = 65_535
Pairs = tuple[tuple[int, int], ...]


def compare_key_ranges(ledger: Ledger, topic: TopicFacts, subscription: SubscriptionFacts) -> None:
    """Compare what needs no history: that every slot has one owner, and the sums of draining hashes.

    Which ranges a consumer has depends on who joined and left before, in the rings too once namesakes were there.
    """
    subject = f"{topic.name} / {subscription.name}"
    compare_disjoint(ledger, subject, subscription.consumers)
    if subscription.mode == KeySharedMode.AUTO_SPLIT.value:
        _compare_coverage(ledger, subject, subscription.consumers)
    if any(consumer.key_hash_ranges for consumer in subscription.consumers):
        ledger.skip(HISTORY)
    # A request can leave the consumers out; their sums are in the subscription all the same.
    if subscription.consumers and subscription.draining_count is not None:
        compare_draining_sums(ledger, subject, subscription)


def _compare_coverage(ledger: Ledger, subject: str, consumers: Sequence[ConsumerFacts]) -> None:
    """Compare that AUTO_SPLIT leaves no slot out; only the form in pairs of numbers shows slots in all modes."""
    pieces = sorted(pair for consumer in consumers for pair in consumer.range_arrays)
    if not pieces:
        return
    last = pieces[-1][1]
    gaps = [(end + 1, start - 1) for (_, end), (start, _) in pairwise(pieces) if start > end + 1]
    if pieces[0][0] > 1:
        gaps.insert(0, (1, pieces[0][0] - 1))
    if last < _HIGHEST_SLOT:
        gaps.append((last + 1, _HIGHEST_SLOT))
    ledger.compare(FactKind.KEY_RANGES_COMPLETE, subject, range_texts(tuple(gaps)), (), "AUTO_SPLIT leaves no slot out")


def compare_disjoint(ledger: Ledger, subject: str, consumers: Sequence[ConsumerFacts]) -> None:
    """Compare that no slot has two owners. O(n log n).

    The two oldest rings print a point that several consumers share for each of them, as equal texts; that is right.
    """
    pieces = sorted((piece, place) for place, consumer in enumerate(consumers) for piece in consumer.key_hash_ranges)
    clashes: list[str] = []
    furthest: tuple[int, int] | None = None
    for piece, place in pieces:
        shared_point = bool(consumers[place].range_texts) and piece == furthest
        if furthest is not None and piece[0] <= furthest[1] and not shared_point:
            clashes += range_texts((furthest, piece))
        if furthest is None or piece[1] > furthest[1]:
            furthest = piece
    if pieces:
        ledger.compare(FactKind.KEY_RANGES_DISJOINT, subject, tuple(clashes), (), "a slot goes to one consumer")


def compare_draining_sums(ledger: Ledger, subject: str, facts: SubscriptionFacts) -> None:
    """Compare the subscription's counts with its consumers', and theirs with the hashes that they list."""
    hashes = sum(consumer.draining_count or 0 for consumer in facts.consumers)
    messages = sum(consumer.draining_unacked_messages or 0 for consumer in facts.consumers)
    recorded = _counted(facts.draining_count or 0, facts.draining_unacked_messages or 0)
    rule = "the subscription's counts are the sums over its consumers"
    ledger.compare(FactKind.DRAINING_COUNT, subject, recorded, _counted(hashes, messages), rule)
    for consumer in facts.consumers:
        _compare_listed_hashes(ledger, f"{subject} / {consumer.name}", consumer)


def _compare_listed_hashes(ledger: Ledger, subject: str, consumer: ConsumerFacts) -> None:
    messages = sum(draining.unacked for draining in consumer.draining)
    recorded = _counted(consumer.draining_count or 0, consumer.draining_unacked_messages or 0)
    if consumer.unacked_messages is not None and messages > consumer.unacked_messages:
        recorded += f", of {consumer.unacked_messages} that the consumer holds"
    rule = "the counts are those of the listed hashes, and a consumer does not drain more than it holds"
    ledger.compare(FactKind.DRAINING_COUNT, subject, recorded, _counted(len(consumer.draining), messages), rule)


def _counted(hashes: int, messages: int) -> str:
    return f"{hashes} hashes with {messages} messages"


def where_they_differ(recorded: Pairs, modelled: Pairs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both sides as texts: the items that only one of them has; all items where only the order differs, or nothing."""
    if set(recorded) != set(modelled):
        one_side = tuple(pair for pair in recorded if pair not in set(modelled))
        modelled = tuple(pair for pair in modelled if pair not in set(recorded))
        recorded = one_side
    return range_texts(recorded), range_texts(modelled)


def range_texts(pairs: Pairs) -> tuple[str, ...]:
    """Ranges as brokers write them."""
    return tuple(f"[{start},{end}]" for start, end in pairs)
