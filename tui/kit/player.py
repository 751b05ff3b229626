"""A demo script's clock: which of its lines are due. Time is handed in, so a test plays an hour at once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from engine.cluster.timeline import Timeline
from engine.scenarios.script_model import Action, Script


class Player:
    """Hands out the actions of a script, each once, in their order."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.elapsed_seconds = 0.0
        self._next = 0

    @property
    def finished(self) -> bool:
        """Whether every action was handed out."""
        return self._next >= len(self.script.lines)

    def advance(self, seconds: float) -> tuple[Action, ...]:
        """Let time pass; the actions whose time has come."""
        self.elapsed_seconds += seconds
        start = self._next
        lines = self.script.lines
        while self._next < len(lines) and lines[self._next].at_seconds <= self.elapsed_seconds:
            self._next += 1
        return tuple(line.action for line in lines[start : self._next])


@dataclass(slots=True)
class Stage:
    """How far a demo script is: all screens that it plays on share one.

    ``due`` are actions whose time has come and that wait for the screen they belong to. ``interval_seconds`` is the
    pace while something plays, 0 while nothing does. ``told_at`` is the timeline as the script left it, which is what
    the caption is about.
    """

    player: Player | None = None
    caption: str = ""
    failed_expectations: int = 0
    due: deque[Action] = field(default_factory=deque)
    interval_seconds: float = 0.0
    begun: bool = False
    told_at: Timeline | None = None

    @property
    def over(self) -> bool:
        """Whether there is no script, or nothing of it left."""
        return (self.player is None or self.player.finished) and not self.due
