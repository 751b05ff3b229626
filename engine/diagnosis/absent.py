"""What a cause may say of an answer that lacks members: nothing that needs one of them, and nothing read from it.

A member that is absent is unknown. Deciders count with 0 where a number is missing, and here their causes are checked
against what was there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from engine.admin.facts import ConsumerFacts, NotReported
from engine.diagnosis.model import Cause, Judgement, Verdict
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.text import counted, joined, shell_line

NOT_REPORTED: Final = "not_reported"
_Test = Callable[[Dispatcher], bool]


def _of_consumers(has: Callable[[ConsumerFacts], bool]) -> _Test:
    """Whether every consumer has a member."""
    return lambda dispatcher: all(map(has, dispatcher.sub.consumers))


_NEEDED: Final[Mapping[str, _Test]] = {
    "consumers": lambda dispatcher: not isinstance(dispatcher.sub.consumers, NotReported),
    "msgBacklog": lambda dispatcher: dispatcher.sub.msg_backlog_entries is not None,
    "availablePermits": _of_consumers(lambda consumer: consumer.available_permits is not None),
    "unackedMessages": lambda dispatcher: (
        dispatcher.sub.unacked_messages is not None
        or any(consumer.unacked_messages is not None for consumer in dispatcher.sub.consumers)
    ),
}
"""Members without which a cause that was read from them is no cause."""
_USEFUL: Final[Mapping[str, _Test]] = {
    # A cause that counts these has them; older releases print neither.
    "msgDelayed": lambda dispatcher: dispatcher.sub.msg_delayed is not None,
    "msgInReplay": lambda dispatcher: dispatcher.sub.msg_in_replay is not None,
    "msgOutCounter": lambda dispatcher: dispatcher.sub.msg_out_counter is not None,
    "msgInCounter": lambda dispatcher: dispatcher.last.topic.msg_in_counter is not None,
    "lastAckedTimestamp": lambda dispatcher: (
        dispatcher.sub.last_acked_ms is not None
        or any(consumer.last_acked_ms is not None for consumer in dispatcher.sub.consumers)
    ),
    "lastConsumedTimestamp": lambda dispatcher: (
        dispatcher.sub.last_consumed_ms is not None
        or any(consumer.last_consumed_ms is not None for consumer in dispatcher.sub.consumers)
    ),
    "messageAckRate": lambda dispatcher: (
        dispatcher.sub.ack_rate_msgs_per_sec is not None
        or any(consumer.ack_rate_msgs_per_sec is not None for consumer in dispatcher.sub.consumers)
    ),
    "msgRateIn": lambda dispatcher: dispatcher.last.topic.msg_rate_in_msgs_per_sec is not None,
    "msgRateOut": lambda dispatcher: dispatcher.sub.msg_rate_out_msgs_per_sec is not None,
    "msgRateRedeliver": lambda dispatcher: dispatcher.sub.msg_rate_redeliver_msgs_per_sec is not None,
    "subscriptionHavePendingRead": lambda dispatcher: (
        dispatcher.last.cursor is not None and dispatcher.last.cursor.has_pending_read is not None
    ),
    "publishers": lambda dispatcher: dispatcher.last.topic.publishers is not None,
    "firstConsumedFlowTimestamp": lambda dispatcher: any(
        consumer.first_flow_ms is not None for consumer in dispatcher.sub.consumers
    ),
}
"""Members that are read where they are there, and are not cited where they are not."""
_NUMBERS: Final[Mapping[str, str]] = {
    "backlog": "msgBacklog",
    "backlog_growth": "msgBacklog",
    "backlog_no_delayed": "msgBacklog",
    "permits": "availablePermits",
    "unacked": "unackedMessages",
    "delayed": "msgDelayed",
    "in_replay": "msgInReplay",
}
"""The member that a number of a cause is, or is computed from."""


def _lacks_some_unacked(dispatcher: Dispatcher) -> bool:
    """Whether some consumers lack their number while others have one: what those hold may be what is wrong."""
    known = [consumer.unacked_messages is not None for consumer in dispatcher.sub.consumers]
    return any(known) and not all(known)


def as_reported(judgement: Judgement, seen: SubscriptionSeen) -> Judgement:
    """Return a cause with what the answers have, or why it cannot be told where they lack what it needs."""
    if not isinstance(judgement, Cause):
        return judgement
    about = [dispatcher for dispatcher in seen.dispatchers if judgement.topic in ("", dispatcher.topic)]
    about = about or list(seen.dispatchers)
    missing = [name for name in judgement.fields if name in _NEEDED and not all(map(_NEEDED[name], about))]
    if judgement.verdict is Verdict.FINE and any(map(_lacks_some_unacked, about)):
        missing.append("unackedMessages of some consumers")
    if missing:
        return f"the answer lacks {joined(missing)}"
    absent = {name for name, test in {**_NEEDED, **_USEFUL}.items() if not any(map(test, about))}
    if not absent:
        return judgement
    return replace(
        judgement,
        fields=tuple(name for name in judgement.fields if name not in absent),
        numbers=tuple((name, value) for name, value in judgement.numbers if _NUMBERS.get(name) not in absent),
    )


def not_reported(seen: SubscriptionSeen) -> Cause | None:
    """Say which members are missing that nearly every cause is read from; None where they are all there."""
    for dispatcher in seen.dispatchers:
        missing = [name for name in ("msgBacklog", "consumers", "availablePermits") if not _NEEDED[name](dispatcher)]
        if missing:
            missing = [
                f"some {name}" if name == "consumers" and dispatcher.sub.some_consumers else name for name in missing
            ]
            again = shell_line("pulsar-admin", "topics", "stats", dispatcher.topic)
            known = (
                ("backlog", dispatcher.sub.msg_backlog_entries),
                ("unacked", dispatcher.sub.unacked_messages or None),
            )
            numbers = tuple((name, number) for name, number in known if number is not None)
            return Cause(
                NOT_REPORTED,
                Verdict.CANNOT_TELL,
                f"the answer lacks {joined(missing)}{_where_it_is(**dict(numbers))}",
                dispatcher.topic,
                numbers=numbers,
                fix=f"give the whole answer: {again}",
                fields=("subscriptions", *(_NUMBERS[name] for name, _ in numbers)),
            )
    return None


def _where_it_is(backlog: int = 0, unacked: int = 0) -> str:
    """What a backlog consists of, as far as the subscription's own numbers tell."""
    if not backlog:
        return ""
    entries = counted(backlog, "entry", "is", "are")
    if unacked >= backlog:
        return f"; all of the backlog of {backlog:,} was sent and is not acknowledged yet"
    return f"; {entries} not acknowledged" + (f", {counted(unacked, 'message')} of them sent" if unacked else "")
