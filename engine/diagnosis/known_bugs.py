"""Faults of Pulsar that were reported in public and look like a cause that was found.

A row fits where the cause has its symptom and the brokers can be of a release that it affects; where nothing shows
their release, the symptom has to be one of its own. It stays a likeness: what a broker prints does not prove which of
its lines was wrong. Releases are those of the release notes, or of the labels of the pull request that mended it; of a
thread that is open, or that names no release, none is said. docs/operators.md says which reports are no row and why.
"""

from __future__ import annotations

import re
from typing import Final

from engine.admin.inference import Basis
from engine.diagnosis.model import TWO_READINGS, Cause, KnownBug
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.releases import Release

_SHARED: Final = frozenset({"Shared"})
_KEYS: Final = frozenset({"Key_Shared"})
_SPREAD: Final = _SHARED | _KEYS
_ONE: Final = frozenset({"Failover", "Exclusive"})
_STALLED: Final = frozenset({"dispatcher_stalled"})
_COUNTS: Final = frozenset({"counts_do_not_add_up"})
_LOST_READ: Final = frozenset({"read-without-cursor"})
_NOBODY_READS: Final = frozenset({"nobody-reads"})
_AUTUMN_2026: Final = (Release(4, 0, 14), Release(4, 2, 5), Release(5, 0, 0, milestone=2))
_SUMMER_2026: Final = (Release(4, 0, 13), Release(4, 2, 4), Release(5, 0, 0, milestone=2))
_4_0: Final = Release(4, 0, 0, milestone=0)
_POSITION: Final = re.compile(r"\d{1,18}:-?\d{1,18}", re.ASCII)
_BATCH: Final = 1_000
"""Messages of a batch by default: a consumer that got one when it had a single permit is that far below 0."""


def _keeps_own_draining_slots(dispatcher: Dispatcher) -> bool:
    """Whether a slot drains for the very consumer that owns it again."""
    return any(
        any(start <= slot.hash <= end for start, end in consumer.key_hash_ranges)
        for consumer in dispatcher.sub.consumers
        for slot in consumer.draining
    )


def _joined_out_of_order(dispatcher: Dispatcher) -> bool:
    """Whether a later one of the consumers that joined recently did so at an earlier position."""
    positions = [tuple(map(int, text.split(":"))) for text in dispatcher.sub.after_mark_delete.values()
                 if _POSITION.fullmatch(text)]  # fmt: skip
    return positions != sorted(positions)


def _blocked_with_nothing(dispatcher: Dispatcher) -> bool:
    """Whether a consumer counts as blocked by unacknowledged messages and has none."""
    return any(consumer.blocked_on_unacked and consumer.unacked_messages == 0 for consumer in dispatcher.sub.consumers)


def _lost_permits(dispatcher: Dispatcher) -> bool:
    """Whether permits are below 0 by more than a batch explains."""
    return any((consumer.available_permits or 0) < -_BATCH for consumer in dispatcher.sub.consumers)


def _below_zero(dispatcher: Dispatcher) -> bool:
    return (dispatcher.sub.unacked_messages or 0) < 0


def _below_zero_with_batches(dispatcher: Dispatcher) -> bool:
    consumers = [consumer for consumer in dispatcher.sub.consumers if (consumer.unacked_messages or 0) < 0]
    return any((consumer.avg_messages_per_entry or 0) > 1 for consumer in consumers)


KNOWN_BUGS: Final = (
    KnownBug("#26454", "a Shared dispatcher waits for a read that its cursor does not have, for ever", _STALLED,
             _SHARED, since=_4_0, symptoms=_LOST_READ),
    KnownBug("#26174", "after a redelivery an outdated read leaves the dispatcher of a single active consumer without"
             " one", _STALLED | {"failover_active_not_served"}, _ONE, _SUMMER_2026,
             symptoms=frozenset({"", "read-waits-behind"})),
    KnownBug("#24697", "dispatcher and cursor disagree on whether a read is under way, also of readers",
             _STALLED | {"failover_active_not_served"}, _ONE, since=Release(3, 0, 0), symptoms=_LOST_READ),
    KnownBug("#26236", "delayed messages that are due stay behind when look-ahead begins at the end of the topic",
             _STALLED | {"waits_unexplained"}, _KEYS, _SUMMER_2026, _4_0,
             symptoms=frozenset({"", "read-waits-behind"}), fits=lambda dispatcher: bool(dispatcher.sub.msg_delayed)),
    KnownBug("#26268", "with delivery out of order, replay starves at the end of the topic",
             _STALLED | {"waits_unexplained"}, _KEYS, _AUTUMN_2026, _4_0,
             symptoms=frozenset({"", "read-waits-behind"}),
             fits=lambda dispatcher: bool(dispatcher.sub.allow_out_of_order_delivery and dispatcher.sub.msg_in_replay)),
    KnownBug("#26288", "permits are lost while consumers connect again (as in #26416 and #24418; #26289)",
             _STALLED | _COUNTS | {"no_permits", "keyshared_no_permits"}, _SPREAD, _AUTUMN_2026, fits=_lost_permits,
             symptoms=frozenset({"", "nobody-reads", "read-without-cursor", "read-waits-behind"}),
             attach=f"{TWO_READINGS}, with the times at which consumers connected"),
    KnownBug("#26635", "one consumer whose connection is full holds up the reads for all others", _STALLED, _KEYS,
             (Release(5, 0, 0),), symptoms=_NOBODY_READS, attach=f"{TWO_READINGS}, and what its consumers were doing"),
    KnownBug("#24926", "dispatch that stopped at a full connection is not resumed when it empties (#26630)", _STALLED,
             _SHARED, (Release(5, 0, 0),), symptoms=_NOBODY_READS),
    KnownBug("#23845", "a slot that returns to its first owner drains for ever (#24736)",
             frozenset({"keyshared_draining"}), _KEYS, (Release(4, 0, 7), Release(4, 1, 1)), _4_0,
             fits=_keeps_own_draining_slots),
    KnownBug("#23802", "positions at which consumers joined are out of order, which stops delivery (#23795)",
             frozenset({"keyshared_recently_joined"}), _KEYS, (Release(3, 0, 9), Release(3, 3, 4), Release(4, 0, 2)),
             fits=_joined_out_of_order),
    KnownBug("#21199", "one message that nobody acknowledges holds up all consumers that joined after it (PIP-379)",
             frozenset({"keyshared_recently_joined"}), _KEYS, (_4_0,)),
    KnownBug("#22657", "a consumer stays blocked although it acknowledged everything (#23796)",
             frozenset({"consumer_unacked_limit", "keyshared_unacked_limit"}), _SPREAD,
             (Release(3, 0, 10), Release(3, 3, 5), Release(4, 0, 3)), Release(3, 0, 0), fits=_blocked_with_nothing),
    KnownBug("#26422", "unacknowledged messages of a consumer are subtracted twice when it leaves", _COUNTS, _SPREAD,
             _AUTUMN_2026, fits=_below_zero),
    KnownBug("#22090", "acknowledging and sending a batch at once counts unacknowledged messages below 0", _COUNTS,
             _SPREAD, (Release(2, 11, 4), Release(3, 0, 3)), fits=_below_zero_with_batches),
    KnownBug("#23805", "acknowledgements of batches count unacknowledged messages of a consumer below 0", _COUNTS,
             _SPREAD, fits=_below_zero_with_batches),
)  # fmt: skip


def looks_like(cause: Cause, seen: SubscriptionSeen) -> tuple[KnownBug, ...]:
    """The known faults that a cause of a subscription looks like."""
    symptom = cause.symptom if cause.symptom != cause.id else ""
    knows_release = seen.release.basis is not Basis.ASSUMED
    candidates = [
        bug
        for bug in KNOWN_BUGS
        if cause.id in bug.causes and seen.type in bug.types and symptom in bug.symptoms
        and (seen.release.may_be(bug.affects) if knows_release else symptom or bug.fits is not None)
    ]  # fmt: skip
    if not candidates:
        return ()
    places = [dispatcher for dispatcher in seen.dispatchers if dispatcher.topic == cause.topic] or seen.dispatchers
    return tuple(bug for bug in candidates if bug.fits is None or any(map(bug.fits, places)))
