"""A film of a terminal: frames with their times as one SVG that moves by itself, or as a recording for asciinema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from typing import Final

from rich.color import ColorSystem
from rich.segment import Segment

from tui.drawing.svg_rows import CELL_HEIGHT, CELL_WIDTH, row_svg

MARGIN: Final = 10
FONTS: Final = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
"""Those that a browser has; a tool that draws one picture takes its own."""
_STYLE: Final = (
    f"text{{font:16px {FONTS}}}"
    ".b,.bi,.bu,.biu{font-weight:bold}.i,.bi,.iu,.biu{font-style:italic}.u,.bu,.iu,.biu{text-decoration:underline}"
)
Row = tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """What is on the terminal from a time on."""

    at_seconds: float
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Film:
    """Frames in their order, the first at 0; the last one is seen until ``end_seconds``. ``ground``: as ``#rrggbb``."""

    title: str
    columns: int
    frames: tuple[Frame, ...]
    end_seconds: float
    ground: str

    def spans(self) -> Iterator[tuple[float, float]]:
        """When each frame is seen, as parts of the whole."""
        times = [*(frame.at_seconds for frame in self.frames), self.end_seconds]
        for begin, end in pairwise(times):
            yield begin / self.end_seconds, end / self.end_seconds


def still(film: Film, at: int = -1) -> str:
    """One frame as SVG."""
    rows = (_group(number, row_svg(row, film.ground)) for number, row in enumerate(film.frames[at].rows))
    return _document(film, "", "".join(rows))


def moving(film: Film, *, poster: int = -1) -> str:
    """The whole film as SVG that runs for ever. A viewer that shows no motion shows the frame ``poster``.

    A row that is the same in several frames is in it once. O(frames x cells).
    """
    spans = list(film.spans())
    drawn = cache(lambda row: row_svg(row, film.ground))
    groups: list[str] = []
    rules: dict[tuple[tuple[float, float], ...], str] = {}
    for number, versions in enumerate(zip(*(frame.rows for frame in film.frames), strict=True)):
        shown: dict[str, list[int]] = {}
        for at, row in enumerate(versions):
            shown.setdefault(drawn(row), []).append(at)
        for elements, places in shown.items():
            if len(places) == len(spans):
                groups.append(_group(number, elements))
                continue
            seen = tuple(_united([spans[at] for at in places]))
            name = rules.setdefault(seen, f"s{len(rules)}")
            on_poster = (len(spans) + poster if poster < 0 else poster) in places
            groups.append(_group(number, elements, f"m {name}{'' if on_poster else ' h'}"))
    return _document(film, _motion(rules, film.end_seconds), "".join(groups))


def _united(spans: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The spans in their order; those that touch are one."""
    begin, end = spans[0]
    for next_begin, next_end in spans[1:]:
        if next_begin > end:
            yield begin, end
            begin = next_begin
        end = next_end
    yield begin, end


def _motion(rules: dict[tuple[tuple[float, float], ...], str], seconds: float) -> str:
    """When each group of rows is seen. ``step-end`` keeps a value until the next one."""
    style = [
        f".h{{visibility:hidden}}.m{{animation-duration:{seconds:g}s;animation-iteration-count:infinite;"
        "animation-timing-function:step-end}@media (prefers-reduced-motion:reduce){.m{animation:none!important}}"
    ]
    for spans, name in rules.items():
        changes = {0.0: "hidden", 1.0: "hidden"}
        for begin, end in spans:
            changes[begin] = "visible"
            changes.setdefault(end, "hidden")
        steps = "".join(f"{100 * at:.3f}%{{visibility:{seen}}}" for at, seen in sorted(changes.items()))
        style.append(f"@keyframes {name}{{{steps}}}.{name}{{animation-name:{name}}}")
    return "".join(style)


def _group(number: int, elements: str, names: str = "") -> str:
    if not elements:
        return ""
    classes = f' class="{names}"' if names else ""
    return f'<g transform="translate({MARGIN},{MARGIN + number * CELL_HEIGHT})"{classes}>{elements}</g>'


def _document(film: Film, motion: str, body: str) -> str:
    width = film.columns * CELL_WIDTH + 2 * MARGIN
    height = len(film.frames[0].rows) * CELL_HEIGHT + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"><title>{escape(film.title)}</title>'
        f"<style>{_STYLE}{motion}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{film.ground}"/>{body}</svg>\n'
    )


def asciicast(film: Film) -> str:
    """The film in version 2 of asciinema's format. Each frame writes the rows that changed."""
    header = {"version": 2, "width": film.columns, "height": len(film.frames[0].rows), "title": film.title}
    lines = [json.dumps(header)]
    before: tuple[Row | None, ...] = (None,) * len(film.frames[0].rows)
    for frame in film.frames:
        changed = [
            f"\x1b[{number};1H{_ansi(row)}"
            for number, (row, old) in enumerate(zip(frame.rows, before, strict=True), 1)
            if row != old
        ]
        begin = "" if before[0] is not None else "\x1b[?25l\x1b[2J"
        lines.append(json.dumps([round(frame.at_seconds, 3), "o", begin + "".join(changed)], ensure_ascii=False))
        before = frame.rows
    lines.append(json.dumps([round(film.end_seconds, 3), "o", "\x1b[?25h"]))
    return "\n".join(lines) + "\n"


def _ansi(row: Row) -> str:
    system = ColorSystem.TRUECOLOR
    return "".join(
        segment.text if segment.style is None else segment.style.render(segment.text, color_system=system)
        for segment in row
        if not segment.control
    )
