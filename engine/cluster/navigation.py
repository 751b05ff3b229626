"""Requests about the timeline itself: they move the cursor and are no steps."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cluster.timeline import Timeline
from engine.cluster.timeline_commands import End, GoTo, Home, Redo, SwitchBranch, TimelineCommand, Undo
from engine.errors import Rejection

__all__ = ["Navigated", "navigate"]


@dataclass(frozen=True, slots=True)
class Navigated:
    """The timeline after a request, and why it was refused (then the timeline is the one before)."""

    timeline: Timeline
    rejection: Rejection | None = None


def navigate(timeline: Timeline, command: TimelineCommand) -> Navigated:
    """Carry a request about the timeline out. Refusals: nothing to undo or redo, no such step, no such branch."""
    match command:
        case Undo():
            return _moved(timeline, timeline.undo(), "there is nothing to undo: this is the state as opened")
        case Redo():
            return _moved(timeline, timeline.redo(), "there is nothing to redo: this is the last step")
        case Home():
            return Navigated(timeline.home())
        case End():
            return Navigated(timeline.end())
        case GoTo(step):
            if not 0 <= step <= timeline.length:
                return _refused(timeline, f"there is no step {step}; steps go from 0 to {timeline.length}")
            return Navigated(timeline.go_to(step))
        case SwitchBranch(branch):
            if not 1 <= branch <= len(timeline.tips):
                return _refused(timeline, f"there is no branch {branch}; there are {len(timeline.tips)}")
            return Navigated(timeline.switch_branch(branch - 1))


def _moved(before: Timeline, after: Timeline, message: str) -> Navigated:
    return _refused(before, message) if after is before else Navigated(after)


def _refused(timeline: Timeline, message: str) -> Navigated:
    return Navigated(timeline, Rejection("NoSuchStep", message))
