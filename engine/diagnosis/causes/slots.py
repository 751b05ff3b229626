"""Slots of Key_Shared: gaps, consumers without slots or keys, uneven halves, ranges that no rule gives, batches."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from engine.config import BrokerSettings, behaviour_of, default_settings
from engine.diagnosis.limits import Setting
from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.recording import two_moments
from engine.diagnosis.seen import ConsumerSeen, Dispatcher, SubscriptionSeen
from engine.errors import Rejection
from engine.keyshared.model import RANGE_SIZE, Consumer, RangesById
from engine.text import counted, joined

STICKY_GAP: Final = "keyshared_sticky_gap"
FEW_KEYS: Final = "keyshared_few_keys"
NO_SLOTS: Final = "keyshared_no_slots"
AUTO_SPLIT_SKEW: Final = "keyshared_autosplit_skew"
_STICKY: Final = "STICKY"
_FIRST, _LAST = 1, 65_535
_SEVERAL: Final = 2
_UNLIKELY: Final = 1e-3
"""Below this probability it is not chance that a consumer got nothing, given many keys."""
_EVENLY: Final = 1.5
"""Auto-split gives the largest piece at most twice the size of the smallest; above this ratio it is reported."""


def sticky_gap(seen: SubscriptionSeen) -> Judgement:
    """Decide whether messages wait for slots that no sticky consumer declared. A gap without traffic does no harm."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.sub.mode != _STICKY:
            return f"the mode is {dispatcher.sub.mode or 'not reported'}, which leaves no gap"
        gaps = gaps_of(dispatcher)
        if not gaps:
            return "the declared ranges cover every slot"
        slots = sum(end - start + 1 for start, end in gaps)
        waiting, sure = dispatcher.replay, True
        if dispatcher.sub.msg_in_replay is None and dispatcher.nothing_goes_out is not False and _some_asks(dispatcher):
            # Releases that do not print it stop the whole subscription for a message without an owner.
            waiting = max(0, dispatcher.backlog - dispatcher.unacked - dispatcher.delayed)
            sure = dispatcher.nothing_goes_out is True
        if not waiting:
            return f"{counted(slots, 'slot')} belong to nobody, and no message waits for them"
        ranges = [f"{start}-{end}" for start, end in gaps]
        return Cause(
            STICKY_GAP,
            Verdict.BLOCKS if sure else Verdict.CANNOT_TELL,
            f"{counted(waiting, 'message')} {'wait' if sure else 'may wait'} for {counted(slots, 'slot')} that no"
            f" consumer declared: {joined(ranges)}",
            dispatcher.topic,
            waiting=waiting,
            numbers=(
                ("gap", gaps),
                ("gap_slots", slots),
                ("waiting", waiting),
                ("in_replay", dispatcher.replay),
            ),
            setting=Setting("KeySharedPolicy.stickyHashRange"),
            fix=f"start a consumer that declares {joined(ranges)}, or let a present one declare it as well"
            + ("" if sure else f"; to be sure: {two_moments(dispatcher.topic)}"),
            fields=("keySharedMode", "keyHashRangeArrays", "msgInReplay"),
        )

    return worst_of(seen, decide)


def _some_asks(dispatcher: Dispatcher) -> bool:
    return any(consumer.permits > 0 for consumer in dispatcher.consumers)


def has_gap(dispatcher: Dispatcher) -> bool:
    """Whether sticky consumers leave slots to nobody."""
    mode = dispatcher.sub.mode
    if mode is None and not any(consumer.key_hash_ranges for consumer in dispatcher.sub.consumers):
        return False
    return mode in (None, _STICKY) and bool(gaps_of(dispatcher))


def gaps_of(dispatcher: Dispatcher) -> tuple[tuple[int, int], ...]:
    """Return the slots from 1 to 65535 that no reported range covers, as inclusive ranges. O(r log r)."""
    pieces = sorted(piece for consumer in dispatcher.sub.consumers for piece in consumer.key_hash_ranges)
    gaps: list[tuple[int, int]] = []
    next_slot = _FIRST
    for start, end in pieces:
        if start > next_slot:
            gaps.append((next_slot, start - 1))
        next_slot = max(next_slot, end + 1)
    if next_slot <= _LAST:
        gaps.append((next_slot, _LAST))
    return tuple(gaps)


def no_slots(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers own no slot, so they can never get a message."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        with_ranges = [consumer for consumer in dispatcher.consumers if consumer.facts.key_hash_ranges]
        without = tuple(consumer.name for consumer in dispatcher.consumers if not consumer.facts.key_hash_ranges)
        if not with_ranges:
            return "the answer has no hash ranges"
        if not without:
            return "every consumer owns slots"
        return Cause(
            NO_SLOTS,
            Verdict.UNEVEN,
            f"{joined(without)} {'owns' if len(without) == 1 else 'own'} no slot, so no key can come there",
            dispatcher.topic,
            blocked=without,
            numbers=(("without_slots", len(without)), ("consumers", len(dispatcher.consumers))),
            fix="give every consumer its own name; with equal names a ring has room for one of them",
            fields=("keyHashRangeArrays", "keyHashRanges"),
        )

    return worst_of(seen, decide, also_quiet=True)


def few_keys(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are idle because no key of the traffic falls into their slots.

    With many keys, a consumer with the share s of all slots gets none of n messages with the probability (1 - s)^n.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.out:
            return "nothing went out between the moments" if dispatcher.out == 0 else "one moment alone does not say"
        if dispatcher.replay or dispatcher.sub.msg_delayed or not dispatcher.has_read_all:
            return "messages wait"
        per_entry = dispatcher.messages_per_entry
        if per_entry >= _SEVERAL:
            return f"entries hold about {per_entry:,} messages, so that most keys were not seen"
        idle = _without_keys(dispatcher)
        if not idle:
            return "every consumer got messages, or too few went out to say"
        busy = [consumer.name for consumer in dispatcher.consumers if consumer.name not in idle]
        return Cause(
            FEW_KEYS,
            Verdict.UNEVEN,
            f"no key of {counted(dispatcher.out, 'message')} falls to {joined(idle)}: few keys, all of"
            f" {joined(busy)}; nothing waits",
            dispatcher.topic,
            blocked=tuple(idle),
            numbers=(("out", dispatcher.out), ("idle", len(idle)), ("consumers", len(dispatcher.consumers))),
            fix="use more keys, or fewer consumers; ringside keys says where a key goes",
            fields=("msgOutCounter", "keyHashRangeArrays", "msgInReplay"),
        )

    return worst_of(seen, decide, also_quiet=True)


def _without_keys(dispatcher: Dispatcher) -> list[str]:
    """Return the consumers that got nothing of what went out between the moments, which is unlikely to be chance."""
    per_entry = dispatcher.messages_per_entry
    return [consumer.name for consumer in dispatcher.consumers if _gets_no_key(consumer, dispatcher, per_entry)]


def _gets_no_key(consumer: ConsumerSeen, dispatcher: Dispatcher, per_entry: int) -> bool:
    """Whether a consumer with permits and without messages got nothing, which is unlikely to be chance."""
    if consumer.out != 0 or consumer.permits <= 0 or consumer.unacked:
        return False
    sent = (dispatcher.sub.msg_out_counter if consumer.facts.msg_out_counter == 0 else dispatcher.out) or 0
    sent //= per_entry
    return (1 - _share(consumer.facts.key_hash_ranges)) ** sent < _UNLIKELY


def auto_split_skew(seen: SubscriptionSeen) -> Judgement:
    """Decide whether shares are uneven because auto-split halves the largest range at each join."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        ranges = [consumer.facts.key_hash_ranges for consumer in dispatcher.consumers]
        if dispatcher.sub.mode == _STICKY or len(ranges) < 2 or any(len(pieces) != 1 for pieces in ranges):
            return "ranges are not those of auto-split"
        shares = {consumer.name: _share(consumer.facts.key_hash_ranges) for consumer in dispatcher.consumers}
        most, least = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
        if shares[most] < _EVENLY * shares[least]:
            return "the shares are even"
        return Cause(
            AUTO_SPLIT_SKEW,
            Verdict.BY_DESIGN,
            f"auto-split halves the largest range at each join: {most} has {shares[most]:.0%} of the slots, {least}"
            f" {shares[least]:.0%}",
            dispatcher.topic,
            by=(most,),
            numbers=(("largest_share", round(shares[most], 4)), ("smallest_share", round(shares[least], 4))),
            setting=seen.limits.of_broker("subscriptionKeySharedUseConsistentHashing"),
            fix="a power of two of consumers is even; subscriptionKeySharedUseConsistentHashing=true is nearly so",
            fields=("keyHashRangeArrays",),
        )

    return worst_of(seen, decide, also_quiet=True)


def _share(ranges: tuple[tuple[int, int], ...]) -> float:
    return sum(end - start + 1 for start, end in ranges) / (_LAST + 1)


DIFFER: Final = "keyshared_ranges_differ"
BATCHES: Final = "keyshared_batches"
POINTS: Final = "subscriptionKeySharedConsistentHashingReplicaPoints"
RING: Final = "subscriptionKeySharedUseConsistentHashing"
_OTHER_RELEASES: Final = ("3.3.2", "3.2.3", "2.11.0")
"""One release for each older form of the ring."""


def ranges_differ(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers report hash ranges that neither halving nor the ring gives for their names.

    Declared ranges come from clients. Halves depend on joins and leaves, so any that tile all slots are accepted.
    Only judged where messages wait, because a ring takes time.
    """
    from engine.admin.inferred_release import reported_ranges
    from engine.keyshared.ownership import impact_of

    points = seen.limits.of_broker(POINTS)

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.sub.mode == _STICKY:
            return "ranges are declared by the clients"
        consumers, reported = reported_ranges(dispatcher.sub.consumers)
        if len(reported) < len(consumers) or not consumers:
            return "not every consumer reports ranges"
        if _tiles(reported):
            return "the halves of auto-split cover every slot once"
        computed = _ring(seen, consumers, {})
        if computed is None:
            return "so many consumers have no ring"
        # The second ring takes longer, and is asked only where the first one has others.
        if reported == computed or reported == _ring(seen, consumers, {}, namesakes=reported):
            return "the ring gives the reported ranges"
        added = impact_of(reported, computed).added
        slots = sum(piece.size for pieces in added.values() for piece in pieces)
        names = {consumer.consumer_id: consumer.name for consumer in consumers}
        reason = _reason(seen, consumers, reported)
        return Cause(
            DIFFER,
            Verdict.CANNOT_TELL,
            f"{counted(slots, 'slot')} are reported for other consumers than the ring of these names gives; likeliest:"
            f" {reason}",
            dispatcher.topic,
            by=tuple(names[owner] for owner in sorted(added)),
            numbers=(("slots", slots), ("consumers", len(consumers)), ("consumers_with_others", len(added))),
            setting=points,
            fix="take another dump; if it stays so, compare the settings and releases of the brokers",
            fields=("keyHashRangeArrays", "keyHashRanges", "consumers[].consumerName"),
        )

    return worst_of(seen, decide)


def _tiles(reported: RangesById) -> bool:
    """Whether each consumer has one range and together they are 0 to 65536, as auto-split has them."""
    if any(len(ranges) != 1 for ranges in reported.values()):
        return False
    pieces = sorted(piece for (piece,) in reported.values())
    if pieces[0].start != 0 or pieces[-1].end not in (RANGE_SIZE - 1, RANGE_SIZE):
        return False
    return all(later.start == earlier.end + 1 for earlier, later in pairwise(pieces))


def _ring(
    seen: SubscriptionSeen,
    consumers: tuple[Consumer, ...],
    changed: dict[str, int],
    *,
    release: str = "",
    namesakes: RangesById | None = None,
) -> RangesById | None:
    """The ranges that the ring gives; None where the consumers cannot have a ring.

    ``namesakes``: reported ranges, which show how many others of the same names had connected before and left.
    """
    from engine.admin.inferred_release import ring_ranges, ring_ranges_after

    behaviour = behaviour_of(release) if release else seen.behaviour
    assert not isinstance(behaviour, Rejection), release
    settings: BrokerSettings = seen.limits.settings or default_settings(behaviour)
    settings = replace(settings, **{RING: True}, **changed)
    if namesakes is None:
        return ring_ranges(consumers, settings, behaviour)
    return ring_ranges_after(consumers, namesakes, settings, behaviour)


def _reason(seen: SubscriptionSeen, consumers: tuple[Consumer, ...], reported: RangesById) -> str:
    """Say what explains the difference best; the surest explanations are tried first."""
    pieces = sorted(piece for ranges in reported.values() for piece in ranges)
    if any(earlier.end >= later.start for earlier, later in pairwise(pieces)):
        return "somebody joined or left while the answer was made, since two consumers report one slot"
    points = BrokerSettings().subscriptionKeySharedConsistentHashingReplicaPoints
    if _ring(seen, consumers, {POINTS: points}) == reported:
        return f"{POINTS} was {points} when the consumers connected"
    for release in _OTHER_RELEASES:
        if _ring(seen, consumers, {}, release=release) == reported:
            return f"the broker has the ring of Pulsar {release}"
    if _ring(seen, tuple(reversed(consumers)), {}) == reported:
        return "the consumers connected in another order than the answer says"
    return "somebody left or joined that this answer does not show yet, or another release"


def batches(seen: SubscriptionSeen) -> Judgement:
    """Report that entries hold several messages: such a batch goes whole to the owner of its first key.

    This does not apply if the producer batches by key (``BatcherBuilder.KEY_BASED``), which answers do not show. Where
    consumers get nothing, it is the first thing to change: the broker sees one key of each entry.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        per_entry = dispatcher.messages_per_entry
        if per_entry < _SEVERAL:
            return "entries hold one message each, so that each goes by its own key"
        idle = _without_keys(dispatcher) if dispatcher.out and not dispatcher.replay and dispatcher.has_read_all else []
        entries = (dispatcher.out or 0) // per_entry
        busy = tuple(consumer.name for consumer in dispatcher.consumers if consumer.name not in idle)
        effect = (
            f"; of {counted(dispatcher.out or 0, 'message')} the broker saw the keys of about"
            f" {counted(entries, 'entry')}, and {joined(idle)} got nothing"
        )
        return Cause(
            BATCHES,
            Verdict.UNEVEN if idle else Verdict.BY_DESIGN,
            f"entries hold about {per_entry:,} messages: a batch goes whole to the owner of its first key, unless its"
            f" producer batches by key; no answer says which batcher it has{effect if idle else ''}",
            dispatcher.topic,
            blocked=tuple(idle),
            by=busy if idle else (),
            numbers=(
                ("messages_per_entry", per_entry),
                *((("out", dispatcher.out or 0), ("entries", entries), ("idle", len(idle))) if idle else ()),
            ),
            setting=Setting("batcherBuilder (client)", None, "BatcherBuilder.DEFAULT"),
            fix="use BatcherBuilder.KEY_BASED in producers of Key_Shared topics, or no batches"
            + ("; only then do the counts say something about the keys" if idle else ""),
            fields=("consumers[].avgMessagesPerEntry", *(("msgOutCounter",) if idle else ())),
        )

    return worst_of(seen, decide, also_quiet=True)
