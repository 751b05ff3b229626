"""A failure on disk: a journal that ``ringside replay`` opens, and the line that plays it against the oracles again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.cluster.commands import TimelineCommand
from engine.cluster.grammar.reading import parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.journal.file import Journal, recover
from engine.cluster.timeline import Timeline, navigate
from engine.errors import Rejection
from tests.soak.episode import Terms
from tests.soak.session import Session
from tests.soak.shrink import Small
from tests.soak.tally import DisagreementError, Tally


@dataclass(frozen=True)
class Kept:
    """``then`` is the last command, which the journal does not have; ``lines`` say everything to people."""

    path: Path
    then: str
    lines: tuple[str, ...]


def keep(small: Small, folder: Path) -> Kept:
    """Save the failure; the lines are its commands, and how to see it again."""
    *first, last = small.commands
    with small.episode.terms.in_force():
        timeline, texts = _submitted(small.episode.timeline(small.state), first)
        then = command_text(last, timeline.state)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{small.found.check.replace(' ', '-')}-{small.episode.seed}.journal"
        path.unlink(missing_ok=True)
        result = Journal.create(path, timeline)
        assert isinstance(result, Journal), result
        result.close()
    lines = (
        f"shrunk to {len(small.commands)} steps: {small.found}",
        *(f"  {text}" for text in (*texts, then)),
        f"to see the state before the last step: ringside replay {shlex.quote(str(path))}",
        f"to check it again: python -m tests.soak --journal {shlex.quote(str(path))} --then {shlex.quote(then)}"
        f" --only {small.found.group}",
    )
    return Kept(path, then, lines)


def _submitted(timeline: Timeline, commands: Sequence[object]) -> tuple[Timeline, list[str]]:
    texts = []
    for command in commands:
        texts.append(command_text(command, timeline.state))
        if isinstance(command, TimelineCommand):
            timeline = navigate(timeline, command).timeline
        else:
            timeline, _ = timeline.submit(command)
    return timeline, texts


def play_journal(path: Path, then: Sequence[str] = (), group: str | None = None) -> DisagreementError | None:
    """Every step of a journal, in the order of submission, then more commands, against the oracles."""
    kept, _ = recover(path)
    terms = Terms.parse(kept.source)
    with terms.in_force() as hashes:
        kept, _ = recover(path)
        session = Session.open(Timeline.start(kept.initial, kept.seed, kept.source), hashes, Tally(), only=group)
        try:
            for step in kept.log:
                if session.here != step.parent:
                    session.timeline = session.timeline.at_step(step.parent)
                session.carry_out(step.command)
            if kept.log:
                session.timeline = session.timeline.select(kept.steps[-1].number, kept.cursor)
            for text in then:
                command = parse_command(text, session.timeline.state)
                assert not isinstance(command, Rejection), command
                session.carry_out(command)
            session.close()
        except DisagreementError as found:
            return found
    return None
