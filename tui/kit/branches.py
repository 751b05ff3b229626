"""The branches of the timeline in words."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cluster.timeline import BranchSummary
from engine.text import counted
from tui.kit.help import KeyHelp
from tui.kit.wording import safe_name


def branch_lines(summaries: Sequence[BranchSummary]) -> list[KeyHelp]:
    """The branches by number, each with what sets it apart; a star marks the one that is shown."""
    lines = []
    for summary in summaries:
        text = f"{counted(summary.length, 'step')}"
        if summary.place > 1:
            text += f", its own ones from step {summary.leaves_at + 1} on"
        steps = (
            safe_name(summary.first)
            if summary.first == summary.last
            else f"{safe_name(summary.first)} … {safe_name(summary.last)}"
        )
        lines.append(KeyHelp(f"{'* ' * summary.current}{summary.place}", f"{steps} ({text})"))
    return lines or [KeyHelp("", "no step was taken yet")]
