"""Read a line of the grammar that the dashboard's command line, demo scripts and journals share."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from engine.cluster.commands import Command, TimelineCommand
from engine.cluster.grammar.declared import BY_WORD, read_command
from engine.cluster.grammar.words import LineReader, RefusedLine, split_words
from engine.cluster.state import ClusterState
from engine.errors import Rejection

COMMAND_FORMS: Final[Mapping[str, str]] = {
    word: ", ".join([*helps[:-1], f"or {helps[-1]}"] if helps[1:] else helps)
    for word, helps in ((word, [form.help for form in forms.values()]) for word, forms in BY_WORD.items())
}
"""First word -> how the command is written, for help and for completion."""


def parse_command(
    text: str, state: ClusterState, subscription_key: str | None = None
) -> Command | TimelineCommand | Rejection:
    """Read one line. ``state`` resolves names of consumers; ``subscription_key`` is the subscription in view.

    Without a named subscription and without one in view, a sole subscription is meant. Refusals (UnknownCommand,
    SyntaxError, AmbiguousConsumer, UnknownConsumer, ...) carry the word at fault in ``field``. Whether the command is
    possible is for ``decide`` to say.

    >>> parse_command("add worker-1 priority 2 to billing", ClusterState())
    AddConsumer(subscription='billing', name='worker-1', priority_level=2, ranges=None)
    >>> parse_command("udno", ClusterState()).message.partition(";")[0]
    "unknown command 'udno', did you mean undo?"
    """
    words = split_words(text)
    if isinstance(words, Rejection):
        return words
    known = ", ".join(COMMAND_FORMS)
    if not words:
        return Rejection("SyntaxError", f"write a command; known: {known}")
    first = words[0]
    if first.text not in BY_WORD:
        near = get_close_matches(first.text[:40], COMMAND_FORMS, n=1)
        hint = f", did you mean {near[0]}?" if near else ""
        return Rejection("UnknownCommand", f"unknown command {first.text[:40]!r}{hint}; known: {known}", first.text)
    reader = LineReader(words, COMMAND_FORMS[first.text], state, subscription_key)
    try:
        command: Command | TimelineCommand = read_command(reader, first.text)
        reader.finish()
    except RefusedLine as refused:
        return refused.rejection
    return command
