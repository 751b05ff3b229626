"""The page of a scalable topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.text import counted, listed
from engine.views.scalable.model import ConsumerRow, KeyRow, ScalableView, SegmentRow, SubscriptionRow
from engine.views.scalable.words import (
    consumer_remark,
    coverage_lines,
    key_text,
    next_step_lines,
    owner_text,
    share_text,
    wait_lines,
)
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import percent, quantity, safe_name

_SEGMENTS: Final[tuple[Align, ...]] = ("<", "<", ">", "<", ">", ">", ">", ">", ">", "<", "<")
_SEGMENT_HEADINGS: Final = (
    "id", "range", "share", "state", "buckets", "in/s", "out/s", "score", "backlog", "parents", "owner",
)  # fmt: skip
MOST_IDS: Final = 8
"""In a cell: a migrated topic has a parent for every partition, and a lone consumer has every segment."""
_CONSUMERS: Final[tuple[Align, ...]] = ("<", "<", "<", ">", "<")
_CONSUMER_HEADINGS: Final = ("consumer", "segments", "reported", "unacked", "")


def scalable_lines(view: ScalableView) -> Iterator[str]:
    """The lines of the page."""
    active = sum(1 for segment in view.segments if segment.state == "ACTIVE")
    yield safe_name(view.topic)
    yield (
        f"{counted(len(view.segments), 'segment')}, {active:,} active · epoch {view.epoch:,}"
        f" · controller {safe_name(view.controller) if view.controller else 'unknown'}"
    )
    yield ""
    yield from table([_SEGMENT_HEADINGS, *map(_segment, view.segments)], _SEGMENTS)
    for line in coverage_lines(view):
        yield from wrapped(line, first="", rest="  ")
    for subscription in view.subscriptions:
        yield ""
        yield from _subscription(subscription)
    if view.readers:
        yield ""
        yield f"left out: {counted(view.readers, 'subscription')} of readers of CHECKPOINT consumers"
    for key in view.keys:
        yield ""
        yield from _key(key)
    yield ""
    yield "next automatic step"
    for line in next_step_lines(view.next):
        yield from wrapped(line, first="  ", rest="    ")


def key_lines(view: ScalableView) -> Iterator[str]:
    """The keys alone, for ``explain key``."""
    yield safe_name(view.topic)
    for key in view.keys:
        yield from _key(key)


def _segment(segment: SegmentRow) -> tuple[str, ...]:
    return (
        str(segment.id),
        f"{segment.start:04x}-{segment.end:04x}",
        percent(segment.share),
        segment.state.lower(),
        f"{segment.buckets:,}",
        _number(segment.msg_rate_in),
        _number(segment.msg_rate_out),
        "" if segment.score is None else f"{segment.score:.2f}",
        _number(segment.backlog),
        listed([str(one) for one in segment.parents], MOST_IDS),
        safe_name(segment.owner) if segment.owner else "",
    )


def _number(value: float | None) -> str:
    return "" if value is None else quantity(value)


def _subscription(subscription: SubscriptionRow) -> Iterator[str]:
    yield (
        f"subscription {safe_name(subscription.name)} ({subscription.type}):"
        f" backlog {subscription.backlog:,}, {subscription.unacked:,} unacked"
    )
    rows = [_CONSUMER_HEADINGS, *map(_consumer, subscription.consumers)]
    yield from table(rows, _CONSUMERS, indent="  ") if subscription.consumers else ["  no consumer"]
    for line in wait_lines(subscription):
        yield from wrapped(line, first="  ", rest="    ")


def _consumer(consumer: ConsumerRow) -> tuple[str, ...]:
    computed = consumer.computed
    return (
        safe_name(consumer.name),
        "every one" if computed is None else listed([*map(share_text, computed)], MOST_IDS) or "none",
        listed([*map(str, consumer.reported)], MOST_IDS) or "none",
        f"{consumer.unacked:,}",
        consumer_remark(consumer),
    )


def _key(key: KeyRow) -> Iterator[str]:
    yield f"key {safe_name(key.key)!r}"
    yield from wrapped(key_text(key), first="  ", rest="    ")
    for owner in key.owners:
        yield f"  {safe_name(owner_text(owner))}"
