"""The branches of the timeline in words."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cluster.timeline import BranchStory
from tui.kit.help import KeyHelp
from tui.kit.wording import counted, safe_name


def branch_lines(stories: Sequence[BranchStory]) -> list[KeyHelp]:
    """The branches by number, each with what sets it apart; a star marks the one that is shown."""
    lines = []
    for story in stories:
        text = f"{counted(story.length, 'step')}"
        if story.place > 1:
            text += f", its own ones from step {story.leaves_at + 1} on"
        steps = (
            safe_name(story.first)
            if story.first == story.last
            else f"{safe_name(story.first)} … {safe_name(story.last)}"
        )
        lines.append(KeyHelp(f"{'* ' * story.current}{story.place}", f"{steps} ({text})"))
    return lines or [KeyHelp("", "no step was taken yet")]
