"""The timeline of recorded answers or of a saved session, with steps taken first."""

from __future__ import annotations

from engine.cluster.state import subscription_keys
from tui.cli.key_options import SharingChoice
from tui.cli.options import WhatIf
from tui.cli.session import Session, applied
from tui.cli.states import session_of


def recorded_session(choice: SharingChoice, path: str) -> Session:
    """What ``path`` holds, changed as the options say. Raises ``InputError``.

    Steps are read for the Key_Shared subscription that is meant, or the first one.
    """
    what_if = WhatIf(choice.settings, choice.pulsar, (), None, choice.about, choice.max_input)
    session = session_of(path, what_if)
    timeline = session.timeline
    for line in choice.commands:
        keys = subscription_keys(timeline.state)
        shared = [each.key for each in timeline.state.key_subscriptions]
        wanted = choice.subscription if choice.subscription in shared else shared[0] if shared else None
        timeline = applied(timeline, line, keys.index(wanted) if wanted is not None else 0)
    return Session(timeline, 0, session.problems, session.notes, seen=session.seen)
