"""What can follow an unfinished command line, as its parser asks for it: a command is declared once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from engine.cluster.grammar.declared import BUNDLE_WORDS, BY_WORD, read_command
from engine.cluster.grammar.reading import COMMAND_FORMS
from engine.cluster.grammar.words import LineReader, RefusedLine, Word, quote, split_words
from engine.cluster.keys.state import SharingMode
from engine.cluster.state import (
    ClusterState,
    bundles_of,
    consumers_of,
    find_producer_topic,
    producer_topic_names,
    subscription_keys,
)
from engine.config import DEFAULTS, SPLIT_ALGORITHMS
from engine.errors import Rejection
from engine.routing.clients import ROUTING_CLIENTS
from engine.routing.producers.settings import ACCESS_MODES

MOST: Final = 100
"""So many lines are offered; nobody steps through more."""
MOST_TOPICS: Final = 20_000
"""Names of topics are not looked through in a larger state, since that would slow down every key."""
_CHOICE: Final = re.compile(r"\b(?!or\b)[a-z-]+")


def completions(text: str, state: ClusterState, subscription_key: str | None = None) -> tuple[str, ...]:
    """Lines that go on where ``text`` ends, at most ``MOST``. None where a quote is open or the line cannot be read.

    O(consumers + names), and no topics where there are more than ``MOST_TOPICS``.

    >>> completions("und", ClusterState()), completions("toggle failoverC", ClusterState())
    (('undo',), ())
    >>> completions("share st", ClusterState())
    ('share sticky',)
    """
    words = split_words(text)
    if isinstance(words, Rejection):
        return ()
    unfinished = "" if not words or text[-1:].isspace() else text[words[-1].column - 1 :]
    read = words[:-1] if unfinished else words
    begun = text[: len(text) - len(unfinished)]
    offered = _following(read, state, subscription_key) if read else _commands()
    lower = unfinished.casefold()
    fitting = (word for word in offered if word != unfinished and word.lstrip('"').casefold().startswith(lower))
    return tuple(dict.fromkeys(f"{begun}{word}" for word in islice(fitting, MOST)))


def _commands() -> Iterator[str]:
    return (word if form == word else f"{word} " for word, form in COMMAND_FORMS.items())


class _Asking(LineReader):
    """Reads the words that are there; what is asked for behind them is kept, and ends the reading."""

    def __init__(self, words: tuple[Word, ...], state: ClusterState, subscription_key: str | None) -> None:
        super().__init__(words, "", state, subscription_key)
        self._options: list[str] = []
        self._taken: set[str] = set()
        self.kind = ""
        """What the parser calls the word that it asked for last."""

    @property
    def options(self) -> list[str]:
        return [name for name in self._options if name not in self._taken]

    def at_end(self) -> bool:
        """Never, so that the parser asks for what it would take."""
        return False

    def word(self, what: str) -> Word:
        if super().at_end():
            self.kind = what
            self.refuse("SyntaxError", what, "")
        return super().word(what)

    def option(self, *names: str) -> str | None:
        if super().at_end():
            self._options += names
            return None
        taken = super().option(*names)
        self._taken |= {taken} if taken is not None else set()
        return taken

    def finish(self) -> None:
        """Whatever is too much is said when the line is carried out."""


def _following(words: tuple[Word, ...], state: ClusterState, subscription_key: str | None) -> Iterable[str]:
    if words[0].text not in BY_WORD:
        return ()
    line = _Asking(words, state, subscription_key)
    with suppress(RefusedLine):
        read_command(line, words[0].text)
    return (*line.options, *(quote(name) for name in _names(line.kind, words[-1].text, state, subscription_key)))


def _names(kind: str, before: str, state: ClusterState, key: str | None) -> Iterable[str]:
    """The names of a kind of word; ``before`` is the word that precedes it."""
    keys = subscription_keys(state)
    match kind:
        case "NAME|#ID" | "NAME|#ID|all":
            return [name for _, name in consumers_of(state, key or keys[0])] if key or keys else ()
        case "NAME|#N" | "NAME|#N|all":
            topics = [key] if key in producer_topic_names(state) else producer_topic_names(state)
            found = (find_producer_topic(state, topic) for topic in topics)
            named = (each.producer_name for topic in found if topic is not None for each in topic.producers.producers)
            return [name for name in named if name]
        case "SUBSCRIPTION":
            return keys
        case "TOPIC":
            return state.topics if len(state.topics) <= MOST_TOPICS else ()
        case "NAMESPACE/RANGE":
            return [name for namespace in state.namespaces for name in bundles_of(state, namespace).full_names]
        case "RANGE, LARGEST or HOT":
            return BUNDLE_WORDS
        case "VALUE":
            return ("true", "false") if isinstance(DEFAULTS.get(before), bool) else ()
    return _fixed(kind, before)


def _fixed(kind: str, before: str) -> Iterable[str]:
    """The words of a kind that does not depend on the state; those of a choice such as "on|off" are in its name."""
    match kind, before:
        case "MODE", "access":
            return ACCESS_MODES
        case "MODE", _:
            return [mode.value for mode in SharingMode]
        case "CLIENT", _:
            return ROUTING_CLIENTS
        case "ALGORITHM", _:
            return SPLIT_ALGORITHMS
        case "SETTING", "toggle":
            return [name for name, default in DEFAULTS.items() if isinstance(default, bool)]
        case "SETTING", _:
            return DEFAULTS
    return _CHOICE.findall(kind)
