"""The timeline of recorded answers or of a saved session, with steps taken first."""

from __future__ import annotations

from pathlib import Path

from engine.cluster.grammar import parse_command
from engine.cluster.timeline import Timeline
from engine.errors import InputError, Problem, Rejection
from tui.cli.key_options import SharingChoice
from tui.cli.options import WhatIf
from tui.cli.session import Session, begin, resumed

HEAD_BYTES = 4096


def recorded_timeline(choice: SharingChoice, path: str) -> tuple[Timeline, tuple[Problem, ...]]:
    """What ``path`` holds, changed as the options say, and what was wrong with it. Raises ``InputError``."""
    what_if = WhatIf(choice.settings, choice.pulsar, (), None)
    session = _session(path, what_if)
    timeline = session.timeline
    for line in choice.commands:
        timeline = _applied(timeline, line, choice.subscription)
    return timeline, session.problems


def _session(path: str, what_if: WhatIf) -> Session:
    if _is_journal(path):
        from tui.cli.reopening import reopened

        return resumed(reopened(Path(path), reads_only=True), what_if)
    from tui.sources.answers import opened

    return begin(opened(path, release=what_if.pulsar), what_if)


def _is_journal(path: str) -> bool:
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return b'"kind":"header"' in file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return False  # reading it will tell what is wrong with it


def _applied(timeline: Timeline, line: str, subscription: str | None) -> Timeline:
    keys = [each.key for each in timeline.state.key_subscriptions]
    key = subscription if subscription in keys else keys[0] if len(keys) == 1 else None
    command = parse_command(line, timeline.state, key)
    rejection: Rejection | None
    if isinstance(command, Rejection):
        rejection = command
    else:
        from engine.cluster.navigation import navigate
        from engine.cluster.timeline_commands import TimelineCommand

        if isinstance(command, TimelineCommand):
            moved = navigate(timeline, command)
            timeline, rejection = moved.timeline, moved.rejection
        else:
            timeline, rejection = timeline.submit(command)
    if rejection is not None:
        raise InputError(f"--apply {line!r} is refused: {rejection.message}")
    return timeline
