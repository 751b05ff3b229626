"""English for the main screen: the sentence above the panels, the rule in force, the line below the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.config import CURRENT, FLAG
from engine.text import counted, moment_text
from engine.views.failover.model import ConsumerRow, DashboardView, EventLine, RuleInForce, StatusView, TableFoot
from engine.views.reported.model import ReportedBroker, ReportedView
from tui.failover.titles import PANEL_TITLES
from tui.kit.columns import REPORTED_SIGN
from tui.kit.reported import comparison_hint, sums_text, sums_texts
from tui.kit.verdict_words import shares_text
from tui.kit.wording import (
    BUSIEST,
    BUSIEST_SHORT,
    change_word,
    enough_text,
    judgement_word,
    out_rate,
    safe_name,
    shorten_middle,
    unmoved_text,
)

SCENE: Final = "scene "
"""What the source of a shipped recording begins with."""


def hint(view: DashboardView) -> str:
    """What a newcomer sees, or after a step what it did; then what to try next."""
    event = view.events[-1] if view.events else None
    if not view.status.step or event is None or event.kind == "open":
        recorded = "Recorded, not connected. " if view.status.source.startswith(SCENE) else ""
        return recorded + state_hint(view)
    return f"{_happened(event, view)} {_next(event, view)}"


def with_notice(view: DashboardView, notice: str) -> str:
    """What the last step did, and the new notice."""
    return f"{_happened(view.events[-1], view)} New (i): {notice}"


def state_hint(view: DashboardView) -> str:
    """One sentence about the state as it is, and the key that shows more."""
    status, foot = view.status, view.foot
    if view.brokers:
        return "Load reports alone: bundles with their owners and rates as reported (*), and no topic is known."
    if not status.subscription:
        return "No Failover subscription here, but bundles. enter opens the marked one, s previews how it can be split."
    if not view.consumers:
        return "Nobody consumes this subscription. Press a to connect a consumer."
    if foot.partitions == 0:
        return "This subscription has no topics. Type :topic add NAME to add one, or press ? for help."
    differs = comparison_hint(view.reported)
    if differs:
        return differs
    alone = _alone(view)
    if alone is not None:
        return _hint_alone(alone, view)
    if status.rule is RuleInForce.RING:
        decides = "The next point clockwise on the ring decides"
        if not status.consistent_hashing:
            whatever = ", whatever the flag says" if view.flag_change is not None else ""
            decides = f"Topics without partitions go by the hash ring{whatever}"
        if flag_helps(view):
            return f"{decides}. {_flag_advice(view)}"
        return f"{decides}. a adds a consumer, x kills one, f says why."
    if status.rule is RuleInForce.MODULO and view.flag_change is not None:
        return f"Partitions are dealt out by index. {_flag_advice(view)}"
    return "Press a to add a consumer, x to kill the selected one, f to ask where a topic goes and why."


def flag_helps(view: DashboardView) -> bool:
    """Whether the other setting of the consistent-hashing flag would be better."""
    return view.flag_change is not None and view.flag_change.judgement == "better"


def _flag_advice(view: DashboardView) -> str:
    """What the key c would do: advised only where it helps."""
    verdict = view.flag_change
    assert verdict is not None, "a release without the flag has no advice about it"
    other = "modulo" if view.status.consistent_hashing else "the hash ring"
    if verdict.judgement == "better":
        return f"Press c to use {other}: better, {shares_text(verdict)}. f says why."
    if verdict.judgement == "worse":
        return f"With c, {other} would be worse: {shares_text(verdict)}. a adds a consumer, f says why."
    shares = "move partitions and leave the shares" if verdict.moved else "change nothing"
    return f"With c, {other} would {shares}. a adds a consumer, f says why."


def _alone(view: DashboardView) -> ConsumerRow | None:
    """The consumer that is active for everything although others are connected."""
    partitions = view.foot.partitions
    if len(view.consumers) < 2 or not partitions:
        return None
    return next((row for row in view.consumers if row.active_partitions == partitions), None)


def _happened(event: EventLine, view: DashboardView) -> str:
    if event.kind == "split":
        return "The bundle is split; its new bundles are marked * in the tree."
    words = shorten_middle(safe_name(event.text), 40)
    if event.kind == "setting" and event.text.startswith(f"set {FLAG} "):
        words = f"The flag is {'on' if view.status.consistent_hashing else 'off'}"
    if not event.partitions:
        return f"{words}: done."
    if not event.moved:
        verdict = event.verdict
        alone = verdict is not None and not verdict.after.consumers
        return f"{words}: {judgement_word(verdict.judgement, 0) if alone and verdict else unmoved_text(event)}."
    moved = f"{event.moved:,} of {counted(event.partitions, 'partition')} moved"
    enough = enough_text(event)
    if event.verdict is None:
        return f"{words}: {moved}, {enough}."
    return f"{words}: {change_word(event.verdict)}, {shares_text(event.verdict)}. {moved}, {enough}."


def _next(event: EventLine, view: DashboardView) -> str:
    status = view.status
    alone = _alone(view)
    if event.kind == "split":
        return "s previews the next split, u takes this one back."
    if event.kind == "setting" and not event.moved and view.notices:
        return f"{view.notices[0].text}."
    if not status.subscription or not view.consumers or not view.foot.partitions or alone is not None:
        return state_hint(view)
    if event.verdict is not None and event.verdict.judgement == "worse" and event.kind in ("setting", "release"):
        return "u takes it back, f says why."
    if flag_helps(view):
        return f"Press c to use {'modulo' if status.consistent_hashing else 'the hash ring'}, u to take the step back."
    if status.rule is RuleInForce.RING:
        if event.kind == "setting":
            return "d shows both, x kills a consumer."
        return "Try a to add one, f to ask why." if event.kind == "kill" else "Try x to kill one, f to ask why."
    return "f says why a topic goes where it goes, u takes the step back."


def _hint_alone(row: ConsumerRow, view: DashboardView) -> str:
    name = shorten_middle(safe_name(row.name), 30)
    several = view.foot.partitions > 1
    sentence = f"{name} is active for {f'all {view.foot.partitions:,} partitions' if several else 'the only partition'}"
    if view.status.rule is RuleInForce.MODULO:
        cohort = sum(not other.standby for other in view.consumers)
        if cohort == 1:
            return f"{sentence}: it alone has the highest priority level. Press f to ask why."
        first = view.ring.first_partitions_only
        sentence += (
            f": each topic has one, and index 0 mod {cohort} = 0"
            if first
            else f": every partition index mod {cohort} is the same"
        )
        return f"{sentence}. Press c to use the hash ring." if flag_helps(view) else f"{sentence}."
    return f"{sentence}. Press f to ask why."


def bundles_title(brokers: Sequence[ReportedBroker]) -> str:
    """The title of the bundle tree: where load reports are all there is, when and by whom they were written."""
    if not brokers:
        return PANEL_TITLES["bundles"]
    if len(brokers) > 1:
        return f"[3] bundles, {REPORTED_SIGN} by {len(brokers):,} load reports"
    (broker,) = brokers
    when = f" {moment_text(broker.at_ms)}" if broker.at_ms >= 0 else ""
    cpu = f", cpu {broker.cpu[0]:.0f} of {broker.cpu[1]:.0f}%" if broker.cpu else ""
    memory = f", memory {broker.memory[0]:.0f} of {broker.memory[1]:.0f} MiB" if broker.memory else ""
    return f"[3] bundles, {REPORTED_SIGN} seen{when} by {safe_name(broker.broker)}{cpu}{memory}"


def flag_text(status: StatusView) -> str:
    """The consistent-hashing flag in few words."""
    if not status.flag_known:
        return "flag unknown"
    return "flag on" if status.consistent_hashing else "flag off"


def rule_in_few_words(status: StatusView, rows: Sequence[ConsumerRow]) -> tuple[str, ...]:
    """The rule in force in two words or three, for the middle of a small ring."""
    count = sum(not row.standby for row in rows)
    return {
        RuleInForce.RING: ("ring", f"of {count}"),
        RuleInForce.MODULO: ("index", f"mod {count}"),
        RuleInForce.FIRST_CONNECTED: ("first", "connected"),
        RuleInForce.MIXED: ("two", "rules"),
        RuleInForce.NOBODY: ("nobody",),
    }[status.rule]


def flag_unknown(status: StatusView) -> str:
    """Why the flag has no effect on this release."""
    return (
        f"Pulsar {status.release} does not know {FLAG} and ignores it; "
        f"4.0.1, 3.3.3 and 3.0.8 were the first to. Try :release {CURRENT.label}"
    )


def foot_text(foot: TableFoot) -> str:
    """The line below the consumer table."""
    return _own_texts(foot)[0]


def foot_texts(foot: TableFoot, reported: ReportedView | None = None) -> tuple[str, ...]:
    """``foot_text`` and shorter forms of it, longest first: in the end only how uneven it is.

    What was reported is added where there is room, and stays alone where something is blocked.
    """
    own = _own_texts(foot)
    if reported is None or reported.computed_from:
        return own
    added = f"{own[0]} · {sums_text(reported)}"
    return (added, *sums_texts(reported)) if reported.blocked else (added, *own)


def _own_texts(foot: TableFoot) -> tuple[str, ...]:
    if foot.consumers == 0:
        return ("nobody is connected",)
    amounts = f"{counted(foot.partitions, 'partition')} · {out_rate(foot.msgs_per_sec)}"
    idle = f" · {foot.idle_consumers:,} idle" if foot.idle_consumers else ""
    partitions = foot.max_over_mean_partitions
    if not partitions:
        return (f"{amounts}{idle}",)
    ratios = {"ring": foot.max_over_mean_ring_share, "messages": foot.max_over_mean_rate}
    known = {of: ratio for of, ratio in ratios.items() if ratio}  # 0: nothing to divide
    named = f"{BUSIEST}: {', '.join(f'{of} {ratio:.2f}' for of, ratio in {'partitions': partitions, **known}.items())}"
    short = [f"{BUSIEST_SHORT} {partitions:.1f}", *(f"{of} {ratio:.1f}" for of, ratio in known.items())]
    return tuple(f"{text}{idle}" for text in (f"{amounts} · {named}", named, ", ".join(short), ", ".join(short[:2])))
