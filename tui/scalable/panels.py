"""The drawings of a scalable topic: the ring of its segments, and their family tree; its tables and status line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import ClassVar, Final

import numpy as np
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from engine.answer import TableColumn
from engine.scalable.model import RING_SIZE
from engine.text import counted, moment_text
from engine.views.failover.table import letter_tag
from engine.views.scalable.dashboard import (
    ConsumerLine,
    Piece,
    ScalableDashboard,
    ScalableStatus,
    SegmentLine,
    TreeSegment,
)
from themes.palettes import Palette, hex_colour
from tui.drawing.arcs import arcs_of
from tui.drawing.colour import letter_style
from tui.drawing.ring import draw_ring
from tui.drawing.ring_picture import Dots, RingMode, RingPicture, TwoSides
from tui.drawing.segment_tree import NOBODY, Block, draw_tree
from tui.kit.bindings import Binding
from tui.kit.columns import Lines, Order, Table
from tui.kit.declared import lines_of, sorted_by
from tui.kit.line_widget import LinePanel
from tui.kit.list_panel import RowForm
from tui.kit.plain_text import set_subtitle
from tui.kit.status_line import GAP, KEPT, Part, Ranked, fitted_parts, place_among, saved_part, step_part
from tui.kit.wording import safe_name, shorten_middle

STRIPES: Final = 160
"""Around the whole ring: a segment with several consumers is hatched in their colours."""


class RingView(Enum):
    """What ``v`` goes through."""

    RING = "ring"
    FOCUS = "focus"
    TREE = "tree"


class SegmentsPanel(LinePanel, can_focus=True):
    """The segments of one topic for one of its subscriptions; arrows choose a consumer."""

    DEFAULT_CSS = """
    SegmentsPanel { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,right", "select(1)", "Next consumer", show=False),
        Binding("up,k,left", "select(-1)", "Previous consumer", show=False),
    ]

    pieces: var[tuple[Piece, ...]] = var(())
    centre: var[tuple[str, ...]] = var(())
    family: var[tuple[TreeSegment, ...]] = var(())
    selected: var[int] = var(-1)
    """The number of the selected consumer."""
    key_hash: var[int] = var(-1)
    """The segment hash of the key that is explained, -1 for none."""
    mode: var[RingView] = var(RingView.RING)

    class Step(Message):
        """The next or the previous consumer is to be selected."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def watch_pieces(self) -> None:
        if self.mode is not RingView.TREE:
            self.forget()

    def watch_centre(self) -> None:
        if self.mode is not RingView.TREE:
            self.forget()

    def watch_family(self) -> None:
        if self.mode is RingView.TREE:
            self.forget()

    def watch_selected(self) -> None:
        if self.mode is RingView.FOCUS:
            self.forget()

    def watch_key_hash(self) -> None:
        self.forget()

    def watch_mode(self) -> None:
        self.forget()

    def action_select(self, by: int) -> None:
        self.post_message(self.Step(by))

    def draw(self, width: int, height: int) -> list[Strip]:
        if not self.centre:
            return []
        if self.mode is RingView.TREE:
            shape = width, height
            return draw_tree(blocks_of(self.family), shape, self.colours, ascii_only=self.ascii_only).strips()
        focus = self.selected if self.mode is RingView.FOCUS else -1
        picture = ring_picture(self.pieces, self.centre, focus, self.key_hash)
        # What a segment is dealt to and who reads it still are two rings; equal ones are drawn once.
        set_subtitle(self, "outside: dealt, inside: reading it now" if picture.sides is not None else "")
        return draw_ring(picture, width, height, self.colours, ascii_only=self.ascii_only).strips()


class TreePanel(LinePanel, can_focus=True):
    """The family tree alone."""

    DEFAULT_CSS = """
    TreePanel { width: 1fr; height: 1fr; }
    """
    family: var[tuple[TreeSegment, ...]] = var(())
    marked: var[int] = var(-1)
    """The marked segment, -1 for none."""

    def watch_family(self) -> None:
        self.forget()

    def watch_marked(self) -> None:
        self.forget()

    def draw(self, width: int, height: int) -> list[Strip]:
        blocks, marked = blocks_of(self.family), str(self.marked)
        canvas = draw_tree(blocks, (width, height), self.colours, ascii_only=self.ascii_only, marked=marked)
        return canvas.strips()


def blocks_of(tree: Iterable[TreeSegment]) -> list[Block]:
    """The family tree as the drawing wants it."""
    blocks: list[Block] = []
    for one in tree:
        owner = one.consumers[0] if one.consumers and not one.drained else NOBODY
        tag = letter_tag(owner) if owner != NOBODY else ""
        more = "+" if len(one.consumers) > 1 and tag else ""
        name = str(one.segment)
        blocks.append(Block(name, one.generation, one.start, one.end, owner, tag + more, not one.active, one.waits))
    return blocks


def ring_picture(
    pieces: Sequence[Piece], centre: tuple[str, ...] = (), focus: int = -1, key_hash: int = -1
) -> RingPicture:
    """The active segments by their consumers; hatched where several share one, bare where nobody is dealt it."""
    ends: list[int] = []
    dealt: list[int] = []
    reading: list[int] = []
    differs: list[bool] = []
    consumers = max([-1, *(number for piece in pieces for number in (*piece.dealt, *piece.reading))]) + 1
    for piece in pieces:
        same = set(piece.dealt) == set(piece.reading)
        for end, at in _cuts(piece):
            ends.append(end)
            dealt.append(piece.dealt[at % len(piece.dealt)] if piece.dealt else NOBODY)
            others = piece.dealt if same else piece.reading
            reading.append(others[at % len(others)] if others else NOBODY)
            differs.append(not same)
    arcs = arcs_of(ends, dealt, consumers, RING_SIZE)
    sides = None
    if any(differs) and consumers:
        sides = TwoSides(arcs, arcs_of(ends, reading, consumers, RING_SIZE), np.array(differs, np.bool_))
    return RingPicture(
        arcs,
        dots=_key_dots(pieces, key_hash),
        mode=RingMode.FOCUS if focus >= 0 else RingMode.LIT,
        focus=focus if focus >= 0 else None,
        centre=centre,
        few=(counted(len(pieces), "segment"),),
        tags=tuple(letter_tag(number) for number in range(consumers)),
        band=False if sides is None else None,
        sides=sides if focus < 0 else None,
    )


def _cuts(piece: Piece) -> list[tuple[int, int]]:
    """The pieces that a segment is drawn in: their last hashes, and their places."""
    size = piece.end - piece.start + 1
    if len(set(piece.dealt)) < 2 and len(set(piece.reading)) < 2:
        return [(piece.end, 0)]
    count = max(1, size * STRIPES // RING_SIZE)
    return [(piece.start + (at + 1) * size // count - 1, at) for at in range(count)]


def _key_dots(pieces: Sequence[Piece], key_hash: int) -> Dots:
    if key_hash < 0:
        return Dots()
    piece = next((one for one in pieces if one.start <= key_hash <= one.end), None)
    owner = piece.dealt[0] if piece is not None and piece.dealt else NOBODY
    return Dots(np.array([key_hash], np.uint32), np.array([owner], np.int32), highlighted=0)


def centre_of(view: ScalableDashboard) -> tuple[str, ...]:
    step, row = view.view.next, view.subscription
    lines = [counted(step.active, "segment"), f"{step.capacity:,} buckets"]
    if row is not None:
        lines.append(counted(len(row.consumers), "consumer"))  # of whom, the list beside says
    return tuple(lines)


def scalable_status_parts(status: ScalableStatus, saved: str, width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells."""
    return fitted_parts(lambda cells: _parts(status, saved, cells), width)


def _parts(status: ScalableStatus, saved: str, name_cells: int) -> list[Ranked]:
    places = status.places
    several = place_among(places.index(status.topic), len(places)) if status.topic in places else ""
    groups = f" (1 of {status.subscriptions}: ( and ))" if status.subscriptions > 1 else ""
    time = moment_text(status.now_ms) if status.now_ms > 1_000_000_000_000 else f"{status.now_ms / 1000:,.0f} s"
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(safe_name(status.topic), name_cells)}", "bold"),
        (4, several, "$dim"),
        (1, f"{GAP}{safe_name(status.subscription) if status.subscription else 'no subscription'}", "bold"),
        (5, groups, "$dim"),
        (0, f"{GAP}as reported" if status.as_reported else "", "$warn bold"),
        (7, f"{GAP}Pulsar {status.release}", ""),
        step_part(status.step, status.steps),
        (9, f"{GAP}{time}", ""),
        (8, f"{GAP}{safe_name(status.source)}" if status.source else "", "$dim"),
        saved_part(saved, status.steps, 11),
    ]
    return [part for part in parts if part[1]]


_HARMS: Final = ("stuck", "lost")


def consumers_table(colours: Palette, _ascii_only: bool) -> Table[ConsumerLine]:
    def style(row: ConsumerLine, column: TableColumn) -> str:
        match column.name:
            case "tag":
                return str(letter_style(colours, row.number))
            case "state" | "remark":
                harms, moves = row.state in _HARMS, row.state == "moving"
                return hex_colour(colours.bad if harms else colours.warn if moves else colours.dim)
        return hex_colour(colours.dim) if not getattr(row, column.name) else ""

    return Table(lines_of(ConsumerLine, style), sorted_by(ConsumerLine))


CONSUMERS: Final[RowForm[ConsumerLine]] = RowForm("consumer", lambda row: row.number, consumers_table)


def segment_lines(colours: Palette) -> Callable[[Sequence[SegmentLine], Order], Lines]:
    """The table of segments in a palette."""

    def style(row: SegmentLine, column: TableColumn) -> str:
        value = getattr(row, column.name)
        if column.name == "score" and row.score is not None and row.score > 1.0:
            return f"bold {hex_colour(colours.bad)}"
        if column.name == "state" and row.state in ("waits", "draining"):
            return hex_colour(colours.warn)
        return hex_colour(colours.dim) if not value or row.state == "sealed" else ""

    return lines_of(SegmentLine, style)


SEGMENT_VALUE: Final = sorted_by(SegmentLine)
