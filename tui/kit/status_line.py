"""One line of parts, of which the least important are left out where the room ends: what status lines are."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.kit.plain_text import NO_TEXT, assembled
from tui.kit.ranked import KEPT, Part, Ranked
from tui.kit.wording import NOT_SAVED, not_saved, safe_name, saved_text

GAP = "  "


class Timed(Protocol):
    """What the status of a model with a clock tells."""

    @property
    def release(self) -> str: ...
    @property
    def step(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def now_ms(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def source(self) -> str: ...


S = TypeVar("S")


class RankedLine(Widget, Generic[S]):
    """One line; what does not fit is left out, the least important first."""

    DEFAULT_CSS = """
    RankedLine { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    status: reactive[S | None] = reactive(None)
    """What is told."""
    saved: reactive[str] = reactive("")
    """Where the steps are kept, in words; "" when nothing keeps them."""

    def render(self) -> Content:
        return NO_TEXT if self.status is None else assembled(*self.parts(self.status, self.size.width))

    def parts(self, status: S, width: int) -> list[Part]:
        """Text and style of each part that fits ``width`` cells, in the order they stand."""
        raise NotImplementedError


def place_among(place: int, count: int) -> str:
    """Which of several is shown, and by which keys the others are.

    >>> place_among(0, 3), place_among(0, 1)
    (' [1/3 n p]', '')
    """
    return f" [{place + 1}/{count} n p]" if count > 1 else ""


def saved_part(saved: str, steps: int, rank: int) -> Ranked:
    """Where steps are kept; that they could not be is told before nearly everything else."""
    if not_saved(saved):
        return 1, f"{GAP}{NOT_SAVED}", "$bad bold"
    kept = saved_text(saved, steps)
    return KEPT if kept == NOT_SAVED else rank, f"{GAP}{kept}" if kept else "", "$dim"


def time_and_source(status: Timed, saved: str) -> list[Ranked]:
    """How a line ends where time passes: release, step and time stay longest, then where it is from and is kept."""
    return [
        (7, f"{GAP}Pulsar {status.release}", ""),
        (2, f"{GAP}step {status.step}/{status.steps}", ""),
        (2, f"{GAP}{status.now_ms:,} ms", ""),
        (12, f"{GAP}seed {status.seed}", "$dim"),
        (8, f"{GAP}{safe_name(status.source)}" if status.source else "", "$dim"),
        saved_part(saved, status.steps, 11),
    ]
