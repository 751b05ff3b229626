"""Numbers that cannot be: counts below 0, and sums that differ from their parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.recording import two_moments
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.text import counted, joined

COUNTS: Final = "counts_do_not_add_up"
_FAR: Final = 1_000
"""A sum and its parts are read one after the other, and differ by what moved meanwhile."""
_BATCH: Final = 2


def counts(seen: SubscriptionSeen) -> Judgement:
    """Decide whether the broker reported numbers that cannot be, from which nothing follows."""

    def decide(dispatcher: Dispatcher) -> Judgement:
        wrong = list(impossible(dispatcher))
        if not wrong:
            return "the numbers can be"
        named = tuple(dict.fromkeys(consumer for _, consumer, _, _ in wrong if consumer))
        return Cause(
            COUNTS,
            Verdict.CANNOT_TELL,
            f"the broker reports numbers that cannot be: {joined([text for text, *_ in wrong])}; what follows from them"
            " is not known",
            dispatcher.topic,
            by=named,
            waiting=max(0, dispatcher.backlog),
            numbers=tuple({name: value for _, _, name, value in wrong}.items()),
            fix=f"look again some seconds later: {two_moments(dispatcher.topic)}; a number that stays so is a fault of"
            " the broker, and unloading the topic makes it count anew",
            fields=tuple(dict.fromkeys(member for _, _, name, _ in wrong for member in _MEMBERS[name].split())),
            symptom=COUNTS,
        )

    return worst_of(seen, decide, also_quiet=True)


_MEMBERS: Final = {
    "backlog": "msgBacklog",
    "unacked": "unackedMessages",
    "unacked_of_consumers": "unackedMessages",
    "delayed": "msgDelayed",
    "in_replay": "msgInReplay",
    "permits": "availablePermits",
    "entries_left": "msgBacklog markDeletePosition",
}


def impossible(dispatcher: Dispatcher) -> Iterator[tuple[str, str, str, int]]:
    """Yield each number that cannot be: in words, the consumer ("" for the subscription), its name and value."""
    sub = dispatcher.sub
    for name, value in (
        ("backlog", sub.msg_backlog_entries),
        ("unacked", sub.unacked_messages),
        ("delayed", sub.msg_delayed),
        ("in_replay", sub.msg_in_replay),
    ):
        if value is not None and value < 0:
            yield f"{_MEMBERS[name]} is {value:,}", "", name, value
    for consumer in sub.consumers:
        permits, unacked = consumer.available_permits, consumer.unacked_messages
        if unacked is not None and unacked < 0:
            yield f"unackedMessages of {consumer.name} is {unacked:,}", consumer.name, "unacked", unacked
        # A batch is sent whole, so a consumer that gets batches can have fewer than no permits.
        if permits is not None and permits < 0 and (consumer.avg_messages_per_entry or 0) < _BATCH:
            yield f"availablePermits of {consumer.name} is {permits:,}", consumer.name, "permits", permits
    left = dispatcher.entries_left
    if left is not None and dispatcher.backlog - left > max(_FAR, left // 2):
        follow = counted(left, "entry", "follows", "follow")
        yield f"msgBacklog is {dispatcher.backlog:,}, and {follow} markDeletePosition", "", "entries_left", left
    known = [consumer.unacked_messages for consumer in sub.consumers]
    if dispatcher.is_shared and sub.unacked_messages is not None and known and None not in known:
        parts = sum(unacked or 0 for unacked in known)
        if abs(parts - sub.unacked_messages) > max(_FAR, max(parts, sub.unacked_messages) // 2):
            yield (
                f"unackedMessages is {sub.unacked_messages:,}, and {parts:,} over the consumers",
                "",
                "unacked_of_consumers",
                parts,
            )
