"""What brokers reported of a subscription, as text: sums, the table of its consumers, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from engine.text import counted
from engine.views.reported.model import Comparison, ReportedView
from engine.views.reported.subscription import SubscriptionView, TopicRow
from tui.cli.plain import Align, PageColumn, and_more, listing, table, wrapped
from tui.kit.reported import Tagged, comparison_text, obstacle_texts, pair_words, seen_text, waiting_text
from tui.kit.wording import known, quantity, safe_name, short_topic, shorten_middle

NAME_CELLS: Final = 22
DRAINING_SHOWN: Final = 20
"""Draining slots that are listed; the rest is counted."""
DIFFERENCES_SHOWN: Final = 20
_HEADING: Final = ("", "consumer", "permits", "unacked", "waiting", "out/s", "blocked")
_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", ">", ">", ">", ">", "<")


class Row(Tagged, Protocol):
    """A row of the table of consumers."""

    @property
    def name(self) -> str: ...


def _comparison_lines(comparison: Comparison | None) -> Iterator[str]:
    if comparison is None or not comparison.compared:
        return
    yield f"  {comparison_text(comparison)}"
    for difference in comparison.disagreements[:DIFFERENCES_SHOWN]:
        sides = f"reported {safe_name(difference.reported)}, by the model {safe_name(difference.modelled)}"
        text = f"{short_topic(difference.topic)}: {difference.kind}, {sides} ({difference.rule})"
        yield from wrapped(text, first="    ", rest="      ")
    yield from and_more(len(comparison.disagreements) - DIFFERENCES_SHOWN, indent="    ")


def reported_lines(view: ReportedView | None, rows: Sequence[Row]) -> Iterator[str]:
    """What was reported of a subscription; after a step of the simulation only that it was left behind."""
    if view is None:
        return
    yield ""
    if view.computed_from:
        yield from wrapped(
            f"reported: {seen_text(view.time)}; everything here is computed from step {view.computed_from} on",
            first="",
            rest="  ",
        )
        return
    parts = [
        f"backlog {known(view.backlog)}",
        f"{known(view.unacked)} unacked",
        f"{known(view.in_replay)} in replay",
        f"{known(view.delayed)} delayed",
        f"{quantity(view.msgs_per_sec)} out/s",
        f"{known(view.blocked_dispatchers)} of {counted(view.dispatchers, 'topic')} blocked on unacked",
    ]
    yield f"reported by brokers, {seen_text(view.time)}:"
    yield from wrapped(" · ".join(parts), first="  ", rest="  ")
    yield from _comparison_lines(view.comparison)
    listed = [
        (
            f"!{rows[at].tag}" if consumer.obstacles else f" {rows[at].tag}",
            shorten_middle(safe_name(consumer.name), NAME_CELLS),
            known(consumer.permits),
            known(consumer.unacked),
            waiting_text(consumer),
            quantity(consumer.msgs_per_sec),
            obstacle_texts(consumer, rows)[0].removeprefix("! "),
        )
        for at, consumer in enumerate(view.consumers)
    ]
    if listed:
        yield from table([_HEADING, *listed], _ALIGNS, indent="  ")
    yield from _draining(view, rows)


def _draining(view: ReportedView, rows: Sequence[Row]) -> Iterator[str]:
    if not view.waits:
        return
    names = [row.name for row in rows]
    words = ", ".join(pair_words(view, names)) or "no message was held back"
    yield from wrapped(f"{counted(view.draining_slots, 'slot')} draining: {words}", first="  ", rest="    ")
    listed = [("slot", "waits", "for", "unacked", "attempts", "topic")]
    for wait in view.waits[:DRAINING_SHOWN]:
        who, whom = (rows[at].tag if at >= 0 else "-" for at in (wait.owner, wait.holder))
        unacked, attempts = f"{wait.unacked:,}", f"{wait.blocked_attempts:,}"
        listed.append((str(wait.slot), who, whom, unacked, attempts, safe_name(wait.topic)))
    yield from table(listed, (">", "<", "<", ">", ">", "<"), indent="  ")
    yield from and_more(len(view.waits) - DRAINING_SHOWN)


def seen_event_lines(view: ReportedView) -> Iterator[str]:
    """What happened between the moments that were seen, inferred from the answers; a star precedes the moment."""
    for event in view.events:
        yield from wrapped(safe_name(event.text), first=f"  {f'*{event.moment}':>3}  ", rest=" " * 7)


TOPICS_SHOWN: Final = 50
"""Topics that are listed; the rest is counted."""
TOPIC_CELLS: Final = 40


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
    columns: list[PageColumn[TopicRow]] = [
        ("", "<", lambda row: "!" if row.blocked else ""),
        ("topic", "<", lambda row: shorten_middle(short_topic(row.name), TOPIC_CELLS)),
        ("backlog", ">", lambda row: known(row.backlog)),
        ("unacked", ">", lambda row: known(row.unacked)),
        ("replay", ">", lambda row: known(row.in_replay)),
        ("out/s", ">", lambda row: quantity(row.msgs_per_sec)),
        ("consumers", ">", lambda row: known(row.consumers)),
        ("active", "<", lambda row: view.consumers[row.active].tag if row.active >= 0 else ""),
    ]
    yield from listing(view.topics[:TOPICS_SHOWN], columns, indent="  ")
    yield from and_more(len(view.topics) - TOPICS_SHOWN)
    if view.reported.events:
        yield ""
        yield "events:"
        yield from seen_event_lines(view.reported)
