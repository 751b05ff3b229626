"""Why a topic goes where it goes, as labelled sentences. The reasons come from the engine as data."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from engine.config import FLAG
from engine.failover.choose import Rule
from engine.failover.explain import FailoverExplanation, RingStep, Rival, RuleReason, WhyNot, rivals_of
from engine.failover.takeover import TakeoverEvent, TakeoverStep
from engine.text import counted
from engine.views.failover.explanations import TopicExplanation
from tui.kit.wording import Remark, bytes_per_sec, bytes_text, in_out_rate, safe_name, short_topic

_REASONS: Final = {
    RuleReason.FLAG_IS_OFF: f"{FLAG} is false, so the partition index decides",
    RuleReason.FLAG_IS_ON: f"{FLAG} is true, so the hash ring decides",
    RuleReason.RELEASE_IGNORES_FLAG: f"this release does not know {FLAG}, so the partition index decides",
    RuleReason.NOT_PARTITIONED: "a topic without partitions goes by the hash ring, whatever the flag says",
    RuleReason.NOT_PARTITIONED_BEFORE_3_0: "before 3.0 a topic without partitions keeps the consumer that came first",
}


RIVALS_SHOWN: Final = 4
DELAY: Final = "activeConsumerFailoverDelayTimeMillis"


def remarks_of(answer: TopicExplanation, *, others: bool = True) -> tuple[Remark, ...]:
    """The answer first, then the reasons in the order they are checked by hand, with ``others`` why not these."""
    remarks = [Remark("topic", short_topic(answer.topic))]
    why = answer.why
    if why is None:
        remarks.append(Remark("active", "nobody: no consumer is connected", main=True))
    else:
        remarks.append(Remark("active", _who(why), main=True))
        remarks.append(Remark("rule", _REASONS[why.rule_reason]))
        remarks += _steps(why)
        remarks.append(Remark("heirs", _heirs(why)))
        remarks += _takeover(answer, moments=answer.happened or not others)
        if answer.other is not None and answer.flag_known and why.partition_index >= 0:
            remarks.append(Remark("flag on" if why.rule is Rule.MODULO else "flag off", _otherwise(why, answer.other)))
        remarks.append(Remark("hash", _hashed(why)))
        remarks.append(Remark("bytes", bytes_text(why.topic_hash.data)))
    if answer.bundle:
        remarks.append(
            Remark(
                "bundle",
                f"{answer.namespace} {answer.bundle} holds its CRC-32 0x{answer.bundle_hash:08x}",
            )
        )
    remarks.append(Remark("traffic", _traffic(answer)))
    if why is not None and others:
        remarks += _others(why)
    return tuple(remarks)


def why_not(rival: Rival, why: FailoverExplanation) -> str:
    """What keeps a consumer from being active, in few words."""
    level = rival.consumer.priority_level
    match rival.why_not:
        case WhyNot.LOWER_PRIORITY:
            return f"priority level {level}, and {counted(len(why.cohort), 'consumer')} of {why.active.priority_level}"
        case WhyNot.OTHER_PLACE:
            return f"place {rival.place}, not {why.choice.index}"
        case WhyNot.CAME_LATER:
            return "connected later"
        case WhyNot.NO_POINT:
            return "others own all its points"
        case WhyNot.LOST_POINT:
            return f"claims the same point, and {safe_name(why.active.name)} is later in name order"
    assert why.ring is not None and rival.distance is not None
    return f"its next point is {rival.distance - why.ring.distance:,} further on"


def _others(why: FailoverExplanation) -> list[Remark]:
    """Why not the others, the nearest on the ring first."""
    rivals = rivals_of(why)
    if why.ring is not None:
        rivals = tuple(sorted(rivals, key=lambda rival: (rival.distance is None, rival.distance or 0)))
    shown = [
        Remark("not" if not at else "", f"{safe_name(rival.consumer.name)}: {why_not(rival, why)}")
        for at, rival in enumerate(rivals[:RIVALS_SHOWN])
    ]
    left = len(rivals) - len(shown)
    return shown + ([Remark("", f"and {left:,} more")] if left else [])


def _who(why: FailoverExplanation) -> str:
    name = safe_name(why.active.name)
    return f"{name}, one of {counted(len(why.cohort), 'consumer')}" + (
        f" of priority level {why.active.priority_level}" if why.lower_priority else ""
    )


def _steps(why: FailoverExplanation) -> list[Remark]:
    if why.modulo is not None:
        division = why.modulo
        sum_text = f"partition index {division.dividend} mod {counted(division.divisor, 'consumer')}"
        return [Remark("why", f"{sum_text} = {division.remainder}, its place in name order (from 0)")]
    if why.ring is not None:
        return [Remark("point", _point(why.ring)), *_claims(why.ring)]
    return []


def _point(step: RingStep) -> str:
    key = step.owned_by[-1]
    where = "exactly at its hash" if step.distance == 0 else f"{step.distance:,} further on"
    wrap = ", past the end of the ring and on from 0" if step.wrapped else ""
    return f'0x{step.point:08x}, {where}{wrap}: the hash of "{safe_name(key.consumer.name)}" + "{key.replica}"'


def _claims(step: RingStep) -> list[Remark]:
    if len(step.claims) < 2:
        return []
    names = ", ".join(f"{safe_name(claim.consumer.name)} + {claim.replica}" for claim in step.claims)
    return [Remark("collision", f"claimed by {names}; the last in name order owns it")]


def _heirs(why: FailoverExplanation) -> str:
    if not why.heirs:
        return "nobody else is connected"
    names = [safe_name(heir.name) for heir in why.heirs]
    return f"{names[0]} if it leaves" + (f", then {names[1]}" if len(names) > 1 else "")


def _takeover(answer: TopicExplanation, *, moments: bool) -> list[Remark]:
    """From whom to whom the active role goes and when, with ``moments`` what the broker does at each."""
    takeover = answer.takeover
    if takeover is None:
        return []
    previous, active = safe_name(takeover.previous.name), safe_name(takeover.active.name)
    taken = f"after {takeover.duration_ms:,} ms" if takeover.duration_ms else "at once"
    again = next((step.count for step in takeover.steps if step.event is TakeoverEvent.REWOUND), 0)
    label, text = ("moved", f"from {previous} in the last step") if answer.happened else ("how", f"to {active} {taken}")
    if not moments and again:
        text += f"; {counted(again, 'message')} will be sent again"
    elif not moments and answer.sent_again_at_most:
        text += f"; up to {counted(answer.sent_again_at_most, 'message')} may be sent again"
    remarks = [Remark(label, text)]
    if moments:
        by_time = groupby(takeover.steps, lambda step: step.at_ms)
        for at_ms, steps in by_time:
            done = "; ".join(_takeover_step(step, answer) for step in steps)
            remarks.append(Remark("", f"+{at_ms:,} ms: {done}"))
    return remarks


def _takeover_step(step: TakeoverStep, answer: TopicExplanation) -> str:
    name = safe_name(step.consumer.name) if step.consumer is not None else "nobody"
    match step.event:
        case TakeoverEvent.CHOSEN:
            return f"{name} is chosen"
        case TakeoverEvent.READ_CANCELLED:
            return f"the waiting read for {name} is cancelled"
        case TakeoverEvent.WAITS:
            return f"nothing is read for {step.count:,} ms ({DELAY})"
        case TakeoverEvent.REWOUND:
            return _sent_again(step.count, answer.sent_again_at_most)
        case TakeoverEvent.NOTIFIED:
            return f"{counted(step.count or 0, 'consumer')} {'is' if step.count == 1 else 'are'} notified"
        case TakeoverEvent.READS:
            return f"reading begins for {name}"


def _sent_again(unacked_messages: int | None, at_most: int | None) -> str:
    if unacked_messages:
        return f"{counted(unacked_messages, 'unacknowledged message')} will be sent again"
    if at_most:
        backlog = counted(at_most, "message")
        return f"of the backlog of {backlog}, what is not acknowledged will be sent again (how much, no broker says)"
    return "nothing has to be sent again" if at_most == 0 else "how much will be sent again is in no answer"


def _otherwise(why: FailoverExplanation, other: FailoverExplanation) -> str:
    if other.active.consumer_id == why.active.consumer_id:
        return "the same consumer would be active"
    return f"{safe_name(other.active.name)} would be active"


def _hashed(why: FailoverExplanation) -> str:
    hashed = why.topic_hash
    decided = "" if why.ring is not None else ", which decides nothing now"
    return f"0x{hashed.value:08x}: Murmur3 of {counted(len(hashed.data), 'byte')}, raw {hashed.raw}{decided}"


def _traffic(answer: TopicExplanation) -> str:
    text = f"{in_out_rate(answer.msgs_per_sec)} · {bytes_per_sec(answer.bytes_per_sec)}"
    return f"{text} · {answer.unacked_messages:,} unacked" if answer.unacked_messages else text
