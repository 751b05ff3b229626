"""Rows for the virtual tables of the screen of producers: steps, what happened, merged statistics."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.producers.model import ProducerStep, StatisticsRow, StatisticsView
from themes.palettes import Palette, hex_colour
from tui.kit.event_list import GLYPHS
from tui.kit.wording import cut_end, fit, quantity, safe_name, shorten_middle
from tui.producers.words import entry_text

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
