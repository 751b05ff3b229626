"""``--once`` of a Key_Shared subscription: everything the screen "keys" shows, as text, one fact a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import astuple

from engine.text import counted
from engine.views.keys.model import KeyConsumerRow, KeysFoot, KeysStatus, KeysView, PartitionsView, WaitRow
from engine.views.keys.words import shown, verdict_text
from tui.cli.plain import PageColumn, and_more, listing, table, wrapped
from tui.cli.printers.reported import reported_lines, seen_event_lines
from tui.kit.wording import (
    BUSIEST,
    percent,
    safe_name,
    shorten_middle,
)

NAME_CELLS: Final = 22
SHOWN: Final = 20
"""Waiting slots, gaps and deliveries that are listed; the rest is counted."""


def _moved(row: KeyConsumerRow) -> str:
    gained, lost = (
        f"+{row.gained_slots:,}" if row.gained_slots else "",
        f"-{row.lost_slots:,}" if row.lost_slots else "",
    )
    return " ".join(filter(None, (gained, lost))) + (" (bystander)" if row.bystander else "")


_CONSUMERS: Final[tuple[PageColumn[KeyConsumerRow], ...]] = (
    ("", "<", lambda row: row.tag),
    ("consumer", "<", lambda row: shorten_middle(safe_name(row.name), NAME_CELLS)),
    ("slots", ">", lambda row: f"{row.slots:,}"),
    ("share", ">", lambda row: percent(row.share)),
    ("keys", ">", lambda row: f"{row.keys:,}"),
    ("messages", ">", lambda row: f"{row.messages:,}"),
    ("unacked", ">", lambda row: f"{row.unacked:,}"),
    ("waiting", ">", lambda row: f"{row.waiting:,}"),
    ("pieces", ">", lambda row: f"{row.ranges:,}"),
    ("moved", "<", _moved),
)


def keys_lines(view: KeysView) -> list[str]:
    """One screenful as lines of text."""
    return [
        *_status(view.status),
        *(line for notice in view.notices for line in wrapped(safe_name(notice.text), first="notice: ", rest="  ")),
        "",
        *_consumers(view),
        *partition_lines(view.partitions),
        *wrapped(f"uneven by chance? {verdict_text(view.luck.verdict)}: {view.luck.sentence}", first="", rest="  "),
        *wrapped(f"last step: {view.moves.sentence}", first="", rest="  "),
        *reported_lines(view.reported, view.consumers),
        "",
        *_waits(view),
        *_gaps(view),
        "",
        *_events(view),
    ]


def _status(status: KeysStatus) -> Iterator[str]:
    yield f"source: {safe_name(status.source)}"
    yield (
        f"Pulsar: {safe_name(status.release)} · seed {status.seed} · step {status.step} of {status.steps}"
        f" · {status.now_ms:,} ms"
    )
    side = " (a technique of clients, not a mode of the broker)" if status.client_side else ""
    yield from wrapped(f"{status.mode.value}{side}, {status.form}", first="mode: ", rest="  ")
    yield from wrapped(status.rule_text, first="rule: ", rest="  ")
    yield from wrapped(status.order_rule, first="order: ", rest="  ")
    yield f"subscription: {safe_name(status.subscription)} (Key_Shared) on {safe_name(status.topic)}"
    if status.partition >= 0:
        yield f"shown: partition {status.partition} alone"
    others = [safe_name(key) for key in status.subscriptions if key != status.subscription]
    if others:
        yield from wrapped(", ".join(others), first="other subscriptions: ", rest="  ")


def _consumers(view: KeysView) -> list[str]:
    if not view.consumers:
        return ['consumers: none; --apply "add NAME" connects one', *_foot(view.foot)]
    return [f"consumers: {len(view.consumers)}", *listing(view.consumers, _CONSUMERS, indent="  "), *_foot(view.foot)]


def partition_lines(view: PartitionsView | None) -> Iterator[str]:
    """All partitions, one a line, and what the hash leaves of the slots."""
    if view is None:
        return
    yield f"{counted(len(view.rows), 'partition')}, by {view.hashing} of {view.client}:"
    heading = ("", "keys", "messages", "unacked", "waiting", "slots", "consumers")
    rows = [heading, *(tuple(f"{number:,}" for number in astuple(row)) for row in view.rows[:SHOWN])]
    yield from table(rows, (">", ">", ">", ">", ">", ">", ">"), indent="  ")
    yield from and_more(len(view.rows) - SHOWN)
    if view.undecided_keys:
        yield f"  {counted(view.undecided_keys, 'known key')} that the client does not count as one"
    if view.sentence:
        yield from wrapped(view.sentence, first="  ", rest="  ")


def _foot(foot: KeysFoot) -> Iterator[str]:
    text = (
        f"{foot.slots:,} slots, {counted(foot.keys, 'known key')}, {counted(foot.messages, 'message')},"
        f" {foot.waiting:,} waiting"
        f" · {BUSIEST}: slots {foot.max_over_mean_slots:.2f}, keys {foot.max_over_mean_keys:.2f},"
        f" messages {foot.max_over_mean_messages:.2f} · idle {foot.idle_consumers}"
    )
    if foot.unowned_slots:
        text += f" · {counted(foot.unowned_slots, 'slot')} and {counted(foot.unowned_keys, 'key')} without an owner"
    yield from wrapped(text, first="  ", rest="  ")


def _waits(view: KeysView) -> Iterator[str]:
    if view.reported is not None and not view.reported.computed_from:
        yield "waiting in the simulation: nothing was sent yet"
        return
    if not view.waits:
        yield "waiting: nothing"
        return
    yield f"waiting: {counted(len(view.waits), 'slot')}"
    for row in view.waits[:SHOWN]:
        yield from wrapped(_wait(view, row), first="  ", rest="    ")
    yield from and_more(len(view.waits) - SHOWN)


def _wait(view: KeysView, row: WaitRow) -> str:
    keys = ", ".join(map(_key, row.keys[:3])) + (", ..." if len(row.keys) > 3 else "")
    owner = f" for {safe_name(view.consumers[row.owner].name)}" if row.owner >= 0 else ""
    held = ", ".join(
        f"{safe_name(view.consumers[holder.consumer].name)} holds {holder.unacked}"
        for holder in row.holders
        if holder.consumer >= 0
    )
    since = f", since {row.since_ms:,} ms" if row.since_ms >= 0 else ""
    where = f"partition {row.partition}, " if row.partition >= 0 else ""
    return (
        f"{where}slot {row.slot:,}: {counted(row.messages, 'message')} of {keys}{owner} ({row.reason}"
        f"{': ' + held if held else ''}{since}) until {row.ends_when}"
    )


def _gaps(view: KeysView) -> Iterator[str]:
    if not view.gaps or not view.consumers:
        return
    yield f"gaps: {counted(len(view.gaps), 'range')} without an owner"
    for row in view.gaps[:SHOWN]:
        more = ", ..." if len(row.keys) > 5 else ""
        keys = f", keys {', '.join(map(_key, row.keys[:5]))}{more}" if row.keys else ""
        waiting = counted(row.waiting, "message", "waits", "wait") if row.waiting else ""
        slots = counted(row.end - row.start + 1, "slot")
        text = f"{row.start:,}-{row.end:,}: {slots}{', ' if waiting else ''}{waiting}{keys}"
        yield from wrapped(text, first="  ", rest="    ")
    yield from and_more(len(view.gaps) - SHOWN)


def _events(view: KeysView) -> Iterator[str]:
    yield "events:"
    for event in view.events:
        moved = f": {counted(event.moved, 'slot')} moved, {event.least:,} had to" if event.moved else ""
        yield from wrapped(safe_name(event.text) + moved, first=f"  {event.step:>3}  ", rest=" " * 7)
        if event.kind == "open" and view.reported is not None:
            yield from seen_event_lines(view.reported)


def _key(text: str) -> str:
    return safe_name(text) if text else shown(text)
