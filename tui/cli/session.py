"""Sessions: an opened state with what the command line changes before anything is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from engine.admin.moments import Moment
from engine.cluster.bundles import topic_loads
from engine.cluster.commands import TimelineCommand
from engine.cluster.evolve import evolve
from engine.cluster.keys.state import KEY_SETTINGS
from engine.cluster.state import ClusterState, behaviour_in, bundles_of, shown_places
from engine.cluster.timeline import Timeline, navigate
from engine.config import behaviour_of, ignored_setting, rebased
from engine.errors import InputError, Rejection, accepted
from engine.input import head_of
from engine.scenarios.opening import FLAG_INFERRED, RELEASE_ASSUMED, SETTING_IGNORED, Opened
from engine.text import listed, path_word, shell_line
from engine.views.failover.model import Notice
from engine.views.reported.subscription import BUNDLES, reported_only
from engine.views.reported.view import Reported
from tui.cli.options import FLAG, WhatIf
from tui.cli.output import say
from tui.cli.plain import nearest
from tui.kit.session import Against, Session
from tui.kit.shown import Places, Shown
from tui.sources.answers import opened

HEAD_BYTES: Final = 4096
HEADER: Final = b'"kind":"header"'


def shown_in(session: Session) -> Shown:
    """What the screen shows first, and what is printed without a screen."""
    reported, place = Reported(session.seen), session.subscription
    return Shown(
        session.timeline,
        _places(session.timeline, reported),
        place,
        failover=place,
        reported=reported,
        moment=reported.last,
        problems=len(session.problems),
        notes=session.notes,
    )


def begin(opened: Opened, what_if: WhatIf) -> Session:
    """A session on an opened state as if it had always had these settings; the commands become its first steps.

    Raises ``InputError`` for a setting, a version, a command or a subscription that cannot be used.
    """
    state = overruled(opened.state, what_if)
    replaced = {FLAG_INFERRED} if any(name == FLAG for name, _ in what_if.settings) else set()
    if what_if.pulsar is not None:
        replaced.add(RELEASE_ASSUMED)
    notes = (
        *(note for note in opened.notes if note.code not in replaced),
        *(Notice(SETTING_IGNORED, text) for text in ignored_settings(state, what_if)),
    )
    timeline = Timeline.start(state, opened.seed, opened.source)
    return resumed(
        Session(timeline, 0, opened.problems, notes, seen=opened.seen), replace(what_if, settings=(), pulsar=None)
    )


def resumed(session: Session, what_if: WhatIf) -> Session:
    """The session after further steps: a version, settings and commands, each a step of its own."""
    try:
        place = subscription_place(session.timeline, session.seen, what_if.subscription)
    except InputError:
        if not what_if.commands:
            raise
        place = 0  # one of the commands may create it
    timeline = session.timeline
    changes = [f"release {what_if.pulsar}"] if what_if.pulsar is not None else []
    changes += [f"set {name}={text}" for name, text in what_if.settings]
    for line in (*changes, *what_if.commands):
        timeline = applied(timeline, line, place)
    place = subscription_place(timeline, session.seen, what_if.subscription)
    return replace(session, timeline=timeline, subscription=place, is_chosen=what_if.subscription is not None)


def ignored_settings(state: ClusterState, what_if: WhatIf) -> list[str]:
    """A sentence for each setting of the command line that the release ignores; of the flag the screen says it."""
    texts = (ignored_setting(name, behaviour_in(state)) for name, _ in what_if.settings if name != FLAG)
    return [text for text in texts if text]


def overruled(state: ClusterState, what_if: WhatIf) -> ClusterState:
    """The state with another release and other settings. Raises ``InputError``."""
    if what_if.pulsar is not None:
        behaviour = accepted(behaviour_of(what_if.pulsar), f"--pulsar {what_if.pulsar}")
        state = replace(
            state, release=behaviour.label, settings=rebased(state.settings, behaviour_in(state), behaviour)
        )
    for name, text in what_if.settings:
        changed = accepted(state.settings.with_setting(name, text), f"--set {name}={text}")
        if state.producer_topics:
            from engine.cluster.producers.evolve import refolded_producers, with_flows

            state = with_flows(replace(state, producer_topics=refolded_producers(state, changed)))
        state = replace(state, settings=changed)
    if what_if.pulsar is None and not any(name in KEY_SETTINGS for name, _ in what_if.settings):
        return state
    from engine.cluster.keys.subscriptions import restarts

    # All consumers connect again with the new settings, as after a restart of the broker.
    for event in accepted(restarts(state, state.settings, state.release), "these settings cannot be used"):
        state = evolve(state, event)
    return state


def applied(timeline: Timeline, line: str, subscription: int = 0) -> Timeline:
    """The timeline after one line of the grammar, read for the subscription in view. Raises ``InputError``."""
    from engine.cluster.grammar.reading import parse_command

    keys = shown_places(timeline.state)
    key = keys[subscription] if subscription < len(keys) else None
    command = parse_command(line, timeline.state, key)
    if isinstance(command, TimelineCommand):
        moved = navigate(timeline, command)
        timeline, rejection = moved.timeline, moved.rejection
    elif isinstance(command, Rejection):
        rejection = command
    else:
        timeline, rejection = timeline.submit(command)
    if rejection is not None:
        raise InputError(f"{line!r} is refused: {rejection.message}")
    return timeline


def _places(timeline: Timeline, reported: Reported) -> Places:
    """All that can be shown; at the end are the reported subscriptions for which nothing is computed."""
    return Places(timeline.state, reported_only(reported, reported.last, timeline.initial))


def subscription_place(timeline: Timeline, seen: tuple[Moment, ...], wanted: str | None) -> int:
    """The index of the subscription with that key or name. Raises ``InputError``.

    By default the first one that had consumers when the state was opened, else the first of all; where the model has
    none, the first that brokers reported, which says more than the bundles.
    """
    if wanted is None:
        start, present = timeline.initial, _places(timeline, Reported(seen)).keys
        consumed = [subscription.key for subscription in start.subscriptions if subscription.consumers]
        consumed += [key_subscription.key for key_subscription in start.key_subscriptions if key_subscription.consumers]
        if present[:1] == (BUNDLES,):
            return 1
        key = consumed[0] if consumed else ""
        return present.index(key) if key in present else 0
    state, keys = timeline.state, _places(timeline, Reported(seen)).keys
    for names in (
        keys,
        [
            *(subscription.name for subscription in state.subscriptions),
            *(key_subscription.name for key_subscription in state.key_subscriptions),
        ],
        [place.rpartition("/")[2] for place in keys],
    ):
        if wanted in names:
            return names.index(wanted)
    meant = f"; there is {nearest(wanted, keys)}" if keys else ", and no other either"
    raise InputError(f"there is no subscription, and no topic with producers, {wanted!r}{meant}")


def reopened(path: Path, *, reads_only: bool) -> Session:
    """The session as the journal has it. Raises ``InputError`` when nothing in the file can be used.

    Unless ``reads_only``, the journal is open for more; where that is refused (another process has it, a disk that
    cannot be written), a sentence says so, and new steps go to a separate file.
    """
    from engine.cluster.journal.file import Journal, JournalFailure, recover
    from tui.sources.sessions import SessionSaver, prepare_session_file

    _check(path)
    if not reads_only:
        resumed = Journal.resume(path)
        if not isinstance(resumed, JournalFailure):
            journal = SessionSaver(prepare_session_file, journal=resumed.journal, path=path)
            return Session(resumed.timeline, problems=resumed.problems, journal=journal)
        timeline, problems = recover(path)
        say(f"{resumed}; it is shown as it is, and new steps go to a separate file")
        return Session(timeline, problems=problems)
    timeline, problems = recover(path)
    return Session(timeline, problems=problems)


def _check(path: Path) -> None:
    """Raises ``InputError`` for a file that is not a journal; other faults are reported when it is read."""
    from tui.sources.sessions import session_folder

    head = head_of(path, HEAD_BYTES)
    if head and HEADER not in head:
        raise InputError(
            f"{path}: this is not a journal; one begins with the header that ringside writes (--journal FILE, or a"
            f" session in {session_folder()}). Answers of a broker open with"
            f" {shell_line('ringside', path_word(str(path)))}"
        )


def answers_of(path: str | None, what_if: WhatIf) -> Session:
    """Answers of brokers at a path, with what the command line changes; None is the embedded cluster."""
    return begin(opened(path, release=what_if.pulsar, topic=what_if.about, limit_bytes=what_if.max_input), what_if)


def session_of(path: str | None, what_if: WhatIf) -> Session:
    """Answers of brokers or a saved journal, with what the command line changes. Raises ``InputError``."""
    if path is not None and what_if.about is None and is_journal(path):
        return resumed(reopened(Path(path), reads_only=True), what_if)
    return answers_of(path, what_if)


def compared(session: Session, name: str, path: str, max_input: int) -> Session:
    """The session, called ``name``, beside other answers or a journal. Raises ``InputError``."""
    other = session_of(path, WhatIf((), None, (), None, None, max_input))
    if other.seen and session.seen:
        other, _ = as_namespaces(other, session, {})
    return replace(session, against=Against((path, name), other.timeline))


def as_namespaces(mine: Session, theirs: Session, given: Mapping[str, str]) -> tuple[Session, dict[str, str]]:
    """The session with its namespaces under the names of those that they are compared with, and which these are."""
    from engine.admin import renamed_namespaces
    from engine.admin.moments import combined
    from engine.scenarios.opening import open_moments

    before, after = combined(mine.seen), combined(theirs.seen)
    ours, others = (renamed_namespaces.topics_by_namespace(one).keys() | one.bundles.keys() for one in (before, after))
    for old, new in given.items():
        if old not in ours:
            raise InputError(f"--as: A has no namespace {old}; there is {nearest(old, sorted(ours))}")
        if new != old and new not in others:
            raise InputError(f"--as: B has no namespace {new}; there is {nearest(new, sorted(others))}")
        if new != old and new in ours:
            raise InputError(f"--as: A has a namespace {new} itself, which is compared with that of B")
    found = {**renamed_namespaces.paired_namespaces(before, after), **given}
    pairs = {old: new for old, new in found.items() if old != new}
    if not pairs:
        return mine, pairs
    return begin(
        open_moments(renamed_namespaces.as_namespaces(mine.seen, pairs)), WhatIf((), None, (), None, None)
    ), pairs


def is_journal(path: str) -> bool:
    """Whether a file begins as a journal does; what cannot be read is reported when it is opened."""
    return HEADER in head_of(Path(path), HEAD_BYTES)


def subscription_key(session: Session) -> str:
    """The key of the subscription that is meant, "" where the state has none or producers are meant."""
    state = session.timeline.state
    keys = [subscription.key for subscription in state.subscriptions] + [
        key_subscription.key for key_subscription in state.key_subscriptions
    ]
    return keys[session.subscription] if session.subscription < len(keys) else ""


def namespace_of(named: str | None, timeline: Timeline) -> str:
    """The named namespace, or the only one. Raises ``UsageError`` where several could be meant, or none is there."""
    if named is not None:
        return named
    namespaces = timeline.state.namespaces
    if len(namespaces) != 1:
        names = listed(sorted(namespaces), 5) or "none"
        raise click.UsageError(f"which namespace of {timeline.source}? name one with --namespace; there is {names}")
    return next(iter(namespaces))


def bundle_named(text: str, namespace: str | None, timeline: Timeline) -> tuple[str, str]:
    """The namespace and the range of a bundle in force, given as a range, LARGEST or HOT, or NAMESPACE/RANGE.

    Raises ``InputError`` with the bundles there are, ``UsageError`` where several namespaces could be meant.
    """
    from engine.bundles.split import resolve_target

    asked, state = text, timeline.state
    if namespace is None and text.count("/") == 2:
        namespace, _, text = text.rpartition("/")
    owner = namespace_of(namespace, timeline)
    if owner not in state.namespaces:
        raise InputError(f"{asked}: no namespace {owner!r} here; there is {nearest(owner, sorted(state.namespaces))}")
    bundles = bundles_of(state, owner)
    target = resolve_target(bundles, text, topic_loads(state, owner), "modular", None)
    if isinstance(target, Rejection):
        known = ", ".join(map(str, bundles.bundles[:8])) + (" ..." if len(bundles) > 8 else "")
        raise InputError(f"{asked}: {target.message}; its bundles: {known}, or LARGEST, or HOT")
    return owner, str(target.bundle)
