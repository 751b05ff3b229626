"""Traffic summed along the hash axis as a grid of characters with roles: the screen colours it, text is printed as is.

Heights are shares of a limit, so the limits for messages and for bandwidth are one line and each has its own label.
No screen library is needed here.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Final

TOP_SHARE: Final = 1.3
"""The least height of the picture in limits, so that the limit is never at the upper edge."""
GUTTER: Final = 9
WIDE_CELLS: Final = 64
"""From this width on the labels of the limits have columns of their own, left and right."""


class Role(Enum):
    """What a cell belongs to; the screen has a colour for each."""

    BLANK = "blank"
    PIECE = "piece"
    OTHER_PIECE = "other piece"
    OVER = "over"
    LIMIT = "limit"
    GATE = "gate"
    BYTES = "bytes"
    CUT = "cut"
    AXIS = "axis"
    LABEL = "label"
    STRONG = "strong label"


@dataclass(frozen=True, slots=True)
class FlowPicture:
    """One bundle's curve.

    ``hashes`` ascend; ``msgs`` and ``octets`` are the sums at them in terms of their limits, from the last cut on.
    ``restarts``: the sums begin anew behind a cut. ``gate``: the height in limits that the total has to reach, 0 for
    none. ``labels`` name the pieces, one more than there are cuts, or none.
    """

    lower: int
    upper: int
    hashes: tuple[int, ...]
    msgs: tuple[float, ...]
    octets: tuple[float, ...]
    cuts: tuple[int, ...] = ()
    restarts: bool = True
    gate: float = 0.0
    msg_label: str = ""
    byte_label: str = ""
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.lower < self.upper, "a bundle has an extent"
        assert len(self.hashes) == len(self.msgs) == len(self.octets), "one sum of each kind for each hash"
        assert all(left <= right for left, right in pairwise(self.hashes)), "hashes ascend"
        assert all(left < right for left, right in pairwise(self.cuts)), "cuts ascend"

    @property
    def top(self) -> float:
        """The height of the picture in limits."""
        peak = max((*self.msgs, *self.octets), default=0.0)
        return max(TOP_SHARE, peak * 1.06, self.gate * 1.1)


@dataclass(slots=True)
class Cells:
    """Characters with their roles; ``ground`` is the role a cell is filled with behind its character."""

    width: int
    height: int
    chars: list[list[str]] = field(init=False)
    roles: list[list[Role]] = field(init=False)
    ground: list[list[Role]] = field(init=False)

    def __post_init__(self) -> None:
        self.chars = [[" "] * self.width for _ in range(self.height)]
        self.roles = [[Role.BLANK] * self.width for _ in range(self.height)]
        self.ground = [[Role.BLANK] * self.width for _ in range(self.height)]

    def put(self, row: int, column: int, char: str, role: Role, ground: Role | None = None) -> None:
        """One cell; outside is cut off."""
        if 0 <= row < self.height and 0 <= column < self.width:
            self.chars[row][column] = char
            self.roles[row][column] = role
            if ground is not None:
                self.ground[row][column] = ground

    def write(self, row: int, column: int, text: str, role: Role) -> None:
        """A text of one-cell characters."""
        for offset, char in enumerate(text):
            self.put(row, column + offset, char, role)

    def lines(self) -> list[str]:
        """The text of every row."""
        return ["".join(row).rstrip() for row in self.chars]


@dataclass(frozen=True, slots=True)
class _Marks:
    levels: str
    low: str
    """Something, but less than the first level."""
    limit: str
    gate: str
    flat: str
    upright: str
    corners: str
    """Up from the left, up to the right, down from the left, down to the right."""
    cut: str
    axis: str
    foot: str


_UNICODE: Final = _Marks(" ▁▂▃▄▅▆▇█", "▁", "╌", "┈", "─", "│", "╯╭╮╰", "┃", "─", "┻")
_ASCII: Final = _Marks(" #", "_", "-", ".", "~", "~", "~~~~", "|", "-", "+")


def flow_cells(picture: FlowPicture, width: int, height: int, *, ascii_only: bool = False) -> Cells:
    """The curve in ``width`` x ``height`` cells: the area of messages, the line of bytes, limit, gate, cuts, axis.

    Columns show the largest sum that occurs in them. O(points + width × height).

    >>> steps = FlowPicture(0, 8, (1, 3, 6), (0.5, 1.0, 0.8), (0.0, 0.0, 0.0), cuts=(5,))
    >>> print("\\n".join(flow_cells(steps, 8, 6, ascii_only=True).lines()))
    -----|--
       ##|
     ####|##
     ####|##
    -----+--
    0x0 0x5
    """
    marks = _ASCII if ascii_only else _UNICODE
    cells = Cells(max(width, 0), max(height, 0))
    gutter = GUTTER if width >= WIDE_CELLS else 0
    left, right = gutter, cells.width - gutter
    footers = 3 if picture.labels and height >= 8 else 2
    rows = cells.height - footers
    if right - left < 1 or rows < 1:
        return cells
    plot = _Plot(picture, cells, marks, left, right, rows)
    plot.area()
    plot.level(1.0, marks.limit, Role.LIMIT)
    if picture.gate > 1.0:
        plot.level(picture.gate, marks.gate, Role.GATE)
    if max(picture.octets, default=0.0) / plot.top * rows >= 0.5:  # else it would lie on the axis
        plot.line()
    plot.cuts()
    plot.axis()
    if footers == 3:
        plot.labels(rows + 2)
    if gutter:
        plot.scale()
    return cells


def column_of(picture: FlowPicture, value: int, width: int) -> int:
    """The cell of a hash on an axis of ``width`` cells."""
    return min(width - 1, max(0, (value - picture.lower) * width // (picture.upper - picture.lower)))


def column_values(picture: FlowPicture, sums: tuple[float, ...], width: int) -> list[float]:
    """The largest running sum in each cell of the axis; behind a cut the sum is 0 until the next topic.

    >>> column_values(FlowPicture(0, 8, (1, 3, 6), (1.0, 2.0, 3.0), (0.0,) * 3, cuts=(5,)), (1.0, 2.0, 3.0), 8)
    [0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0]
    """
    cuts = picture.cuts if picture.restarts else ()
    extent = picture.upper - picture.lower
    values: list[float] = []
    carried, topics, passed = 0.0, 0, 0
    for column in range(width):
        # The first hash of the next cell: ``column_of`` rounds down.
        past = picture.lower - (-(column + 1) * extent // width)
        last = column == width - 1
        topics_past = len(sums) if last else bisect_left(picture.hashes, past, topics)
        cuts_past = len(cuts) if last else bisect_left(cuts, past, passed)
        here = sums[topics:topics_past]
        values.append(max(carried, max(here, default=carried)))
        # A cut comes before a topic of the same hash, which begins the new piece.
        if cuts_past > passed and not (here and picture.hashes[topics_past - 1] >= cuts[cuts_past - 1]):
            carried = 0.0
        elif here:
            carried = here[-1]
        topics, passed = topics_past, cuts_past
    return values


@dataclass(slots=True)
class _Plot:
    """The workings of one picture; lives no longer than the call."""

    picture: FlowPicture
    cells: Cells
    marks: _Marks
    left: int
    right: int
    rows: int
    top: float = field(init=False)

    def __post_init__(self) -> None:
        self.top = self.picture.top  # looks at all points

    @property
    def width(self) -> int:
        return self.right - self.left

    def row_of(self, share: float) -> int:
        """The row whose cell holds that height."""
        return self.rows - 1 - min(self.rows - 1, max(0, int(share / self.top * self.rows)))

    def area(self) -> None:
        picture, steps = self.picture, len(self.marks.levels) - 1
        limit_row = self.row_of(1.0)
        for column, share in enumerate(column_values(picture, picture.msgs, self.width)):
            piece = sum(column > column_of(picture, cut, self.width) for cut in picture.cuts)
            role = Role.OTHER_PIECE if piece % 2 else Role.PIECE
            units = round(share / self.top * self.rows * steps)
            if share > 0 and not units:
                self.cells.put(self.rows - 1, self.left + column, self.marks.low, role)
            for row in range(self.rows):
                filled = max(0, min(steps, units - (self.rows - 1 - row) * steps))
                if filled:
                    here = Role.OVER if picture.restarts and row < limit_row and share > 1.0 else role
                    char = self.marks.levels[filled]
                    self.cells.put(row, self.left + column, char, here, here if filled == steps else None)

    def level(self, share: float, char: str, role: Role) -> None:
        row = self.row_of(share)
        for column in range(self.left, self.right):
            if self.cells.chars[row][column] == " " or (
                self.cells.ground[row][column] is not Role.BLANK and self.marks is not _ASCII
            ):
                self.cells.put(row, column, char, role)

    def line(self) -> None:
        up_end, up_start, down_start, down_end = tuple(self.marks.corners)
        values = column_values(self.picture, self.picture.octets, self.width)
        before = self.row_of(values[0])
        for column, share in enumerate(values):
            row = self.row_of(share)
            at = self.left + column
            if row == before:
                self.cells.put(row, at, self.marks.flat, Role.BYTES)
            else:
                for between in range(min(row, before) + 1, max(row, before)):
                    self.cells.put(between, at, self.marks.upright, Role.BYTES)
                self.cells.put(before, at, up_end if row < before else down_start, Role.BYTES)
                self.cells.put(row, at, up_start if row < before else down_end, Role.BYTES)
            before = row

    def cuts(self) -> None:
        for cut in self.picture.cuts:
            column = self.left + column_of(self.picture, cut, self.width)
            for row in range(self.rows):
                self.cells.put(row, column, self.marks.cut, Role.CUT, Role.BLANK)

    def axis(self) -> None:
        picture, row = self.picture, self.rows
        for column in range(self.left, self.right):
            self.cells.put(row, column, self.marks.axis, Role.AXIS)
        for cut in picture.cuts:
            self.cells.put(row, self.left + column_of(picture, cut, self.width), self.marks.foot, Role.CUT)
        span = len(f"0x{picture.upper:x}") if picture.upper < 0x10000 else 10
        texts = [f"0x{value:0{span - 2}x}" for value in (picture.lower, picture.upper)]
        wanted = [(self.left + column_of(picture, cut, self.width) - span // 2, cut) for cut in picture.cuts]
        taken = [False] * self.cells.width
        placed: list[tuple[int, str, Role]] = [(start, f"0x{cut:0{span - 2}x}", Role.STRONG) for start, cut in wanted]
        placed += [(self.left, texts[0], Role.LABEL), (self.right - span, texts[1], Role.LABEL)]
        for start, text, role in placed:
            at = max(self.left, min(start, self.right - len(text)))
            if len(text) <= self.width and not any(taken[max(0, at - 1) : at + len(text) + 1]):
                self.cells.write(row + 1, at, text, role)
                taken[at : at + len(text)] = [True] * len(text)

    def labels(self, row: int) -> None:
        ends = [0, *(column_of(self.picture, cut, self.width) for cut in self.picture.cuts), self.width]
        for piece, label in enumerate(self.picture.labels[: len(ends) - 1]):
            room = ends[piece + 1] - ends[piece] - 1
            text = next((form for form in (label, label.partition(" · ")[2], "") if len(form) <= room), "")
            at = self.left + ends[piece] + (ends[piece + 1] - ends[piece] - len(text) + 1) // 2
            self.cells.write(row, at, text, Role.OTHER_PIECE if piece % 2 else Role.PIECE)

    def scale(self) -> None:
        row, bottom = self.row_of(1.0), self.rows - 1
        self.cells.write(row, self.left - 1 - len(self.picture.msg_label), self.picture.msg_label, Role.LIMIT)
        self.cells.write(row, self.right + 1, self.picture.byte_label, Role.LIMIT)
        if row != bottom:
            self.cells.write(bottom, self.left - 2, "0", Role.LABEL)
