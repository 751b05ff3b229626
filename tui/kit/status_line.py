"""Status lines: one line of parts, of which the least important are left out where there is no room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.kit.plain_text import NO_TEXT, assembled, plain
from tui.kit.wording import NOT_SAVED, not_saved, safe_name, saved_text

Part = tuple[str, str]
"""Text and style."""
Ranked = tuple[int, str, str]
"""How soon a part gives way (the highest number first), its text and its style."""
KEPT: Final = 3
"""Parts of this rank or lower stay until the subscription's name is as short as it can be."""
NAME_CELLS: Final = (44, 30, 20, 12, 8)
"""How long that name may be, tried in this order."""


def fitted_parts(parts_with: Callable[[int], list[Ranked]], width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells, from the left.

    ``parts_with`` makes all parts with a name of at most so many cells; it is shortened before what ranks ``KEPT`` or
    less goes.
    """
    shown = parts_with(NAME_CELLS[0])
    for cells in NAME_CELLS:
        parts = parts_with(cells)
        chosen = [part for part in parts if part[0] <= KEPT]
        for part in sorted((part for part in parts if part[0] > KEPT), key=lambda part: part[0]):
            if _cells([*chosen, part]) <= width:
                chosen.append(part)
        shown = [part for part in parts if part in chosen]
        if _cells(shown) <= width:
            break
    while len(shown) > 1 and _cells(shown) > width:
        shown.remove(max(reversed(shown), key=lambda part: part[0]))  # of equals the last: the name comes first
    return [(text, style) for _, text, style in shown]


def _cells(parts: list[Ranked]) -> int:
    return plain("".join(text for _, text, _ in parts)).cell_length


GAP = "  "


class Timed(Protocol):
    """What the status of a model with a clock says."""

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


class StatusLine(Widget, Generic[S]):
    """One line about a status: ``parts`` gives those that fit, from the status, ``saved`` and the width in cells."""

    DEFAULT_CSS = """
    StatusLine { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    status: reactive[S | None] = reactive(None)
    saved: reactive[str] = reactive("")
    """Where the steps are kept, in words; "" when nothing keeps them."""

    def __init__(
        self,
        parts: Callable[[S, str, int], list[Part]],
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name
    ) -> None:
        super().__init__(id=id)
        self._parts = parts

    def render(self) -> Content:
        return NO_TEXT if self.status is None else assembled(*self._parts(self.status, self.saved, self.size.width))


def place_among(place: int, count: int) -> str:
    """Which of several is shown, and by which keys the others are.

    >>> place_among(0, 3), place_among(0, 1)
    (' [1/3 n p]', '')
    """
    return f" [{place + 1}/{count} n p]" if count > 1 else ""


def step_part(step: int, steps: int) -> Ranked:
    """Which step is shown, of how many."""
    return 2, f"{GAP}step {step}/{steps}" if steps else f"{GAP}no steps", ""


def saved_part(saved: str, steps: int, rank: int) -> Ranked:
    """Say where steps are kept; that they could not be saved comes before nearly everything else."""
    if not_saved(saved):
        return 1, f"{GAP}{NOT_SAVED}", "$bad bold"
    kept = saved_text(saved, steps)
    return KEPT if kept == NOT_SAVED else rank, f"{GAP}{kept}" if kept else "", "$dim"


def time_and_source(status: Timed, saved: str) -> list[Ranked]:
    """How a line ends where time passes: release, step and time stay longest, then where it is from and is kept."""
    return [
        (7, f"{GAP}Pulsar {status.release}", ""),
        step_part(status.step, status.steps),
        (2, f"{GAP}{status.now_ms:,} ms", ""),
        (12, f"{GAP}seed {status.seed}", "$dim"),
        (8, f"{GAP}{safe_name(status.source)}" if status.source else "", "$dim"),
        saved_part(saved, status.steps, 11),
    ]
