"""Nothing is wrong: nothing to do, or a backlog that is being worked off."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.model import Cause, Judgement, Verdict
from engine.diagnosis.seen import SubscriptionSeen
from engine.lint.words import counted

IDLE: Final = "fine_idle"
CATCHING_UP: Final = "fine_catching_up"


def idle(seen: SubscriptionSeen) -> Judgement:
    """Decide whether everything that came in is done."""
    if seen.backlog > max(10, sum((dispatcher.came_in or 0) for dispatcher in seen.dispatchers) // 10):
        return f"{counted(seen.backlog, 'message')} wait"
    out = [dispatcher.out for dispatcher in seen.dispatchers]
    sent = sum(count or 0 for count in out)
    went = f"{counted(sent, 'message')} went out" if None not in out else "one moment"
    return Cause(
        IDLE,
        Verdict.FINE,
        f"nothing waits; {went}",
        topics=len(seen.dispatchers),
        numbers=(("backlog", seen.backlog), ("out", sent)),
        fields=("msgBacklog", "msgOutCounter"),
    )


def catching_up(seen: SubscriptionSeen) -> Judgement:
    """Decide whether a backlog shrinks."""
    growth = [dispatcher.backlog_growth for dispatcher in seen.dispatchers]
    if None in growth:
        return "one moment alone does not say"
    total = sum(dispatcher or 0 for dispatcher in growth)
    if (
        not seen.backlog
        or total >= 0
        or any(dispatcher.out == 0 and dispatcher.unread for dispatcher in seen.dispatchers)
    ):
        return "the backlog does not shrink" if seen.backlog else "nothing waits"
    seconds = max(dispatcher.seconds or 0.0 for dispatcher in seen.dispatchers)
    left = f", done in about {seen.backlog / (-total / seconds):,.0f} s" if seconds else ""
    return Cause(
        CATCHING_UP,
        Verdict.FINE,
        f"it catches up: {counted(seen.backlog, 'message')} wait, {-total:,} fewer than before{left}",
        topics=len(seen.dispatchers),
        waiting=seen.backlog,
        numbers=(("backlog", seen.backlog), ("backlog_growth", total)),
        fields=("msgBacklog", "msgOutCounter"),
    )
