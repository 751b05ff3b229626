"""How every command that shows a cluster ends: on the screen, as text, or as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui.cli.exits import FINE, USAGE
from tui.cli.options import DEFAULT_MAX_INPUT, VISITOR, JournalChoice, Output, WhatIf
from tui.cli.output import say, say_not_saved, say_problems, write_out, write_page

if TYPE_CHECKING:
    from engine.cluster.journal.file import Journal
    from engine.cluster.timeline import Timeline
    from engine.scenarios.opening import Opened
    from engine.scenarios.script.model import Script
    from tui.kit.session import FirstReading, Session
    from tui.kit.shown import Shown


def show(make: Callable[[], Opened], what_if: WhatIf, output: Output, journal: JournalChoice, *, name: str = "") -> int:
    """Show the opened state in the wanted form and return the exit code (``name``: see ``show_session``)."""

    def begun() -> Session:
        from tui.cli.session import begin

        return begin(make(), what_if)

    return show_session(begun, output, journal, name=name)


def show_session(
    make: Callable[[], Session],
    output: Output,
    journal: JournalChoice,
    *,
    name: str = "",
    reading: FirstReading | None = None,
) -> int:
    """Show a session in the wanted form and return the exit code.

    Where the screen cannot be opened nothing is read, so that the reason appears at once. A session with a ``name``
    is made while the screen is open already; one without a name first, so that problems with files are reported before.
    ``reading`` is the reading of a running cluster that it is made from: the frame says how far it is.
    """
    if output.on_screen:
        from tui.cli.exits import why_no_screen

        reason = why_no_screen()
        if reason is not None:
            say(reason)
            return USAGE
        from tui.cli.screen import open_screen

        code, demo = open_screen(lambda: _kept(make(), output, journal), output, name, reading)
        kept = JournalChoice(None, keep=journal.keep)  # a named file is for the first session alone
        while demo:
            code, demo = open_screen(partial(_kept, demo_session(demo), output, kept), output)
        return code
    session = _kept(make(), output, journal)
    say_problems(session.problems)
    if session.journal is not None:
        session.journal.record(session.timeline)
        say_not_saved(session.journal.close())
    print_session(session, output)
    return FINE


def demo_session(script: str | Script, max_input: int = DEFAULT_MAX_INPUT) -> Session:
    """The session that a script, or a shipped one by its name, starts from, for the screen to play it in."""
    from engine.cluster.timeline import Timeline
    from engine.scenarios.script.run import shipped_script, start_of
    from tui.kit.session import Session

    played = shipped_script(script) if isinstance(script, str) else script
    opened = start_of(played, limit_bytes=max_input)
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    return Session(timeline, problems=opened.problems, notes=opened.notes, script=played)


def print_session(session: Session, output: Output) -> None:
    """The session's present view on standard output."""
    if output.json:
        from tui.cli.output import json_text

        write_out(json_text(session_document(session)))
        return
    from tui.cli.printers.dashboard import dashboard_lines
    from tui.cli.printers.keys_page import keys_lines
    from tui.cli.printers.producers_page import producers_lines
    from tui.cli.printers.reported import subscription_lines
    from tui.cli.printers.scalable_page import scalable_lines
    from tui.cli.session import shown_in

    shown = shown_in(session)
    if shown.reported_view is not None:
        lines: Iterable[str] = subscription_lines(shown.reported_view)
    elif (scalable := shown.scalable_view_of("")) is not None:
        lines = scalable_lines(scalable.view)
    elif shown.producers_view is not None:
        lines = producers_lines(shown.producers_view, shown.producer_statistics())
    elif shown.keys_view is not None:
        lines = keys_lines(shown.keys_view)
    else:
        lines = dashboard_lines(shown.failover_view, shown.title)
    write_page(lines, ascii_only=output.ascii_only)


def session_document(session: Session) -> Any:
    """The session's present view as plain values."""
    from tui.cli.session import shown_in

    return document_of(shown_in(session))


def document_of(shown: Shown) -> Any:
    """What is shown, as plain values: what brokers reported, a scalable topic, producers, keys, or the dashboard."""
    from engine.documents import document
    from engine.views.failover.document import dashboard_document
    from engine.views.keys.document import keys_document
    from engine.views.producers.document import producers_document

    if shown.reported_view is not None:
        return document(shown.reported_view, [row.consumer_id for row in shown.reported_view.consumers])
    scalable = shown.scalable_view_of("")
    if scalable is not None:
        return document(scalable.view)
    if shown.producers_view is not None:
        return producers_document(shown.producers_view, shown.producer_statistics())
    return dashboard_document(shown.failover_view) if shown.keys_view is None else keys_document(shown.keys_view)


def _kept(session: Session, output: Output, choice: JournalChoice) -> Session:
    """The session with its journal: the named file, the resumed one, or on the screen a new session file."""
    if (
        os.environ.get(VISITOR)
        or not choice.keep
        or (choice.path is None and session.journal is None and not output.on_screen)
    ):
        return replace(session, journal=None)
    from tui.sources.sessions import SessionSaver, prepare_session_file

    if choice.path is not None:
        journal = _created(choice.path, session.timeline)
        return replace(session, journal=SessionSaver(prepare_session_file, journal=journal, path=choice.path))
    return replace(session, journal=session.journal or SessionSaver(prepare_session_file))


def _created(path: Path, timeline: Timeline) -> Journal:
    """The journal with the name that the user gave. Raises ``InputError``: it is not skipped silently."""
    from engine.cluster.journal.file import Journal, JournalFailure
    from engine.errors import InputError

    journal = Journal.create(path, timeline)
    if isinstance(journal, JournalFailure):
        raise InputError(f"--journal {journal}")
    return journal
