"""States that commands work on: answers of a broker, a saved journal, or the embedded cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tui.cli.options import WhatIf
from tui.cli.session import Session, begin, resumed

HEAD_BYTES: Final = 4096
HEADER: Final = b'"kind":"header"'


def session_of(path: str | None, what_if: WhatIf) -> Session:
    """What is at a path, with what the command line changes; None is the embedded cluster. Raises ``InputError``."""
    from tui.sources.answers import opened

    if path is not None and what_if.about is None and is_journal(path):
        from tui.cli.reopening import reopened

        return resumed(reopened(Path(path), reads_only=True), what_if)
    return begin(opened(path, release=what_if.pulsar, topic=what_if.about, limit_bytes=what_if.max_input), what_if)


def is_journal(path: str) -> bool:
    """Whether a file begins as a journal does; what cannot be read is for opening it to tell."""
    try:
        # A pipe is no journal, and what is read of it here would be missing there.
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return HEADER in file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return False


def subscription_key(session: Session) -> str:
    """The key of the subscription that is meant, "" where the state has none or producers are meant."""
    state = session.timeline.state
    keys = [each.key for each in state.subscriptions] + [each.key for each in state.key_subscriptions]
    return keys[session.subscription] if session.subscription < len(keys) else ""
