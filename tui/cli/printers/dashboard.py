"""``--once``: everything the screen shows, as text. The accessible form too: no drawing, no colour, one fact a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.config import FLAG
from engine.text import counted, moment_text
from engine.views.failover.model import (
    BundleNode,
    ConsumerRow,
    DashboardView,
    EventLine,
    NamespaceNode,
    RuleInForce,
    StatusView,
)
from engine.views.reported.model import ReportedBroker, ReportedView
from tui.cli.plain import PageColumn, listing, wrapped
from tui.cli.printers.reported import reported_lines, seen_event_lines
from tui.failover.words import flag_helps, foot_text
from tui.kit.verdict_words import verdict_text
from tui.kit.wording import event_effect, percent, quantity, safe_name, shorten_middle

NAME_CELLS: Final = 22


def _remark(node: BundleNode) -> str:
    remark = f"split by {node.algorithm}" if node.children else "new" if node.fresh else ""
    return remark if node.reported is None else f"{remark} reported by {safe_name(node.reported.owner)}".strip()


_CONSUMERS: Final[tuple[PageColumn[ConsumerRow], ...]] = (
    ("", "<", lambda row: row.tag),
    ("consumer", "<", lambda row: shorten_middle(safe_name(row.name), NAME_CELLS)),
    ("prio", ">", lambda row: str(row.priority_level)),
    ("active", ">", lambda row: "standby" if row.standby else str(row.active_partitions)),
    ("of ring", ">", lambda row: percent(row.ring_share)),
    ("of rate", ">", lambda row: percent(row.rate_share)),
    ("out/s", ">", lambda row: quantity(row.msgs_per_sec)),
    ("pts", ">", lambda row: str(row.ring_points)),
    ("moved", "<", lambda row: " ".join([f"+{row.gained}"] * bool(row.gained) + [f"-{row.lost}"] * bool(row.lost))),
)
_BUNDLES: Final[tuple[PageColumn[BundleNode], ...]] = (
    ("  bundle", "<", lambda node: "  " * (node.depth + 1) + node.range_text),
    ("topics", ">", lambda node: str(node.topics) if node.reported is None else f"{node.reported.topics:,}"),
    ("in+out/s", ">", lambda node: quantity((node.reported or node).msgs_per_sec)),
    ("B/s", ">", lambda node: quantity((node.reported or node).bytes_per_sec)),
    ("", "<", _remark),
)


def dashboard_lines(view: DashboardView, title: str) -> list[str]:
    """One screenful as lines of text: status, notices, consumers with their foot, bundles, events."""
    return [
        *_status(view.status, title),
        *_remarks(view),
        "",
        *_consumers(view),
        *reported_lines(view.reported, view.consumers),
        "",
        *_brokers(view.brokers),
        *_bundles(view.namespaces),
        "",
        *_events(view.events, view.reported),
    ]


def _status(status: StatusView, title: str) -> Iterator[str]:
    flag = "true" if status.consistent_hashing else "false"
    ignored = "" if status.flag_known else " (this release does not know it and ignores it)"
    yield f"source: {safe_name(status.source)}"
    yield f"Pulsar: {safe_name(status.release)} · seed {status.seed} · step {status.step} of {status.steps}"
    yield f"rule in force: {safe_name(status.rule_text)}"
    yield f"{FLAG}={flag}{ignored}"
    kind = f" ({status.subscription_type})" if status.subscription_type else ""
    key = safe_name(status.subscription)
    yield f"subscription: {title + kind if key else 'none'}{'' if title == key else f', key {key}'}"
    others = [safe_name(key) for key in status.subscriptions if key and key != status.subscription]
    if others:
        yield from wrapped(", ".join(others), first="other subscriptions: ", rest="  ")


def _remarks(view: DashboardView) -> Iterator[str]:
    """What a newcomer should notice, then what is wrong with the input or the names."""
    hint = _hint(view)
    if hint:
        yield from wrapped(hint, first="hint: ", rest="  ")
    for notice in view.notices:
        yield from wrapped(safe_name(notice.text), first="notice: ", rest="  ")
    if view.status.problems:
        yield f"{counted(view.status.problems, 'part')} of the input could not be used; the rest is shown"


def _hint(view: DashboardView) -> str:
    """The next thing worth trying from a command line; the screen's own hints name keys instead."""
    if view.brokers:
        return "load reports alone: bundles with their owners and rates as reported, and no topic is known"
    if not view.status.subscription:
        return (
            "there is no Failover subscription here, so nobody is active for anything; the bundles can still be split"
        )
    if not view.consumers:
        return 'nobody consumes this subscription; --apply "add NAME" connects a consumer'
    alone = next((row for row in view.consumers if row.active_partitions == view.foot.partitions > 1), None)
    advice = _flag_change(view)
    if alone is None or view.foot.consumers < 2:
        return advice
    text = f"{shorten_middle(safe_name(alone.name), NAME_CELLS)} is active for all {view.foot.partitions:,} partitions"
    if flag_helps(view):
        return f"{text}; {advice}"
    return f"{text}; ringside explain TOPIC says why"


def _flag_change(view: DashboardView) -> str:
    """What the other setting of the flag would do here."""
    verdict = view.flag_change
    if verdict is None or not verdict.moved or view.foot.consumers < 2:
        return ""
    other = "off" if view.status.consistent_hashing else "on"
    return f"--flag {other} would be {verdict_text(verdict)}"


def _consumers(view: DashboardView) -> list[str]:
    """The table by level and name, which nearly always is the dispatcher's order, then the line of totals."""
    if not view.consumers:
        return ["consumers: none"]
    # Before 3.0 a dispatcher of a topic without partitions keeps them as they connected.
    sorted_by = "by level and name" if view.status.rule is RuleInForce.FIRST_CONNECTED else "in the dispatcher's order"
    return [
        f"consumers: {len(view.consumers)}, {sorted_by} (pts: points on the ring)",
        *listing(view.consumers, _CONSUMERS, indent="  "),
        *wrapped(foot_text(view.foot), first="  ", rest="  "),
    ]


def _brokers(brokers: tuple[ReportedBroker, ...]) -> Iterator[str]:
    for broker in brokers:
        when = f", seen {moment_text(broker.at_ms)}" if broker.at_ms >= 0 else ""
        cpu = f", cpu {broker.cpu[0]:.0f} of {broker.cpu[1]:.0f}% of a core" if broker.cpu else ""
        memory = f", memory {broker.memory[0]:.0f} of {broker.memory[1]:.0f} MiB" if broker.memory else ""
        yield from wrapped(
            f"load report of {safe_name(broker.broker)}{when}: {counted(broker.bundles, 'bundle')}"
            f", {quantity(broker.msgs_per_sec)} in+out/s{cpu}{memory}",
            first="",
            rest="  ",
        )


def _bundles(namespaces: tuple[NamespaceNode, ...]) -> Iterator[str]:
    if not namespaces:
        yield "bundles: none"
    for namespace in namespaces:
        yield (
            f"bundles of {safe_name(namespace.name)}: {namespace.bundles}"
            f" · {counted(namespace.topics, 'topic')} · {quantity(namespace.msgs_per_sec)} in+out/s"
            if namespace.reported is None
            else f"bundles of {safe_name(namespace.name)}: {namespace.bundles}"
            f" · reported: {counted(namespace.reported.topics, 'topic')}"
            f" · {quantity(namespace.reported.msgs_per_sec)} in+out/s"
        )
        yield from listing((node for root in namespace.roots for node in _with_children(root)), _BUNDLES)


def _with_children(root: BundleNode) -> Iterator[BundleNode]:
    """A bundle and, below it, the ones it was split into. A list of nodes to visit, because splits can nest deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _events(events: tuple[EventLine, ...], reported: ReportedView | None) -> Iterator[str]:
    if not events:
        yield "events: none"
        return
    yield "events:"
    for event in events:
        effect = event_effect(event)
        text = safe_name(event.text) + (f": {effect}" if effect else "")
        yield from wrapped(text, first=f"  {event.step:>3}  ", rest=" " * 7)
        if event.kind == "open" and reported is not None:
            yield from seen_event_lines(reported)
