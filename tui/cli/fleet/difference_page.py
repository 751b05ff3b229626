"""The difference of two runs of a fleet as text: the counts first, then the lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.text import counted
from engine.views.fleet.difference import (
    FindingPlace,
    FleetDifference,
    MovedTopic,
    OwnerChange,
    Run,
    SubscriptionChange,
    SubscriptionName,
)
from tui.cli.plain import Align, table
from tui.kit.wording import percent, safe_name

OWNERS_SHOWN: Final = 3
_WORDS: Final = {
    "lost_msg_rate": "lost msg/s",
    "idle": "idle",
    "max_over_even": "max/even",
    "max_over_mean": "max/mean",
}


def fleet_difference_lines(difference: FleetDifference) -> Iterator[str]:
    """Everything that was compared; of each list what the difference has of it."""
    sums, lists = difference.sums, difference.lists
    yield f"A: {_run(difference.before)}"
    yield f"B: {_run(difference.after)}"
    if difference.not_compared:
        yield f"not compared, since a run lacks it: {', '.join(difference.not_compared)}"
    if sums.items is not None and sums.moved is not None:
        share = percent(sums.moved / sums.items) if sums.items else "none"
        yield (
            f"owners by the rule in force: {sums.moved:,} of {counted(sums.items, 'partition')} moved ({share}), in"
            f" {counted(sums.moved_subscriptions or 0, 'subscription')}"
        )
    if sums.worse is not None:
        yield (
            f"subscriptions: {sums.worse:,} worse, {sums.better:,} better, {sums.verdicts:,} with another verdict;"
            f" {sums.idle:+,} idle consumers, {sums.lost_msg_rate:+,.1f} lost msg/s"
        )
    if sums.new_findings is not None:
        yield f"findings: {sums.new_findings:,} new, {sums.gone_findings:,} gone"
    for noun in ("topics", "subscriptions", "brokers"):
        appeared, vanished = getattr(sums, f"{noun}_appeared"), getattr(sums, f"{noun}_vanished")
        if appeared is not None:
            yield f"{noun}: {appeared:,} appeared, {vanished:,} vanished"
    moved = [
        (_full(row.namespace, row.subscription), f"{row.moved:,}", f"{row.partitions:,}", _owners(row.owners))
        for row in lists.moved
    ]
    heads: tuple[str, ...] = ("subscription", "moved", "of", "partitions from → to")
    yield from _block("Moved", heads, moved, "<>><", sums.moved_subscriptions)
    if len(lists.moved) == 1:
        topics = lists.moved[0].topics
        rows = [_topic(row) for row in topics]
        yield from _block("Moved partitions", ("partition", "A", "B"), rows, "<<<", lists.moved[0].moved)
    for title, changes, count in (
        ("Worse", lists.worse, sums.worse),
        ("Better", lists.better, sums.better),
        ("Another verdict", lists.verdicts, sums.verdicts),
    ):
        heads = ("subscription", "type", *_WORDS.values(), "verdict")
        yield from _block(title, heads, [_change(row) for row in changes], "<<>>>><", count)
    heads = ("severity", "rule", "place")
    for title, findings, count in (
        ("New findings", lists.new_findings, sums.new_findings),
        ("Gone findings", lists.gone_findings, sums.gone_findings),
    ):
        yield from _block(title, heads, [(row.severity, row.rule, _place(row)) for row in findings], "<<<", count)
    for noun in ("topics", "subscriptions", "brokers"):
        for what in ("appeared", "vanished"):
            names = [(_named(row),) for row in getattr(lists, f"{noun}_{what}")]
            yield from _block(f"{noun.capitalize()} {what}", (), names, "<", getattr(sums, f"{noun}_{what}"))


def _run(run: Run) -> str:
    moment = f", of {safe_name(run.snapshot_time)}" if run.snapshot_time else ""
    return f"{safe_name(run.place)} (run {safe_name(run.run_id)}{moment})"


def _full(namespace: str, subscription: str) -> str:
    return f"{safe_name(namespace)}/{safe_name(subscription)}"


def _named(row: str | SubscriptionName) -> str:
    return safe_name(row) if isinstance(row, str) else _full(row.namespace, row.subscription)


def _owner(name: str | None) -> str:
    return "nobody" if name is None else safe_name(name)


def _owners(changes: Sequence[OwnerChange]) -> str:
    shown = [f"{row.partitions:,} {_owner(row.before)} → {_owner(row.after)}" for row in changes[:OWNERS_SHOWN]]
    more = len(changes) - OWNERS_SHOWN
    return ", ".join([*shown, f"and {more:,} more pairs"] if more > 0 else shown)


def _topic(row: MovedTopic) -> tuple[str, ...]:
    return safe_name(row.topic), _owner(row.before), _owner(row.after)


def _change(row: SubscriptionChange) -> tuple[str, ...]:
    verdicts = [
        verdict.lower().replace("_", " ") if verdict else "" for verdict in (row.before.verdict, row.after.verdict)
    ]
    numbers = [_pair(getattr(row.before, name), getattr(row.after, name), name) for name in _WORDS]
    verdict = verdicts[1] if verdicts[0] == verdicts[1] else f"{verdicts[0] or 'none'} → {verdicts[1] or 'none'}"
    return _full(row.namespace, row.subscription), row.type, *numbers, verdict


def _pair(before: float | None, after: float | None, name: str) -> str:
    style = {"idle": ",.0f", "lost_msg_rate": ",.1f"}.get(name, ",.2f")
    old, new = ("" if value is None else format(value, style) for value in (before, after))
    return new if old == new else f"{old or 'none'} → {new or 'none'}"


def _place(row: FindingPlace) -> str:
    subscription = (
        _full(row.namespace, row.subscription) if row.subscription else row.namespace and safe_name(row.namespace)
    )
    names = (row.bundle, row.topic, row.consumer)
    return ", ".join(part for part in (subscription, *(safe_name(name) for name in names if name)) if part)


def _block(
    title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], aligns: str, count: int | None
) -> Iterator[str]:
    if not rows:
        return
    sides: list[Align] = [">" if side == ">" else "<" for side in aligns]
    yield ""
    yield title
    yield from table([heads, *rows] if heads else list(rows), sides, indent="  ")
    if (count or 0) > len(rows):
        yield f"  and {(count or 0) - len(rows):,} more (--top has them)"
