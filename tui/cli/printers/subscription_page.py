"""``--once`` of a subscription for which nothing is computed: everything its screen tells, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.views.reported.subscription import SubscriptionView
from tui.cli.plain import Align, table, wrapped
from tui.cli.printers.reported import reported_lines, seen_event_lines
from tui.kit.wording import quantity, safe_name, short_topic, shorten_middle

SHOWN: Final = 50
"""Topics that are listed; the rest is counted."""
TOPIC_CELLS: Final = 40
_HEADING: Final = ("", "topic", "backlog", "unacked", "replay", "msg/s", "consumers", "active")
_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", ">", ">", ">", ">", ">", "<")


def subscription_lines(view: SubscriptionView) -> Iterator[str]:
    """One screenful as lines of text."""
    status = view.status
    yield f"source: {safe_name(status.source)}"
    yield f"Pulsar: {safe_name(status.release)} · step {status.step} of {status.steps}"
    yield f"subscription: {safe_name(status.subscription)} ({status.type}) in {safe_name(status.namespace)}"
    yield "nothing is computed for it: what brokers reported is shown"
    others = [safe_name(key) for key in status.subscriptions if key not in (status.subscription, "")]
    if others:
        yield from wrapped(", ".join(others), first="other subscriptions: ", rest="  ")
    for notice in view.notices:
        yield from wrapped(safe_name(notice.text), first="notice: ", rest="  ")
    yield from reported_lines(view.reported, view.consumers)
    yield ""
    yield f"topics: {len(view.topics):,}, the largest backlog first"
    rows = [_HEADING]
    for row in view.topics[:SHOWN]:
        numbers = (f"{row.backlog:,}", f"{row.unacked:,}", f"{row.in_replay:,}", quantity(row.msgs_per_sec))
        name = shorten_middle(short_topic(row.name), TOPIC_CELLS)
        active = view.consumers[row.active].tag if row.active >= 0 else ""
        rows.append(("!" if row.blocked else "", name, *numbers, f"{row.consumers:,}", active))
    yield from table(rows, _ALIGNS, indent="  ")
    if len(view.topics) > SHOWN:
        yield f"  and {len(view.topics) - SHOWN:,} more"
    if view.reported.events:
        yield ""
        yield "events:"
        yield from seen_event_lines(view.reported)
