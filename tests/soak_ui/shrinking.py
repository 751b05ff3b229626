"""The shortest session that still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Final

from tests.soak_ui.steps import CHECK, Session, is_input, pasted

FEW: Final = 10
"""A failure should have no more keys than this."""

Fails = Callable[[Session], bool]


class Budget:
    """So many replays, and so much time for them, that a failure may cost."""

    def __init__(self, fails: Fails, *, replays: int = 400, cpu_seconds: float = 60.0) -> None:
        self._fails = fails
        self._replays = replays
        self._until = process_time() + cpu_seconds
        self._known: dict[Session, bool] = {}

    def __call__(self, session: Session) -> bool:
        if session not in self._known:
            if self._replays <= 0 or process_time() > self._until:
                return False
            self._replays -= 1
            self._known[session] = self._fails(session)
        return self._known[session]


def shrunk(session: Session, fails: Fails) -> Session:
    """A session with as few steps as delta debugging leaves; the given one if it does not fail a second time."""
    if not fails(session):
        return session
    session = _last_steps(session, fails)
    session = session.with_steps(_minimal(session.steps, lambda steps: fails(session.with_steps(steps))))
    session = _typed_at_once(session, fails)
    session = session.with_steps(_minimal(session.steps, lambda steps: fails(session.with_steps(steps))))
    return _plainer(session, fails)


def _last_steps(session: Session, fails: Fails) -> Session:
    """The last few steps alone, if they are enough."""
    count = 4
    while count < len(session.steps):
        last = session.with_steps(session.steps[-count:])
        if fails(last):
            return last
        count *= 3
    return session


def _minimal(steps: Sequence[str], fails: Callable[[Sequence[str]], bool]) -> Sequence[str]:
    """Delta debugging (Zeller): leave out larger pieces first, then smaller ones, until no single step can go."""
    pieces = 2
    while len(steps) > 1:
        size = max(1, len(steps) // pieces)
        for begin in range(0, len(steps), size):
            fewer = [*steps[:begin], *steps[begin + size :]]
            if fewer and fails(fewer):
                steps, pieces = fewer, max(2, pieces - 1)
                break
        else:
            if size == 1:
                break
            pieces = min(len(steps), pieces * 2)
    return steps


def _typed_at_once(session: Session, fails: Fails) -> Session:
    """Characters that were typed one by one, as one paste."""
    at = 0
    while at < len(session.steps):
        end = at
        while end < len(session.steps) and len(session.steps[end]) == 1 and session.steps[end] not in (CHECK, "~"):
            end += 1
        if end - at > 2:
            steps = [*session.steps[:at], pasted("".join(session.steps[at:end])), *session.steps[end:]]
            if fails(session.with_steps(steps)):
                session = session.with_steps(steps)
        at = end + 1
    return session


def _plainer(session: Session, fails: Fails) -> Session:
    """The usual size, no endings, and the usual waits."""
    for other in (
        Session(session.scene.partition("+")[0], session.size, session.steps),
        Session(session.scene, (80, 24), session.steps),
        Session(session.scene.partition("+")[0], (80, 24), session.steps),
        Session("small", (80, 24), session.steps),
        session.with_steps(["~" if not is_input(step) and step != CHECK else step for step in session.steps]),
    ):
        if other != session and fails(other):
            session = other
    return session
