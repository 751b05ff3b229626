"""The table of producers, and the lines of what happened: which columns fit a width, and what is in their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from engine.views.producers.model import ProducerRow, ProducerStep, StatisticsRow, StatisticsView
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import letter_style
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Cell, ScreenColumn, Table, numbers, table_of, texts
from tui.kit.event_list import GLYPHS
from tui.kit.list_panel import RowForm
from tui.kit.wording import cut_end, fit, quantity, safe_name, shorten_middle
from tui.producers.words import entry_text

_NAME_CELLS: Final = (7, 26)
_LAST_CELLS: Final = (16, 46)
_BAR_CELLS: Final = (5, 14)
_EASY_NAME: Final = 16


def producers_table(colours: Palette, ascii_only: bool) -> Table[ProducerRow]:
    return table_of(partial(_declared, colours, ascii_only))


def _declared(
    colours: Palette, ascii_only: bool, sample: Sequence[ProducerRow], _rows: Sequence[ProducerRow], _width: int
) -> list[ScreenColumn[ProducerRow]]:
    """Tag, name and opened partitions are always there; rates where there are any and sent messages come next, then
    what the last step opened, waiting messages where there are any, the router, what happened last, the client where
    there are several, the state.
    """
    dim, good = hex_colour(colours.dim), hex_colour(colours.good)
    bad, warn = f"bold {hex_colour(colours.bad)}", f"bold {hex_colour(colours.warn)}"
    longest = max((cell_len(_name(row)) for row in sample), default=0) + 1

    def count(
        key: str, label: str, number: Callable[[ProducerRow], float | None], of: str = "", **how: Any
    ) -> ScreenColumn[ProducerRow]:
        """As wide as its heading and its numbers; ``of``: the style where there is something."""
        written = [len(quantity(value)) for row in sample if (value := number(row)) is not None]

        def text(row: ProducerRow) -> str:
            return "-" if number(row) is None else quantity(number(row))

        cell = numbers(text, lambda row: of if number(row) else dim)
        return ScreenColumn(key, label, 1 + max(len(label), *written, 0), cell, number, **how)

    def word(
        key: str, label: str, width: int, text: Callable[[ProducerRow], str], rank: int, **how: Any
    ) -> ScreenColumn[ProducerRow]:
        return ScreenColumn(key, label, width, texts(text, dim), text, rank, left=True, **how)

    def tag(row: ProducerRow, width: int) -> Text:
        text = Text(" ", no_wrap=True).append(row.tag, letter_style(colours, row.colour))
        return text.append(" " * (width - 1 - len(row.tag)))

    def bar(row: ProducerRow, width: int) -> Text:
        drawing = bar_text(row.opened / max(1, row.known), width - 1, glyphs_of(ascii_only))
        return Text(drawing + " ", hex_colour(colours.consumer_colour(row.colour)), no_wrap=True)

    def last(row: ProducerRow, width: int) -> Text:
        return Text(fit(cut_end(safe_name(row.last), width - 1), width - 1) + " ", dim, no_wrap=True)

    def opened_style(row: ProducerRow) -> str:
        return bad if row.connected < row.opened else "" if row.opened else dim

    gained: Cell[ProducerRow] = numbers(lambda row: f"+{quantity(row.gained)}" if row.gained else "", good)
    state: Cell[ProducerRow] = numbers(lambda row: row.state, lambda row: dim if row.state == "Ready" else bad)
    opened = count("opened", "open", lambda row: row.opened)
    new = count("gained", "new", lambda row: row.gained, rank=4)
    routers = max((len(row.router) for row in sample), default=6) + 1
    several = len({row.client for row in sample}) > 1
    return [
        ScreenColumn("tag", "", max((len(row.tag) for row in sample), default=1) + 2, tag, left=True),
        ScreenColumn(
            "name", "producer", min(max(longest, len("producer") + 1), _NAME_CELLS[1]),
            texts(_name, lambda row: "" if row.state == "Ready" else dim), _name, easy=_EASY_NAME, least=_NAME_CELLS[0],
        ),
        word("client", "client", 7, lambda row: row.client, 5, there=several),
        word("router", "router", routers, lambda row: row.router, 6),
        word("start", "start", 6, lambda row: "lazy" if row.lazy else "eager", 10),
        replace(opened, cell=numbers(lambda row: quantity(row.opened), opened_style)),
        count("known", "of", lambda row: row.known, dim, rank=9),
        ScreenColumn("bar", "", _BAR_CELLS[0], bar, rank=7, left=True, most=_BAR_CELLS[1]),
        replace(new, width=new.width + 1, cell=gained),
        count(
            "rate", "in/s", lambda row: row.msgs_per_sec, rank=1,
            there=any(row.msgs_per_sec is not None for row in sample),
        ),
        count("sent", "sent", lambda row: row.sent_msgs, rank=2),
        count(
            "pending", "wait", lambda row: row.pending_msgs, warn, rank=3,
            there=any(row.pending_msgs for row in sample),
        ),
        ScreenColumn(
            "state", "state", 8, state, lambda row: row.state, rank=8, there=any(row.state != "Ready" for row in sample)
        ),
        ScreenColumn(
            "last", "what happened last", _LAST_CELLS[0], last, lambda row: row.last,
            rank=11, left=True, most=_LAST_CELLS[1],
        ),
    ]  # fmt: skip


def _name(row: ProducerRow) -> str:
    return safe_name(row.name) if row.name else f"#{row.number}"


PRODUCERS: Final[RowForm[ProducerRow]] = RowForm("producer", lambda row: row.number, producers_table)


_BAD_KINDS: Final = frozenset({"kill", "fail"})
_GOOD_KINDS: Final = frozenset({"add", "recover"})


def step_line(step: ProducerStep, width: int, colours: Palette) -> Text:
    """One step: number, a sign for its kind, what was done, and on the right what it opened, cut, and came to."""
    dim = hex_colour(colours.dim)
    role = colours.good if step.kind in _GOOD_KINDS else colours.bad if step.kind in _BAD_KINDS else colours.accent
    text = Text(no_wrap=True)
    text.append(f"{step.step:>3} ", dim)
    text.append(f"{GLYPHS.get(step.kind, '*')} ", f"bold {hex_colour(colours.dim if step.kind == 'open' else role)}")
    effect = _effect(step)
    words = safe_name(step.text)
    left = width - text.cell_len
    if cell_len(words) + cell_len(effect) + 2 > left:
        effect = cut_end(effect, max(12, left * 2 // 5, left - cell_len(words) - 2))
    text.append(shorten_middle(words, max(8, left - (cell_len(effect) + 2 if effect else 0))))
    if effect:
        text.append("  ")
        text.append(effect, hex_colour(colours.warn) if "failed" in step.effect or "refused" in step.effect else dim)
    return text


def _effect(step: ProducerStep) -> str:
    parts = [f"{step.opened:,} opened"] * bool(step.opened) + [f"{step.gone:,} gone"] * bool(step.gone)
    return ", ".join([*parts, *([safe_name(step.effect)] if step.effect else [])])


def happened_line(message: str, width: int, colours: Palette) -> Text:
    """One thing that happened to a producer."""
    bad = any(word in message for word in ("failed", "lost", "refused", "kept out", "stays at"))
    sign, role = ("!", colours.bad) if bad else (">", colours.good)
    text = Text(no_wrap=True)
    text.append(f"{sign} ", f"bold {hex_colour(role)}")
    text.append(cut_end(safe_name(message), max(1, width - 2)))
    return text


def statistics_heading(statistics: StatisticsView, width: int) -> Text:
    """Both lists side by side; the one in force is marked."""
    left, right = _halves(width)
    text = Text(no_wrap=True)
    for title, cells in (("by name", left), ("by position", right)):
        mark = " (in force)" if title == statistics.in_force else ""
        text.append(fit(f" {title}{mark}", cells))
    return text


def statistics_line(statistics: StatisticsView, at: int, width: int, colours: Palette) -> Text:
    """The entry of each list at this place."""
    left, right = _halves(width)
    text = Text(no_wrap=True)
    for rows, cells in ((statistics.by_name.entries, left), (statistics.by_position.entries, right)):
        text.append_text(_entry(rows[at] if at < len(rows) else None, cells, colours))
    return text


def _entry(row: StatisticsRow | None, cells: int, colours: Palette) -> Text:
    if row is None:
        return Text(" " * cells, no_wrap=True)
    text = Text(no_wrap=True)
    whose = entry_text(row)
    rate = f"{quantity(round(row.msgs_per_sec * 60, 2))}/min"
    name_cells = max(4, min(22, cells - len(whose) - 12))
    text.append(f" {fit(safe_name(row.name) if row.name else '-', name_cells)}")
    text.append(f"{rate:>9} ", "" if row.msgs_per_sec else hex_colour(colours.dim))
    text.append(whose, f"bold {hex_colour(colours.warn)}" if row.mixture else hex_colour(colours.dim))
    text.truncate(cells)
    text.pad_right(max(0, cells - text.cell_len))
    return text


def _halves(width: int) -> tuple[int, int]:
    return width - width // 2, width // 2
