"""Whose the slots are: sticky gaps, consumers without slots or without keys, and the halves of auto-split."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.causes.worst import listed, worst_of
from engine.diagnosis.model import Cause, Judgement, Setting, Verdict
from engine.diagnosis.seen import ConsumerSeen, Dispatcher, SubscriptionSeen
from engine.lint.words import counted

STICKY_GAP: Final = "keyshared_sticky_gap"
FEW_KEYS: Final = "keyshared_few_keys"
NO_SLOTS: Final = "keyshared_no_slots"
AUTO_SPLIT_SKEW: Final = "keyshared_autosplit_skew"
STICKY: Final = "STICKY"
_FIRST, _LAST = 1, 65_535
_UNLIKELY: Final = 1e-3
"""Below it, that a consumer got nothing is no chance, were there many keys."""
_EVENLY: Final = 1.5
"""Halving gives the largest piece at most twice the size of the smallest; above this ratio it is worth a word."""


def sticky_gap(seen: SubscriptionSeen) -> Judgement:
    """Decide whether messages wait for slots that no sticky consumer declared. A gap without traffic harms nobody."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        if dispatcher.sub.mode != STICKY:
            return f"the mode is {dispatcher.sub.mode or 'not reported'}, which leaves no gap"
        gaps = gaps_of(dispatcher)
        if not gaps:
            return "the declared ranges cover every slot"
        slots = sum(end - start + 1 for start, end in gaps)
        if not dispatcher.replay:
            return f"{counted(slots, 'slot')} belong to nobody, and no message waits for them"
        ranges = [f"{start}-{end}" for start, end in gaps]
        return Cause(
            STICKY_GAP,
            Verdict.BLOCKS,
            f"{counted(dispatcher.replay, 'message')} wait for {counted(slots, 'slot')} that no consumer declared:"
            f" {listed(ranges)}",
            dispatcher.topic,
            waiting=dispatcher.replay,
            numbers=(
                ("gap", gaps),
                ("gap_slots", slots),
                ("waiting", dispatcher.replay),
                ("in_replay", dispatcher.replay),
            ),
            setting=Setting("KeySharedPolicy.stickyHashRange"),
            fix=f"start a consumer that declares {listed(ranges)}, or let a present one declare it as well",
            fields=("keySharedMode", "keyHashRangeArrays", "msgInReplay"),
        )

    return worst_of(seen, decide)


def gaps_of(dispatcher: Dispatcher) -> tuple[tuple[int, int], ...]:
    """The slots from 1 to 65535 that no reported range covers, as inclusive ranges. O(r log r)."""
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
    """Decide whether consumers own no slot at all: they can never get a message."""

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
            f"{listed(without)} {'owns' if len(without) == 1 else 'own'} no slot, so no key can come there",
            dispatcher.topic,
            blocked=without,
            numbers=(("without_slots", len(without)), ("consumers", len(dispatcher.consumers))),
            fix="give every consumer a name of its own; with equal names a ring has room for one of them",
            fields=("keyHashRangeArrays", "keyHashRanges"),
        )

    return worst_of(seen, decide, also_quiet=True)


def few_keys(seen: SubscriptionSeen) -> Judgement:
    """Decide whether consumers are idle since no key of the traffic falls into their slots.

    Were there many keys, a consumer with the share s of all slots would get none of n messages with the probability
    (1 - s)^n.
    """

    def decide(dispatcher: Dispatcher) -> Judgement:
        if not dispatcher.out:
            return "nothing went out between the moments" if dispatcher.out == 0 else "one moment alone does not say"
        if dispatcher.replay or dispatcher.sub.msg_delayed or not dispatcher.has_read_all:
            return "messages wait"
        idle = [consumer.name for consumer in dispatcher.consumers if _gets_no_key(consumer, dispatcher)]
        if not idle:
            return "every consumer got messages, or too few went out to say"
        busy = [consumer.name for consumer in dispatcher.consumers if consumer.name not in idle]
        return Cause(
            FEW_KEYS,
            Verdict.UNEVEN,
            f"no key of {counted(dispatcher.out, 'message')} falls to {listed(idle)}: few keys, all of"
            f" {listed(busy)}; nothing waits",
            dispatcher.topic,
            blocked=tuple(idle),
            numbers=(("out", dispatcher.out), ("idle", len(idle)), ("consumers", len(dispatcher.consumers))),
            fix="use more keys, or fewer consumers; ringside keys says where a key goes",
            fields=("msgOutCounter", "keyHashRangeArrays", "msgInReplay"),
        )

    return worst_of(seen, decide, also_quiet=True)


def _gets_no_key(consumer: ConsumerSeen, dispatcher: Dispatcher) -> bool:
    """Whether a consumer that asks and holds nothing got nothing, and that is no chance."""
    if consumer.out != 0 or consumer.permits <= 0 or consumer.unacked:
        return False
    sent = (dispatcher.sub.msg_out_counter if consumer.facts.msg_out_counter == 0 else dispatcher.out) or 0
    return (1 - _share(consumer.facts.key_hash_ranges)) ** sent < _UNLIKELY


def auto_split_skew(seen: SubscriptionSeen) -> Judgement:
    """Decide whether shares are uneven because auto-split halves the largest range at each join."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        ranges = [consumer.facts.key_hash_ranges for consumer in dispatcher.consumers]
        if dispatcher.sub.mode == STICKY or len(ranges) < 2 or any(len(pieces) != 1 for pieces in ranges):
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
