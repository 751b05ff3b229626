"""``explain key`` and ``keys``: where a key goes and why, what a consumer has, and how the keys are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from engine.answer import about, extended
from engine.cluster.keys.state import SharingMode
from engine.documents import document
from engine.keyshared.delivery_state import Holder, Wait, waits
from engine.keyshared.explain import KeyExplanation, Rival, rivals_of
from engine.keyshared.keys import KeySource, StickyKey, text_of_key
from engine.keyshared.luck import Luck
from engine.keyshared.model import Consumer
from engine.keyshared.ownership import Gaps, OwnedSlots, gaps_of, owned_ranges, slots_by_consumer
from engine.routing.clients import OtherRoute, alike
from engine.text import counted
from engine.views.failover.table import letter_tag
from engine.views.keys.answers import key_sentence
from engine.views.keys.model import LuckWord, PartitionsView
from engine.views.keys.path import KeyPath
from engine.views.keys.words import NO_HEIRS, VERDICTS, luck_sentence, verdict_text
from engine.views.reported.model import ReportedView
from tui.cli.plain import BY_JSON, PageColumn, and_more, labelled, listing, table, wrapped
from tui.cli.printers.explanation import FORMAT
from tui.cli.printers.keys_page import partition_lines
from tui.cli.printers.reported import reported_lines
from tui.cli.sharing import Owned, Sharing
from tui.keys.words import nearest_first, why_not
from tui.kit.wording import percent, safe_name, shorten_middle

KEYS_SHOWN: Final = 50
BYTES_SHOWN: Final = 64
RIVALS_SHOWN: Final = 12
PIECES_SHOWN: Final = 1_000
CONSUMERS_SHOWN: Final = 500
_LABEL_CELLS: Final = 11
_NAME_CELLS: Final = 24
_MODE: Final = about("How keys are shared.")
_TECHNIQUE: Final = about("Whether the mode is a technique of clients on top of sticky.")
_RELEASE: Final = about("The release whose rule it is.")
_SUBSCRIPTION: Final = about("Its key in what was opened.")
_PARTITION: Final = about(
    "The partition whose consumers share the keys; null without partitions in what was recorded.", 0
)
_CONNECTED: Final = about("Consumers.", 0)
_REMARKS: Final = {
    KeySource.NONE_KEY: "the message has no key; all such messages have this one, unless a producer and a sequence id"
    " are known and the broker is 4.0 or later",
    KeySource.PRODUCER_AND_SEQUENCE: "the message has no key; since 4.0 such messages are spread like this, before"
    " they all had NONE_KEY",
    KeySource.UNREADABLE: "Java cannot decode this base64, so the broker takes the message as one without a key",
}


def explained_lines(
    who: Sharing, sticky: StickyKey, explanation: KeyExplanation, way: KeyPath | None = None
) -> list[str]:
    """The key's way to its consumer, one labelled sentence for each step."""
    step = explanation.slot
    lines = labelled("key", f"{_key(sticky.data)} ({sticky.source.value})")
    if sticky.source in _REMARKS:
        lines += labelled("", _REMARKS[sticky.source])
    if way is not None:
        lines += labelled("partition", safe_name(way.sentence))
    lines += labelled("bytes", _bytes(step.key))
    lines += labelled("hash", f"murmur3 gives {step.raw_hash:,}, without its top bit {step.hash_value:,}")
    sums = f"{step.hash_value:,} mod {step.division.divisor:,} = {step.division.remainder:,}"
    sums += f", plus {step.low}" if step.low else ""
    folded = "; slot 0 means no hash, so it becomes 1" if step.folded else ""
    lines += labelled("slot", f"{step.slot:,} = {sums}{folded}")
    if not who.selector.consumers:
        lines += labelled("owner", "nobody: name consumers with --consumers, or a recording")
        return [*lines, *(_elsewhere(way) if way is not None else ())]
    lines += labelled("owner", _consumer(explanation.owner))
    lines += labelled("rule", safe_name(key_sentence(explanation)))
    if explanation.point is not None and explanation.point.claimants:
        keys = ", ".join(repr(point_key) for point_key in explanation.point.claimants[0].point_keys)
        lines += labelled(
            "point", f"{explanation.point.point:,}, {explanation.point.distance:,} on, is the hash of {keys}"
        )
    heirs = ", then ".join(_consumer(heir) for heir in explanation.heirs)
    lines += labelled("heirs", heirs or NO_HEIRS)
    lines += labelled("waits", _waiting(who, explanation))
    lines += labelled("of", _whose(who))
    if way is not None and way.resonance is not None:
        lines += labelled("slots", way.resonance.sentence)
    return [*lines, *_others(rivals_of(who.selector, explanation)), *(_elsewhere(way) if way is not None else ())]


def _others(rivals: tuple[Rival, ...]) -> list[str]:
    """All other consumers, and why they do not get the key, the nearest first."""
    if not rivals:
        return []
    columns: list[PageColumn[Rival]] = [
        ("not", "<", lambda rival: shorten_middle(_consumer(rival.consumer), _NAME_CELLS)),
        ("slots", ">", lambda rival: f"{rival.slots:,}"),
        ("why", "<", why_not),
    ]
    return ["", *listing(nearest_first(rivals)[:RIVALS_SHOWN], columns), *_more(len(rivals), RIVALS_SHOWN)]


def _elsewhere(way: KeyPath) -> list[str]:
    """Where all other clients send the key: one line for each hash and its partition."""
    return ["", *table(other_clients(way.others), ("<", ">", "<"))]


def other_clients(others: tuple[OtherRoute, ...]) -> list[tuple[str, str, str]]:
    """Rows for each hash and its partition, with the clients that have it, under their headings."""
    rows = [
        (hashing, "any" if partition is None else str(partition), ", ".join(clients))
        for hashing, partition, clients in alike(others)
    ]
    return [("hash", "partition", "of clients"), *rows]


@dataclass(frozen=True, slots=True)
class SlotWait:
    """What messages of the slot wait for."""

    reason: Annotated[str, about("Why they wait, in a word or two.")]
    ends_when: Annotated[str, about("What ends the wait.")]
    messages: Annotated[int, about("Messages that wait.", 0)]
    holders: Annotated[tuple[Holder, ...], about("Who must acknowledge first.")]
    since_ms: Annotated[int | None, about("From when on, in milliseconds; null where Pulsar keeps no time.")]
    blocked_attempts: Annotated[int, about("How often sending was tried in vain.", 0)]


@dataclass(frozen=True, slots=True)
class KeyExplained:
    """Why a key goes to its consumer."""

    FORMAT: ClassVar[str] = FORMAT
    KIND: ClassVar[str] = "key"
    key: Annotated[str, about("The sticky key as text; bytes that are not text as hex:00ff.")]
    source: Annotated[KeySource, about("Where the key was taken from.")]
    mode: Annotated[SharingMode, _MODE]
    client_side_technique: Annotated[bool, _TECHNIQUE]
    release: Annotated[str, _RELEASE]
    subscription: Annotated[str | None, _SUBSCRIPTION]
    partition: Annotated[int | None, _PARTITION]
    connected: Annotated[int, _CONNECTED]
    route: Annotated[KeyPath | None, about("From the key to its partition; null without partitions.")]
    explanation: Annotated[KeyExplanation, about("Every step.")]
    not_owner: Annotated[tuple[Rival, ...], about("Everybody else, and why not.")]
    sentence: Annotated[str, about("The rule in a sentence.")]
    wait: Annotated[SlotWait | None, about("What messages of the slot wait for; null where none waits.")]


def explained_document(
    who: Sharing, sticky: StickyKey, explanation: KeyExplanation, way: KeyPath | None = None
) -> KeyExplained:
    """The same as a document."""
    wait = _wait(who, explanation)
    reason = {} if wait is None else {"reason": wait.reason.name.lower(), "ends_when": wait.reason.value}
    return KeyExplained(
        key=text_of_key(sticky.data),
        source=sticky.source,
        **_head(who),
        route=way,
        explanation=explanation,
        not_owner=rivals_of(who.selector, explanation),
        sentence=key_sentence(explanation) if who.selector.consumers else "nobody is connected",
        wait=None if wait is None else extended(SlotWait, wait, messages=len(wait.messages), **reason),
    )


def owned_lines(who: Sharing, owned: Owned) -> list[str]:
    """Exactly the slots of a consumer, and its keys."""
    share = percent(owned.slots / who.selector.slots.occurring)
    lines = labelled("consumer", _consumer(owned.consumer))
    lines += labelled("of", _whose(who))
    lines += labelled("slots", f"{counted(owned.slots, 'slot')} in {counted(len(owned.pieces), 'piece')}, {share}")
    pieces = " ".join(_piece(piece) for piece in owned.pieces[:PIECES_SHOWN]) or "none"
    lines += wrapped(pieces, first=" " * _LABEL_CELLS, rest=" " * _LABEL_CELLS)
    lines += _more(len(owned.pieces), PIECES_SHOWN)
    if not owned.known:
        return lines
    lines += labelled("keys", f"{len(owned.keys)} of {counted(len(owned.known), 'known key')}")
    columns: list[PageColumn[bytes]] = [
        ("key", "<", _key),
        ("slot", ">", lambda key: str(who.selector.slots.slot_of_key(key))),
        ("messages", ">", lambda key: str(owned.known[key])),
    ]
    if owned.keys:
        lines += listing(owned.keys[:KEYS_SHOWN], columns, indent=" " * _LABEL_CELLS)
    return lines + _more(len(owned.keys), KEYS_SHOWN)


@dataclass(frozen=True, slots=True)
class OwnedPiece:
    range: Annotated[tuple[int, int], about("First and last slot.", 0)]
    divisor: Annotated[int, about("1, or among how many consumers turns are taken.", 1)]
    remainder: Annotated[int, about("Which turn: slots whose number leaves it.", 0)]


@dataclass(frozen=True, slots=True)
class OwnedKey:
    key: Annotated[str, about("Its text; bytes that are not text are written hex:...")]
    slot: Annotated[int, about("The slot of its hash.", 0)]
    messages: Annotated[int, about("Messages it had.", 0)]


@dataclass(frozen=True, slots=True)
class KeyConsumerDocument:
    """The slots of one consumer, and its keys."""

    FORMAT: ClassVar[str] = "ringside.key-consumer/1"
    consumer_id: Annotated[int, about("Counts in the order of joining.", 0)]
    name: Annotated[str, about("Its name.")]
    mode: Annotated[SharingMode, _MODE]
    client_side_technique: Annotated[bool, _TECHNIQUE]
    release: Annotated[str, _RELEASE]
    subscription: Annotated[str | None, _SUBSCRIPTION]
    partition: Annotated[int | None, _PARTITION]
    connected: Annotated[int, _CONNECTED]
    slots: Annotated[int, about("Slots it has.", 0)]
    share: Annotated[float, about("Their part of all slots.", 0, 1)]
    pieces: Annotated[tuple[OwnedPiece, ...], about("Its pieces of the hash space.")]
    known_keys: Annotated[int, about("Known keys that it gets.", 0)]
    keys: Annotated[tuple[OwnedKey, ...], about("These keys, ascending.")]


def owned_document(who: Sharing, owned: Owned) -> KeyConsumerDocument:
    """The same as a document."""
    slots = who.selector.slots
    return KeyConsumerDocument(
        consumer_id=owned.consumer.consumer_id,
        name=owned.consumer.name,
        **_head(who),
        slots=owned.slots,
        share=owned.slots / slots.occurring,
        pieces=tuple(
            OwnedPiece((piece.range.start, piece.range.end), piece.divisor, piece.remainder) for piece in owned.pieces
        ),
        known_keys=len(owned.known),
        keys=tuple(OwnedKey(text_of_key(key), slots.slot_of_key(key), owned.known[key]) for key in owned.keys),
    )


def spread_lines(who: Sharing, luck: Luck, partitions: PartitionsView | None = None) -> list[str]:
    """All consumers, what nobody has, whether the spread of the known keys is luck, and the partitions."""
    lines = labelled("of", _whose(who))
    rows, gaps = _spread_rows(who, luck), _gaps(who)
    columns = _SPREAD if luck.keys else _SPREAD[:4]
    lines += ["", *listing(rows[:CONSUMERS_SHOWN], columns), *_more(len(rows), CONSUMERS_SHOWN), ""]
    if gaps.slot_count:
        where = " ".join(map(str, gaps.ranges[:PIECES_SHOWN]))
        lines += labelled("nobody", f"{counted(gaps.slot_count, 'slot')}: messages of their keys wait; {where}")
        if luck.ownerless_keys:
            lines += labelled("", f"{counted(luck.ownerless_keys, 'known key')} in them")
    lines += labelled("luck", luck_sentence(luck))
    if luck.keys:
        lines += labelled(
            "by chance", verdict_text(VERDICTS[luck.verdict], unusual=luck.busiest_keys > luck.busiest_high)
        )
    if partitions is not None:
        lines += ["", *partition_lines(partitions)]
    return [*lines, *reported_lines(who.reported, _reported_rows(who))]


@dataclass(frozen=True, slots=True)
class _ReportedRow:
    """A consumer as reports refer to it."""

    consumer_id: int
    name: str
    tag: str


def _reported_rows(who: Sharing) -> list[_ReportedRow]:
    return [
        _ReportedRow(consumer.consumer_id, consumer.name, letter_tag(at))
        for at, consumer in enumerate(who.selector.consumers)
    ]


@dataclass(frozen=True, slots=True)
class ConsumerSpread:
    consumer_id: Annotated[int, about("Counts in the order of joining.", 0)]
    name: Annotated[str, about("Its name.")]
    slots: Annotated[int, about("Slots it has.", 0)]
    share: Annotated[float, about("Their part of all slots.", 0, 1)]
    pieces: Annotated[int, about("In how many pieces of the hash space.", 0)]
    keys: Annotated[int, about("Known keys that it gets.", 0)]
    messages: Annotated[float, about("Messages those keys had.", 0)]
    expected_keys: Annotated[float, about("Keys it has by chance, on average.", 0)]
    likely_keys: Annotated[tuple[int, int], about("Fewest and most keys in nine of ten cases.", 0)]


_SPREAD: Final[tuple[PageColumn[ConsumerSpread], ...]] = (
    ("consumer", "<", lambda row: shorten_middle(safe_name(row.name), _NAME_CELLS)),
    ("slots", ">", lambda row: str(row.slots)),
    ("share", ">", lambda row: percent(row.share)),
    ("pieces", ">", lambda row: str(row.pieces)),
    ("keys", ">", lambda row: str(row.keys)),
    ("by share", ">", lambda row: f"{row.expected_keys:.1f} ({row.likely_keys[0]}-{row.likely_keys[1]})"),
    ("messages", ">", lambda row: f"{row.messages:.0f}"),
)


@dataclass(frozen=True, slots=True)
class Unowned:
    slots: Annotated[int, about("Slots that nobody has.", 0)]
    ranges: Annotated[tuple[tuple[int, int], ...], about("First and last slot of each gap.", 0)]
    known_keys: Annotated[int, about("Known keys in them.", 0)]


@dataclass(frozen=True, slots=True)
class SpreadLuck:
    verdict: Annotated[LuckWord, about("What explains how unevenly the keys fall.")]
    sentence: Annotated[str, about("Why, with its numbers.")]
    busiest_keys: Annotated[int, about("Keys of the busiest consumer.", 0)]
    expected_busiest: Annotated[float, about("Keys the busiest one has by chance, on average.", 0)]
    likely_busiest: Annotated[tuple[int, int], about("Fewest and most of them in nine of ten cases.", 0)]
    probability: Annotated[float | None, about("At most this often chance is as uneven.", 0, 1)]
    probability_by_shares: Annotated[float | None, about("The same, by the shares of slots they have.", 0, 1)]
    probability_of_messages: Annotated[float | None, about("The same of messages.", 0, 1)]
    hottest_key: Annotated[str | None, about("The key with most messages; null without messages.")]
    hottest_share: Annotated[float, about("Its part of all messages.", 0, 1)]


@dataclass(frozen=True, slots=True)
class KeySpreadDocument:
    """How keys and slots are spread over consumers."""

    FORMAT: ClassVar[str] = "ringside.key-spread/1"
    mode: Annotated[SharingMode, _MODE]
    client_side_technique: Annotated[bool, _TECHNIQUE]
    release: Annotated[str, _RELEASE]
    subscription: Annotated[str | None, _SUBSCRIPTION]
    partition: Annotated[int | None, _PARTITION]
    connected: Annotated[int, _CONNECTED]
    slots: Annotated[int, about("Slots that occur.", 0)]
    consumers: Annotated[tuple[ConsumerSpread, ...], about("In the order of joining.")]
    unowned: Annotated[Unowned, about("What nobody has.")]
    known_keys: Annotated[int, about("Known keys.", 0)]
    luck: Annotated[SpreadLuck, about("Whether their spread is luck.")]
    partitions: Annotated[PartitionsView | None, about("All partitions; null without partitions.")]
    reported: Annotated[
        ReportedView | None, about("What brokers reported of the subscription; null where no answer shows it.")
    ]


def spread_document(who: Sharing, luck: Luck, partitions: PartitionsView | None = None) -> Any:
    """The same as plain values for JSON."""
    gaps = _gaps(who)
    whole = KeySpreadDocument(
        **_head(who),
        slots=who.selector.slots.occurring,
        consumers=_spread_rows(who, luck),
        unowned=Unowned(gaps.slot_count, tuple((piece.start, piece.end) for piece in gaps.ranges), luck.ownerless_keys),
        known_keys=luck.keys + luck.ownerless_keys,
        luck=extended(
            SpreadLuck,
            luck,
            verdict=VERDICTS[luck.verdict],
            sentence=luck_sentence(luck),
            expected_busiest=luck.expected_busiest or 0.0,
            likely_busiest=(luck.busiest_low, luck.busiest_high),
            hottest_key=text_of_key(luck.hottest_key) if luck.hottest_key is not None else None,
        ),
        partitions=partitions,
        reported=who.reported,
    )
    return document(whole, [consumer.consumer_id for consumer in who.selector.consumers])


def _spread_rows(who: Sharing, luck: Luck) -> tuple[ConsumerSpread, ...]:
    owned, rows = slots_by_consumer(who.selector), []
    for consumer, row in zip(who.selector.consumers, luck.consumers, strict=True):
        pieces = owned[consumer.consumer_id]
        slots = sum(piece.count for piece in pieces)
        rows.append(
            ConsumerSpread(
                consumer.consumer_id, consumer.name, slots, slots / who.selector.slots.occurring, len(pieces),
                row.keys, row.messages, row.expected_keys, (row.likely_low, row.likely_high),
            )
        )  # fmt: skip
    return tuple(rows)


def _head(who: Sharing) -> dict[str, Any]:
    return {
        "mode": who.mode,
        "client_side_technique": who.mode is SharingMode.CONSISTENT_STICKY,
        "release": who.behaviour.label,
        "subscription": who.subscription or None,
        "partition": who.partition,
        "connected": len(who.selector.consumers),
    }


def _whose(who: Sharing) -> str:
    technique = " (a technique of clients on top of sticky)" if who.mode is SharingMode.CONSISTENT_STICKY else ""
    name = f"subscription {safe_name(who.subscription)}, " if who.subscription else ""
    name += "" if who.partition is None else f"partition {who.partition}, "
    consumers = counted(len(who.selector.consumers), "consumer")
    return f"{name}{consumers}, {who.mode.value}{technique}, {who.behaviour.label}"


def _waiting(who: Sharing, explanation: KeyExplanation) -> str:
    by_id = {consumer.consumer_id: consumer for consumer in who.selector.consumers}
    wait = _wait(who, explanation)
    if wait is not None:
        held = ", ".join(
            f"{_consumer(by_id.get(held_by.consumer_id))} holds {held_by.unacked}" for held_by in wait.holders
        )
        return f"{counted(len(wait.messages), 'message')} of this slot, until {wait.reason.value}" + (
            f": {held}" if held else ""
        )
    if explanation.draining is not None:
        holder = _consumer(by_id.get(explanation.draining.consumer_id))
        return f"nothing yet; the slot drains for {holder}, which holds {explanation.draining.unacked} unacknowledged"
    return "nothing blocks it" if explanation.owner is not None else "for a consumer that has the slot"


def _wait(who: Sharing, explanation: KeyExplanation) -> Wait | None:
    all_waits = waits(who.delivery) if who.delivery is not None else ()
    return next((wait for wait in all_waits if wait.slot == explanation.slot.slot), None)


def _gaps(who: Sharing) -> Gaps:
    served = owned_ranges(who.selector)
    if not served:  # shared points: every slot has an owner
        owned = slots_by_consumer(who.selector)
        served = {owner: tuple(piece.range for piece in pieces) for owner, pieces in owned.items()}
    return gaps_of(who.selector.consumers, served, who.selector.slots)


def _consumer(consumer: Consumer | None) -> str:
    return "nobody" if consumer is None else f"{safe_name(consumer.name)} (#{consumer.consumer_id})"


def _key(key: bytes) -> str:
    return shorten_middle(safe_name(text_of_key(key)), 60) if key else '""'


def _bytes(key: bytes) -> str:
    if not key:
        return "none: the key is empty, and hashed as that"
    more = f" ... ({len(key)} in all)" if len(key) > BYTES_SHOWN else f" ({len(key)})"
    return key[:BYTES_SHOWN].hex(" ") + more


def _piece(piece: OwnedSlots) -> str:
    return str(piece.range) if piece.divisor == 1 else f"{piece.range}:{piece.remainder}mod{piece.divisor}"


def _more(count: int, shown: int) -> list[str]:
    return and_more(count - shown, BY_JSON, indent=" " * _LABEL_CELLS)
