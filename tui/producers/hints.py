"""The sentence above the panels of producers: what happened or is to be seen, and the key to press next."""

from __future__ import annotations

from engine.views.producers_model import ProducersView
from tui.kit.wording import counted, percent, safe_name, shorten_middle


def producers_hint(view: ProducersView) -> str:
    """What is to be seen for a newcomer, and after a step what it did; then what to try next."""
    step = view.events[-1]
    if not view.status.step or step.kind == "open":
        return state_hint(view)
    return f"{_happened(view)} {_next(view)}"


def producers_hint_with(view: ProducersView, notice: str) -> str:
    """What the last step did, and a notice that it brought up."""
    return f"{_happened(view)} New (i): {notice}."


def state_hint(view: ProducersView) -> str:
    """One sentence about the state as it is, and the key that shows more."""
    foot = view.foot
    if not foot.producers:
        return "Nobody produces to this topic. Press a to create producers: eager or lazy, with any router."
    if not foot.ready:
        return "All producers are closed. Press a to create others."
    share = percent(foot.broker_producers / foot.pairs)
    have = "have" if foot.ready != 1 else "has"
    told = (
        f"{counted(foot.ready, 'producer')} {have} opened {foot.broker_producers:,} of {foot.pairs:,} pairs ({share})."
    )
    return f"{told} T sends by all, t by the selected one, m adds partitions, f says what a send would do."


def _happened(view: ProducersView) -> str:
    step = view.events[-1]
    words = shorten_middle(safe_name(step.text), 44)
    parts = [f"{counted(step.opened, 'partition')} opened"] * bool(step.opened)
    parts += [f"{counted(step.gone, 'connection')} gone"] * bool(step.gone)
    parts += [safe_name(step.effect)] * bool(step.effect)
    return f"{words}: {', '.join(parts) or 'nothing changed for producers'}."


def _next(view: ProducersView) -> str:
    step, foot = view.events[-1], view.foot
    if not foot.ready:
        return "Press a to create producers."
    if foot.pending_msgs:
        wait = "waits" if foot.pending_msgs == 1 else "wait"
        return f"{counted(foot.pending_msgs, 'message')} {wait}: b repairs the partition."
    if any(row.known < foot.partitions for row in view.producers if row.state == "Ready"):
        return "Not everybody knows of the new partitions: w lets a minute pass."
    if step.kind == "topic":
        return "f on a key tells whether it moved."
    if step.kind == "send" and view.counts.here.eager > foot.broker_producers:
        return "Send on to fill the matrix; b breaks a partition, s adds statistics up."
    return "T sends by all, m adds partitions, u takes the step back."
