"""Statistics of a Key_Shared subscription against the model: consumers, hash ranges, mode, and what waits."""

from __future__ import annotations

from collections.abc import Sequence

from engine.admin.facts import ConsumerFacts, SubscriptionFacts
from engine.admin.keyshared import KeySharedFacts
from engine.config import BrokerSettings
from tests.lab.connect_times import connect_ranks
from tests.lab.key_shared.subscription import KeySharedBook
from tests.lab.report import FactKind, Ledger

ARRAYS = "keyHashRangeArrays"
TEXTS = "keyHashRanges"
Pairs = tuple[tuple[int, int], ...]


def compare_connected(
    book: KeySharedBook, ledger: Ledger, subject: str, subscription: SubscriptionFacts
) -> tuple[str, ...] | None:
    """Hold those listed against those connected; the scenario's ids of those listed, None when they are others."""
    names = tuple(consumer.name for consumer in subscription.consumers)
    wanted = tuple(book.name_of(who) for who in book.connected)
    if not ledger.compare(
        FactKind.CONNECTED, subject, tuple(sorted(names)), tuple(sorted(wanted)), "the scenario's steps"
    ):
        return None
    ledger.compare(FactKind.ORDER, subject, names, wanted, "connect order")
    namesakes = {name for name in names if names.count(name) > 1}
    for name, ranks in sorted(connect_ranks(subscription.consumers, namesakes).items()):
        place = f"{subject} / {name}"
        in_order = tuple(range(1, len(ranks) + 1))
        ledger.compare(FactKind.ORDER, place, tuple(ranks), in_order, "namesakes by the time they connected")
    left: dict[str, list[str]] = {}
    for who in book.connected:
        left.setdefault(book.name_of(who), []).append(who)
    return tuple(left[name].pop(0) for name in names)


def compare_ranges(
    book: KeySharedBook, ledger: Ledger, subject: str, subscription: SubscriptionFacts, listed: Sequence[str]
) -> None:
    """The ranges of each consumer, as statistics show them."""
    shown = book.ranges()
    rule = f"{type(book.selector).__name__} of {len(listed)} consumers, Pulsar {book.behaviour.label}"
    for who, consumer in zip(listed, subscription.consumers, strict=True):
        recorded, modelled = consumer.key_hash_ranges, shown[who]
        place = f"{subject} / {consumer.name}"
        ledger.compare(FactKind.KEY_RANGES, place, *_where_they_differ(recorded, modelled), rule)


def compare_apart(ledger: Ledger, subject: str, consumers: Sequence[ConsumerFacts]) -> None:
    """All that can be said of ranges whose history is not told: no slot is two consumers'. O(n log n).

    The two oldest rings show a shared point for each of its consumers, and they wrote ranges as texts.
    """
    pieces = sorted((piece, place) for place, each in enumerate(consumers) for piece in each.key_hash_ranges)
    clashes: list[str] = []
    furthest = -1
    for number, (piece, place) in enumerate(pieces):
        before = pieces[furthest] if furthest >= 0 else None
        if (
            before is not None
            and piece[0] <= before[0][1]
            and not (consumers[place].range_texts and piece == before[0])
        ):
            clashes += _texts((before[0], piece))
        if before is None or piece[1] > before[0][1]:
            furthest = number
    if pieces:
        rule = "a slot goes to one consumer"
        ledger.compare(FactKind.KEY_RANGES_APART, subject, tuple(clashes), (), rule)


def compare_form(
    book: KeySharedBook, settings: BrokerSettings, ledger: Ledger, subject: str, consumers: Sequence[ConsumerFacts]
) -> None:
    """Pairs of numbers since 4.0, texts before and in the classic dispatcher."""
    classic = (
        book.behaviour.key_shared_order == "recently-joined"
        or settings.subscriptionKeySharedUseClassicPersistentImplementation
    )
    forms = {ARRAYS for each in consumers if each.range_arrays} | {TEXTS for each in consumers if each.range_texts}
    if forms:
        modelled = (TEXTS if classic else ARRAYS,)
        rule = f"the {'classic' if classic else 'current'} dispatcher, Pulsar {book.behaviour.label}"
        ledger.compare(FactKind.KEY_RANGES_FORM, subject, tuple(sorted(forms)), modelled, rule)


def compare_terms(book: KeySharedBook, ledger: Ledger, subject: str, facts: KeySharedFacts) -> None:
    """Mode and ordering; a release that leaves one of them out says nothing about it."""
    if facts.mode is not None:
        ledger.compare(FactKind.KEY_SHARED_TERMS, subject, facts.mode, book.terms.mode.value, "the scenario's type")
    if facts.allow_out_of_order_delivery is not None:
        recorded = f"allowOutOfOrderDelivery {_text(facts.allow_out_of_order_delivery)}"
        modelled = f"allowOutOfOrderDelivery {_text(book.terms.allow_out_of_order_delivery)}"
        ledger.compare(FactKind.KEY_SHARED_TERMS, subject, recorded, modelled, "what the consumers asked for")


def compare_backlog(book: KeySharedBook, ledger: Ledger, subject: str, facts: KeySharedFacts, waiting: int) -> None:
    """Entries that went to nobody: the backlog, once all that went out is acknowledged.

    Since 4.0 all of them are on the replay queue; before, some may not even have been read.
    """
    if facts.unacked_messages:
        ledger.skip("backlogs while messages are on their way")
        return
    recorded = facts.backlog_entries
    ledger.compare(FactKind.KEY_BACKLOG, subject, recorded, waiting, "messages sent, without those that arrived")
    if facts.replay_messages is not None and book.behaviour.ownerless_key == "waits":
        rule = "what waits was read, and is on the replay queue"
        ledger.compare(FactKind.KEY_BACKLOG, subject, facts.replay_messages, waiting, rule)


def _where_they_differ(recorded: Pairs, modelled: Pairs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both sides in full when they are the same ranges, in another order perhaps; else what only one side has."""
    if set(recorded) != set(modelled):
        recorded, modelled = (
            tuple(each for each in recorded if each not in set(modelled)),
            tuple(each for each in modelled if each not in set(recorded)),
        )
    return _texts(recorded), _texts(modelled)


def _texts(pairs: Pairs) -> tuple[str, ...]:
    return tuple(f"[{start},{end}]" for start, end in pairs)


def _text(value: bool) -> str:
    return "true" if value else "false"
