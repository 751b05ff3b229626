"""``expect`` lines about scalable topics.

::

    expect segments = N              (active)        expect owner KEY CONSUMER|nobody
    expect sealed = N                (listed still)  expect segment KEY = ID
    expect capacity = N              (buckets)       expect reads ID CONSUMER|nobody   (attached to it now)
    expect waiting = N               (segments)      expect step none|split|merge|rebucket|blocked|off
    expect handovers = N             (not finished)  expect scaling REASON|none        (of a block)
    expect stuck = N                                 expect backlog = N, expect unacked CONSUMER = N
    expect idle = N, expect consumers = N            expect epoch = N

    expect migrated KEY = ID         (its segment once the classic topic is migrated)

Owner, waiting, idle, consumers and unacked are written as for other subscriptions. They are about the first
subscription of the topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.views.scalable.dashboard import ScalableDashboard, keys_answered, scalable_dashboard
from engine.views.scalable.migration import classic_topic_of, migration_view, routing_of

SCALABLE_FORMS: Final[Mapping[str, tuple[int, bool, str]]] = {
    "segments": (0, True, "expect segments = N"),
    "sealed": (0, True, "expect sealed = N"),
    "capacity": (0, True, "expect capacity = N"),
    "handovers": (0, True, "expect handovers = N"),
    "stuck": (0, True, "expect stuck = N"),
    "backlog": (0, True, "expect backlog = N"),
    "epoch": (0, True, "expect epoch = N"),
    "segment": (1, True, "expect segment KEY = ID"),
    "reads": (2, False, "expect reads ID CONSUMER"),
    "step": (1, False, "expect step none|split|merge|rebucket|blocked|off"),
    "scaling": (1, False, "expect scaling REASON|none"),
}
"""Kind -> how many words name the subject, whether a comparison follows, how it is written."""
MIGRATED: Final = {"migrated": (1, True, "expect migrated KEY = ID")}


def migrated_number(key: str, timeline: Timeline) -> float | str:
    """The segment of a key once the first topic is migrated, or why it has none."""
    topic = min(timeline.state.topics, default="")
    before = classic_topic_of(timeline.state, topic)
    if before is None:
        return "there is no classic topic"
    keys = [key.encode("utf-8", "surrogatepass")]
    view = migration_view(before, keys, routing_of(timeline.state, topic))
    return view.message if isinstance(view, Rejection) else view.keys[0].segment


def scalable_text_unmet(kind: str, subject: tuple[str, ...], timeline: Timeline, topic: str) -> str | None:
    """Why an expectation without a number does not hold, "" when it does; None for one with a number."""
    view = scalable_dashboard(timeline, topic)
    match kind:
        case "owner":
            owners = keys_answered(view, (subject[0],)).keys[0].owners
            first = next((one.consumer or "nobody" for one in owners if one.subscription == _first(view)), "nobody")
            return "" if first == subject[1] else f"{first} has {subject[0]}"
        case "reads":
            row = view.subscription
            reading = [one.name for one in row.consumers if subject[0] in map(str, one.reported)] if row else []
            there = reading or ["nobody"]
            return "" if subject[1] in there else f"{', '.join(there)} reads {subject[0]}"
        case "step":
            step = view.view.next
            actions = sorted({one.action for one in step.steps}) if step.enabled else ["off"]
            return "" if actions == [subject[0]] else f"the step is {' or '.join(actions)}"
        case "scaling":
            reason = view.view.next.blocked_reason or "none"
            return "" if reason == subject[0] else f"the reason is {reason}"
        case "notice":
            codes = [notice.code for notice in view.notices]
            return "" if subject[0] in codes else f"the notices are {', '.join(codes) or 'none'}"
    return None


def scalable_number(kind: str, subject: tuple[str, ...], timeline: Timeline, topic: str) -> float | str:
    """The number to compare, or why there is none."""
    view = scalable_dashboard(timeline, topic)
    row = view.subscription
    consumers = row.consumers if row is not None else ()
    match kind:
        case "segment":
            segment = keys_answered(view, (subject[0],)).keys[0].segment
            return segment if segment is not None else f"no segment has {subject[0]}"
        case "unacked":
            found = next((one.unacked for one in consumers if one.name == subject[0]), None)
            return found if found is not None else f"no consumer is named {subject[0]!r}"
    numbers: dict[str, float] = {
        "segments": view.view.next.active,
        "sealed": len(view.segments) - view.view.next.active,
        "capacity": view.view.next.capacity,
        "waiting": len({wait.segment for wait in row.waits}) if row is not None else 0,
        "handovers": sum(len(one.losing) for one in consumers),
        "stuck": sum(len(one.stuck) for one in consumers),
        "backlog": row.backlog if row is not None else 0,
        "epoch": view.view.epoch,
        "idle": sum(one.idle for one in consumers),
        "consumers": len(consumers),
    }
    return numbers.get(kind, f"{kind} is not measured where a scalable topic is shown")


def _first(view: ScalableDashboard) -> str:
    return view.subscription.name if view.subscription is not None else ""
