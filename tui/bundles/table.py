"""The tree of bundles after a cycle as a table with load bars, and the tabs and the slider above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.text import Text
from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from engine.balance.limits import SplitReason
from engine.views.bundles.model import BalanceFrame, BalanceView, BundleRow, TreeRow
from engine.views.bundles.words import span_text
from themes.palettes import Palette, Rgb, hex_colour
from tui.bundles.words import SHORT_NAMES, share_text
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.drawing.timeline import CycleMark, draw_cycles
from tui.kit.columns import Column, Columns, Lines, Order, Value, heading
from tui.kit.line_widget import LineWidget
from tui.kit.plain_text import assembled
from tui.kit.wording import bytes_per_sec, quantity, shorten_middle

REASONS: Final[dict[SplitReason, str]] = {
    "Topics": "topics",
    "Sessions": "sessions",
    "MsgRate": "msg/s",
    "Bandwidth": "bytes",
    "Unknown": "",
}
BAR_LIMITS: Final = 1.5
"""How many limits a full bar is; the limit itself has a mark."""
NEAR: Final = 0.8
RANGE_CELLS: Final = 21
SHARE_CELLS: Final = 6
DEEPEST: Final = 4
_NUMBERS: Final = 76
_BROKERS: Final = 92
_VERDICTS: Final = 124


@dataclass(frozen=True, slots=True)
class TreeColumns:
    """Widths in cells for one width of the table; 0 leaves a column out."""

    guide: int
    topics: int
    bar: int
    reason: int
    numbers: bool
    broker: int
    verdict: int


def tree_columns(rows: Sequence[BundleRow], width: int) -> TreeColumns:
    """What fits: range and share always, then topics, bar and measure, rates, the broker, and the verdict."""
    guide = 2 * min(DEEPEST if width < _NUMBERS else 2 * DEEPEST, max((row.depth for row in rows), default=0))
    numbers = width >= _NUMBERS + guide
    broker = 13 if width >= _BROKERS + guide else 0
    verdict = width - 96 - guide if width >= _VERDICTS + guide else 0
    room = width - (1 + guide + RANGE_CELLS + SHARE_CELLS)
    topics = 6 if room >= 6 else 0
    reason = 10 if numbers else 9 if room >= 20 else 0
    room -= topics + reason + (22 if numbers else 0) + broker + verdict
    return TreeColumns(guide, topics, min(room, 27) if room >= 5 else 0, reason, numbers, broker, verdict)


def placed_columns(rows: Sequence[BundleRow], width: int) -> Columns:
    """The columns of a width from the left, as ``tree_line`` fills them."""
    room = tree_columns(rows, width)
    columns = (
        Column("bundle", " bundle", 1 + room.guide + RANGE_CELLS, left=True),
        Column("topics", "topics", room.topics),
        Column("msgs_per_sec", "in+out/s", 10 if room.numbers else 0),
        Column("bytes_per_sec", "bytes/s", 12 if room.numbers else 0),
        Column("load", " load" if room.reason else "", room.bar, left=True),
        Column("share_of_limit", "limit", SHARE_CELLS),
        Column("reason", " of" if room.reason else "", room.reason, left=True),
        Column("broker", "broker", room.broker, left=True),
        Column("verdict", "verdict", room.verdict, left=True),
    )
    return tuple(column for column in columns if column.width)


def tree_lines(rows: Sequence[BundleRow], order: Order, cycle: int, colours: Palette, *, ascii_only: bool) -> Lines:
    """The rows, already in order, as lines. Sorted by a column they are shown without the tree."""
    shown = [replace(row, depth=0, last_of=(True,)) for row in rows] if order.key else rows
    return Lines(
        len(shown),
        lambda at, width: tree_line(shown[at], shown, width, cycle, colours, ascii_only=ascii_only),
        lambda width: heading(placed_columns(shown, width), order),
        lambda width: placed_columns(shown, width),
    )


def bundle_value(row: BundleRow, key: str) -> Value:
    """Return what a column is sorted by and exported with; a bundle that was split has a name only."""
    if key == "bundle":
        return row.range_text
    if row.split_in:
        return None
    nearest = row.nearest
    values: dict[str, Value] = {
        "topics": row.topics,
        "msgs_per_sec": row.msgs_per_sec,
        "bytes_per_sec": row.bytes_per_sec,
        "share_of_limit": nearest.share,
        "reason": nearest.reason,
        "broker": row.broker,
        "verdict": row.verdict,
    }
    return values.get(key)


def tree_line(
    row: BundleRow, rows: Sequence[BundleRow], width: int, cycle: int, colours: Palette, *, ascii_only: bool
) -> Text:
    """One bundle: in force with its load beside the limit, or split with the cycle and the reason."""
    columns = tree_columns(rows, width)
    dim = hex_colour(colours.dim)
    fresh = row.born_in == cycle > 0
    text = Text(no_wrap=True)
    text.append("*" if fresh else " ", f"bold {hex_colour(colours.good)}")
    text.append(_guides(row, columns.guide), hex_colour(colours.rim))
    gone = bool(row.split_in)
    text.append(row.range_text, f"italic {dim}" if gone else f"bold {hex_colour(colours.good)}" if fresh else "")
    text.pad_right(max(0, 1 + columns.guide + RANGE_CELLS - text.cell_len))
    if gone:
        why = f": {row.split_reason}" if row.split_reason != "Unknown" else ""
        text.append(f" split in cycle {row.split_in}{why}", f"italic {dim}")
        return text
    if columns.topics:
        text.append(f" {quantity(row.topics):>5}")
    if columns.numbers:
        rates = f"{quantity(row.msgs_per_sec):>10}{bytes_per_sec(row.bytes_per_sec):>11} "
        text.append(rates, dim)
    nearest = row.nearest
    colour = _colour(row, colours)
    if columns.bar:
        text.append(" ")
        text.append_text(load_bar(nearest.share, columns.bar - 1, colour, colours, ascii_only=ascii_only))
    text.append(f"{share_text(nearest.share):>{SHARE_CELLS}}", f"bold {hex_colour(colour)}" if row.over else "")
    if columns.reason:
        text.append(f" {REASONS[nearest.reason] if nearest.share > 0 else '':<{columns.reason - 1}}", dim)
    if columns.broker:
        text.append(f"{shorten_middle(row.broker.partition(':')[0], columns.broker - 1):<{columns.broker}}", dim)
    if columns.verdict:
        text.append(shorten_middle(row.verdict, columns.verdict), dim)
    return text


def load_bar(share: float, width: int, colour: Rgb, colours: Palette, *, ascii_only: bool) -> Text:
    """A bar of ``BAR_LIMITS`` limits with a mark at the limit.

    >>> from themes.palettes import palette
    >>> load_bar(0.5, 6, (0, 0, 0), palette("dark", "mono"), ascii_only=True).plain
    '##  | '
    """
    glyphs = glyphs_of(ascii_only)
    chars = bar_text(share / BAR_LIMITS, width, glyphs)
    mark = min(width - 1, int(width / BAR_LIMITS))
    text = Text(no_wrap=True)
    for place, char in enumerate(chars):
        if place == mark:
            ground = f" on {hex_colour(colour)}" if char == "█" and not colours.mono else ""
            text.append(glyphs.cut, f"bold {hex_colour(colours.text)}{ground}")
        else:
            text.append(char, hex_colour(colour))
    return text


def _colour(row: BundleRow, colours: Palette) -> Rgb:
    if row.over:
        return colours.bad
    return colours.warn if row.nearest.share >= NEAR else colours.good


def _guides(row: BundleRow, cells: int) -> str:
    """Lines from parents to children; of more levels than there is room for the deepest ones are shown."""
    parts = ["  " if last else "│ " for last in row.last_of[1:-1]]
    if row.depth:
        parts.append("└ " if row.last_of[-1] else "├ ")
    return "".join(parts)[-cells:] if cells else ""


FORMS = ("full", "short", "least")


@dataclass(frozen=True, slots=True)
class Tab:
    """One algorithm: its name, a short form, whether the settings choose it, and the bundles before and after."""

    name: str
    short: str
    configured: bool
    result: str


class AlgorithmTabs(Widget):
    """A click chooses, as the digit does."""

    DEFAULT_CSS = """
    AlgorithmTabs { height: 1; width: 1fr; text-wrap: nowrap; link-style: none; link-style-hover: reverse; }
    """

    tabs: reactive[tuple[Tab, ...]] = reactive(())
    """All algorithms in their usual order."""
    chosen: reactive[int] = reactive(0)
    """The index of the algorithm shown."""

    def render(self) -> Content:
        forms = [self._parts(form) for form in FORMS]
        fitting = (parts for parts in forms if sum(len(text) for text, _ in parts) <= self.size.width)
        return assembled(*next(fitting, forms[-1]))

    def _parts(self, form: str) -> list[tuple[str, str]]:
        """All tabs: with full names, with short ones, or with short ones and the outcome alone."""
        parts: list[tuple[str, str]] = []
        for place, tab in enumerate(self.tabs):
            click = f"@click=screen.algorithm({place})"
            here = place == self.chosen
            mark = "*" if tab.configured else ""
            name = tab.name if form == "full" else tab.short
            result = f"{tab.result}  " if form != "least" else f"{tab.result.rpartition(' ')[2]} "
            parts.append((f" {place + 1} {name}{mark} ", f"{'reverse bold' if here else 'bold'} {click}"))
            parts.append((result, "$foreground" if here else "$dim"))
        return parts


def tabs_of(view: BalanceView) -> tuple[Tab, ...]:
    """One tab for each algorithm, with the number of bundles it ends with."""
    return tuple(
        Tab(tree.algorithm, SHORT_NAMES[tree.algorithm], tree.configured, f"{view.bundles} → {tree.bundles}")
        for tree in view.trees
    )


SPLITS: Final = CycleMark("/", "warn")
FRUITLESS: Final = CycleMark("x", "bad")
QUIET: Final = CycleMark("·", "dim")


@dataclass(frozen=True, slots=True)
class Cycles:
    """One mark for each cycle, the one shown (0: now), and where that is in words."""

    marks: tuple[CycleMark, ...]
    shown: int
    words: str


class CycleSlider(LineWidget):
    """A slash for a cycle that splits, a cross for one whose attempts change nothing, a dot for a quiet one."""

    DEFAULT_CSS = """
    CycleSlider { height: 1; width: 1fr; }
    """

    cycles: reactive[Cycles | None] = reactive(None)
    """None before the first answer."""

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self.cycles is None or y > 0:
            return Strip.blank(width, self.rich_style)
        before, after = " now ", f" {self.cycles.words}  [ ] step "
        room = max(0, width - len(before) - len(after))
        marks, shown = self.cycles.marks, self.cycles.shown
        middle = draw_cycles(marks, shown, room, self.colours, ascii_only=self.ascii_only)
        return self.between(before, middle, after)


def slider_of(view: BalanceView, tree: TreeRow, frame: BalanceFrame) -> Cycles:
    """A mark for each cycle."""
    outcomes: dict[int, set[bool]] = {}
    for attempt in tree.attempts:
        # A bundle that is gone was chosen from a report older than its split: neither a split nor a failed attempt.
        if attempt.outcome != "gone":
            outcomes.setdefault(attempt.cycle, set()).add(attempt.outcome == "split")
    for loop in tree.loops:
        for number in range(loop.first_cycle, loop.last_cycle + 1) if loop.kind == "repeats-without-effect" else ():
            outcomes.setdefault(number, set()).add(False)
    marks = tuple(
        SPLITS if True in outcomes.get(number, ()) else FRUITLESS if number in outcomes else QUIET
        for number in range(1, view.question.cycles + 1)
    )
    words = f"cycle {frame.cycle} of {view.question.cycles}, {span_text(frame.at_seconds)}"
    return Cycles(marks, frame.cycle, words if frame.cycle else f"{view.question.cycles} cycles")
