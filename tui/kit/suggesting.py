"""``:suggest``: what was typed as a question to the engine, and the search for the answer beside the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from engine.cluster.state import ClusterState
from engine.compare.verdict import KINDS, Goal, SuggestionKind
from engine.errors import Rejection
from tui.kit.background import in_background

if TYPE_CHECKING:
    from engine.compare.suggestion import Suggestion

WORD: Final = "suggest"
FORM: Final = f"suggest {'|'.join(KINDS)} [MAX/MEAN] [survive] [messages]"
SUGGEST_LINES: Final = tuple(f"{WORD} {kind}" for kind in KINDS)
"""What the command line completes."""
_HIGHEST: Final = 1e6


class Question(Struct, frozen=True):
    """One suggestion that is asked for."""

    kind: SuggestionKind
    goal: Goal


def question_of(text: str) -> Question | Rejection | None:
    """The question in a line; None for a line that is not a question.

    >>> question_of("suggest names 1.2 survive")
    Question(kind='names', goal=Goal(max_over_mean=1.2, survive=True, by_messages=False, busiest_msgs=0.0))
    >>> question_of("kill a") is None
    True
    """
    words = text.split()
    if words[:1] != [WORD]:
        return None
    kind = words[1] if len(words) > 1 else ""
    if kind not in KINDS:
        near = get_close_matches(kind[:40], KINDS, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        return Rejection("UnknownCommand", f"write {FORM}{meant}", "suggest")
    # Names are searched as far as they go; for numbers there has to be a goal.
    ratio = 1.0 if kind == "names" else 1.3
    options = words[2:]
    for word in options:
        if word in ("survive", "messages"):
            continue
        try:
            ratio = float(word)
        except ValueError:
            ratio = 0.0
        if not 1.0 <= ratio <= _HIGHEST:
            text = f"{word[:40]!r} is not a ratio (busiest ÷ average) of 1 or more; write {FORM}"
            return Rejection("UnknownCommand", text, "suggest")
    goal = Goal(ratio, survive="survive" in options, by_messages="messages" in options)
    return Question(kind, goal)


class _NobodyWaitsError(Exception):
    """Nobody waits for the answer any more."""


async def answer_to(
    question: Question, state: ClusterState, key: str, progress: Callable[[int, int], None]
) -> Suggestion | Rejection:
    """Return the answer, which a thread looks for. Cancelling this ends the search soon.

    ``progress`` is called with how many names were tried, and how many there are at most.
    """
    from engine.compare.suggestion import suggestion

    loop = asyncio.get_running_loop()
    left = False

    def report(tried: int, most: int) -> None:
        if left:
            raise _NobodyWaitsError
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(progress, tried, most)

    try:
        return await in_background(suggestion, state, key, question.kind, question.goal, progress=report)
    finally:
        left = True
