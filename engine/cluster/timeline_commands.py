"""What a person can ask of the timeline, next to the commands that change the cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undo:
    """The cursor one step back."""


@dataclass(frozen=True, slots=True)
class Redo:
    """The cursor one step forward."""


@dataclass(frozen=True, slots=True)
class Home:
    """The state as opened."""


@dataclass(frozen=True, slots=True)
class End:
    """The last step of the branch."""


@dataclass(frozen=True, slots=True)
class GoTo:
    """The state after ``step`` steps of the branch, 0 being the state as opened."""

    step: int


@dataclass(frozen=True, slots=True)
class SwitchBranch:
    """The end of another branch; ``branch`` counts from 1 in the order in which branches were opened."""

    branch: int


TimelineCommand = Undo | Redo | Home | End | GoTo | SwitchBranch
