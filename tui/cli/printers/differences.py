"""``diff`` as text: the sums first, then settings that differ, then each subscription with what changes hands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from engine.admin.between import Change
from engine.text import counted, listed, shell_line, visible
from engine.views.comparing.difference import DifferenceView, SettingDifference, SubscriptionDifference
from engine.views.comparing.handovers import SLOT, HandoverRow
from engine.views.reported.changes import change_text
from tui.cli.plain import BY_TOP, PageColumn, and_more, listing, wrapped
from tui.kit.verdict_words import verdict_text
from tui.kit.wording import NOBODY, bytes_per_sec, out_rate, percent, quantity, safe_name, short_topic, subject_title

NAMED: Final = 8


def difference_lines(view: DifferenceView, top: int) -> Iterator[str]:
    """Everything, of each subscription at most ``top`` rows."""
    yield f"A: {safe_name(view.before)} (Pulsar {safe_name(view.release_before)})"
    yield f"B: {safe_name(view.after)} (Pulsar {safe_name(view.release_after)})"
    for old, new in view.namespaces.items():
        text = f"{safe_name(old)} of A has the topics of {safe_name(new)} of B, and is compared under that name"
        yield from wrapped(f"{text} ({shell_line('--as', f'{old}={old}')} keeps them apart)")
    yield from _alone(*view.alone)
    yield "who is active is computed by the rules on either side, not what brokers reported"
    yield from sum_lines(view)
    if view.settings:
        yield ""
        columns: list[PageColumn[SettingDifference]] = [
            ("setting", "<", lambda setting: f"  {setting.name}"),
            ("A", "<", lambda setting: setting.before),
            ("B", "<", lambda setting: setting.after),
        ]
        yield from listing(view.settings, columns)
    for bundle in view.bundles:
        yield f"bundles of {safe_name(bundle.namespace)}: {bundle.before:,} → {bundle.after:,}"
    yield from _names("topics appeared", view.topics_appeared)
    yield from _names("topics vanished", view.topics_vanished)
    yield from _pairs("topics likely renamed", view.topics_renamed)
    yield from differing_lines(view, top)
    for topic in view.scalable:
        yield ""
        moved = f" keys of {percent(topic.ring_moved)} of the ring go to others" if topic.ring_moved else ""
        yield f"{safe_name(topic.topic)}:{moved}"
        for point in topic.points:
            yield from wrapped(f"{safe_name(point.label)}: {safe_name(point.text)}", first="  ", rest="    ")
    if view.reported is not None:
        yield ""
        yield from _reported(view.reported, top)


def _alone(gone: Sequence[str], came: Sequence[str]) -> Iterator[str]:
    """What could not be compared, where something else might be meant by it."""
    if gone and came:
        names = [", ".join(map(safe_name, listed[:NAMED])) for listed in (gone, came)]
        line = shell_line("--as", f"{gone[0]}={came[0]}")
        yield from wrapped(f"not compared: {names[0]} of A and {names[1]} of B; {line} compares one with the other")


def _reported(changes: Sequence[Change], top: int) -> Iterator[str]:
    """Differences between what brokers reported, one kind after the other."""
    if not changes:
        yield "as brokers reported: consumers and their states, owners, bundles, partitions and counts are the same"
        return
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in Counter(change.kind for change in changes).items())
    yield from wrapped(f"as brokers reported: {counted(len(changes), 'change')} ({kinds})", rest="  ")
    for change in changes[:top]:
        yield from wrapped(f"{safe_name(change.namespace)}: {visible(change_text(change))}", first="  ", rest="    ")
    yield from and_more(len(changes) - top, BY_TOP)


def differing_lines(view: DifferenceView, top: int) -> Iterator[str]:
    """The subscriptions that differ, and how many do not."""
    changed = [one for one in view.subscriptions if _differs(one)]
    keys = {one.key for one in view.subscriptions}
    for one in changed:
        yield ""
        yield from _subscription(one, keys, top)
    same = len(view.subscriptions) - len(changed)
    if same:
        yield ""
        yield f"{counted(same, 'subscription')} without a difference"


def _differs(one: SubscriptionDifference) -> bool:
    if one.verdict is None or one.came or one.left or len(one.rows):
        return True
    if one.noun == SLOT and not one.verdict.items:  # slots of two spaces, which cannot be compared
        return True
    return bool(one.verdict.moved) or one.verdict.judgement != "even"


def sum_lines(view: DifferenceView) -> Iterator[str]:
    """How much moves over all subscriptions."""
    sums = view.sums
    if not sums.items:
        if not any(one.noun == SLOT and one.verdict is not None for one in view.subscriptions):
            yield "no partition of a Failover subscription is on both sides"
        return
    share = percent(sums.moved / sums.items)
    text = f"{sums.moved:,} of {counted(sums.items, 'partition')} ({share}) move, at least {sums.least:,} must"
    if sums.moved:
        text += f": {out_rate(sums.msgs_per_sec)}, {bytes_per_sec(sums.bytes_per_sec)}"
        if sums.unacked_at_risk:  # brokers count none of Failover consumers, so 0 says nothing
            text += f", {counted(sums.unacked_at_risk, 'unacknowledged message')}"
    yield from wrapped(text)


def _subscription(one: SubscriptionDifference, keys: Collection[str], top: int) -> Iterator[str]:
    title = subject_title(one.key, keys, one.key.rpartition("#")[0] or one.key, "", one.topics)
    place = f" in {safe_name(one.namespace)}" if title == safe_name(one.key) else ""
    name = f"{title} ({one.type}){place}"
    if one.verdict is None:
        yield f"{name}: {one.presence}"
        return
    yield from wrapped(f"{name}: {verdict_text(one.verdict, one.noun)}", rest="  ")
    yield from _names("  came", one.came)
    yield from _names("  left", one.left)
    yield from _pairs("  likely renamed", one.renamed)
    if one.rows:
        yield from handover_lines(one.rows, one.noun, top)


def _names(label: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield from wrapped(listed([*map(short_topic, names)], NAMED), first=f"{label} ({len(names):,}): ", rest="    ")


def _pairs(label: str, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if pairs:
        names = [f"{short_topic(old)} → {short_topic(new)}" for old, new in pairs]
        yield from wrapped(listed(names, NAMED), first=f"{label} ({len(pairs):,}): ", rest="    ")


def handover_lines(rows: Sequence[HandoverRow], noun: str, top: int) -> Iterator[str]:
    """What changes hands, a line each: name, from, to, traffic, unacknowledged messages, and remarks."""
    has_unacked = noun != SLOT and any(row.unacked for row in rows[:top])
    unacked: PageColumn[HandoverRow] = ("unacked", ">", lambda row: f"{row.unacked:,}")
    columns: list[PageColumn[HandoverRow]] = [
        ("topic" if noun != SLOT else "known key", "<", lambda row: f"  {short_topic(row.name)}"),
        ("from", "<", lambda row: NOBODY if row.before is None else safe_name(row.before)),
        ("to", "<", lambda row: NOBODY if row.after is None else safe_name(row.after)),
        ("out/s" if noun != SLOT else "messages", ">", lambda row: quantity(row.msgs_per_sec)),
        *([unacked] if has_unacked else []),
        ("", "<", _remark),
    ]
    yield from listing(rows[:top], columns)
    yield from and_more(len(rows) - top, BY_TOP)


def _remark(row: HandoverRow) -> str:
    if row.kind != "moved":
        return row.kind
    return "another consumer of that name" if row.is_between_namesakes else ""
