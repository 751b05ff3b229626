"""What a cause may say of an answer that lacks members: nothing that needs one of them, and nothing read from it.

A member that is absent is unknown. Deciders count with 0 where a number is missing, and here their causes are checked
against what was there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

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
    for dispatcher in sorted(seen.dispatchers, key=lambda each: -(each.sub.msg_backlog_entries or 0)):
        missing = [name for name in ("msgBacklog", "consumers", "availablePermits") if not _NEEDED[name](dispatcher)]
        if missing:
            missing = [
                f"some {name}" if name == "consumers" and dispatcher.sub.some_consumers else name for name in missing
            ]
            again = shell_line("pulsar-admin", "topics", "stats", dispatcher.topic)
            known = _known(dispatcher)
            return Cause(
                NOT_REPORTED,
                Verdict.CANNOT_TELL,
                "; ".join((*(fact.text for fact in known), f"the answer lacks {joined(missing)}")),
                dispatcher.topic,
                numbers=tuple((fact.name, fact.number) for fact in known),
                fix=f"give the whole answer: {again}",
                fields=tuple(fact.member for fact in known) or ("subscriptions",),
            )
    return None


class _Fact(NamedTuple):
    """A number of an answer in words, with its name in documents and the member that it was read from."""

    text: str
    name: str
    number: float
    member: str


def _known(dispatcher: Dispatcher) -> list[_Fact]:
    """What an answer says that lacks the rest."""
    sub = dispatcher.sub
    unacked, out = sub.unacked_messages, sub.msg_rate_out_msgs_per_sec
    held = [one.unacked_messages for one in sub.consumers if one.unacked_messages is not None]
    if unacked is None and held and len(held) == len(sub.consumers):
        unacked = sum(held)
    permits = [one.available_permits for one in sub.consumers]
    facts: list[_Fact] = []
    waiting = sub.msg_backlog_entries
    if waiting is not None:
        grown = dispatcher.backlog_growth
        more = f", {abs(grown):,} {'more' if grown > 0 else 'fewer'} than before" if grown else ""
        facts.append(_Fact(f"{counted(waiting, 'message', 'waits', 'wait')}{more}", "backlog", waiting, "msgBacklog"))
    if unacked:
        are_all = waiting is not None and unacked >= waiting > 0
        text = f"{unacked:,} unacknowledged" + (", so all of them were sent" if are_all else "")
        facts.append(_Fact(text, "unacked", unacked, "unackedMessages"))
    if permits and all(one is not None and one <= 0 for one in permits):
        text = f"no permits with any of {counted(len(permits), 'consumer')} listed"
        facts.append(_Fact(text, "permits", 0, "availablePermits"))
    if out is not None:
        text = f"{out:,.1f} messages a second go out" if out else "nothing goes out"
        facts.append(_Fact(text, "out", out, "msgRateOut"))
    return facts
