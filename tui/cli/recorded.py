"""The timeline of recorded answers or of a saved session, with steps taken first."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from engine.cluster.grammar_text import subscription_keys
from tui.cli.key_options import SharingChoice
from tui.cli.options import WhatIf
from tui.cli.session import Session, applied, begin, resumed

HEAD_BYTES: Final = 4096
HEADER: Final = b'"kind":"header"'


def recorded_session(choice: SharingChoice, path: str) -> Session:
    """What ``path`` holds, changed as the options say. Raises ``InputError``.

    Steps are read for the Key_Shared subscription that is meant, or the first one.
    """
    what_if = WhatIf(choice.settings, choice.pulsar, (), None, choice.about, choice.max_input)
    session = _opened(path, what_if)
    timeline = session.timeline
    for line in choice.commands:
        keys = subscription_keys(timeline.state)
        shared = [each.key for each in timeline.state.key_subscriptions]
        wanted = choice.subscription if choice.subscription in shared else shared[0] if shared else None
        timeline = applied(timeline, line, keys.index(wanted) if wanted is not None else 0)
    return Session(timeline, 0, session.problems, session.notes, seen=session.seen)


def _opened(path: str, what_if: WhatIf) -> Session:
    if what_if.about is None and is_journal(path):
        from tui.cli.reopening import reopened

        return resumed(reopened(Path(path), reads_only=True), what_if)
    from tui.sources.answers import opened

    return begin(opened(path, release=what_if.pulsar, topic=what_if.about, limit_bytes=what_if.max_input), what_if)


def is_journal(path: str) -> bool:
    """Whether a path is a journal's; a pipe is none, and is not read."""
    try:
        # A pipe is no journal, and what is read of it here would be missing there.
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return HEADER in file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return False  # reading it will tell what is wrong with it
