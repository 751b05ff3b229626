"""Segments of scalable topics that nobody is given yet, since one that they descend from is not read to its end."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.model import Cause, Judgement, Verdict, worst_of
from engine.diagnosis.seen import Dispatcher, SubscriptionSeen
from engine.text import counted, joined

SEGMENT_WAITS: Final = "segment_waits"


def segment_waits(seen: SubscriptionSeen) -> Judgement:
    """Decide whether messages wait in a segment until an older one is acknowledged.

    The other causes say of the older segment why that takes long: it is a topic of the same subscription.
    """
    by_topic = {dispatcher.topic: dispatcher for dispatcher in seen.dispatchers}

    def decide(dispatcher: Dispatcher) -> Judgement:
        older = dispatcher.last.waits_for
        if not older:
            return "no segment waits for another"
        if not dispatcher.backlog:
            return "nothing waits in the segment"
        known = by_topic.get(older)
        names = tuple(consumer.name for consumer in known.sub.consumers) if known is not None else ()
        rest = known.backlog if known is not None else 0
        wait = f"{counted(dispatcher.backlog, 'message')} wait until {older} is read to its end"
        verdict, why, fix = Verdict.SLOWS, "", "nothing: the next drain check, up to 15 minutes away, sees it"
        if known is None:
            why, fix = ", of which the answers have no statistics", f"look at {older}"
        elif rest and not names:
            verdict = Verdict.BLOCKS
            why, fix = f", where {counted(rest, 'message')} are left and nobody is connected", "start a consumer"
        elif rest:
            why = f", where {joined(list(names), 3)} has {counted(rest, 'message')} to acknowledge"
            fix = f"let {joined(list(names), 3)} acknowledge; closing it gives the segment to others"
        return Cause(
            SEGMENT_WAITS,
            verdict,
            wait + why,
            dispatcher.topic,
            by=names,
            waiting=dispatcher.backlog,
            numbers=(("backlog", dispatcher.backlog), ("older_backlog", rest), ("older_consumers", len(names))),
            fix=fix,
            fields=("subscriptions.segments.blocked", "layout.segments.parentIds", "msgBacklog"),
        )

    return worst_of(seen, decide)
