"""A film of a terminal: frames with their times as one SVG that moves by itself, or as a recording for asciinema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

CELL_WIDTH: Final = 10
CELL_HEIGHT: Final = 20
_BASELINE: Final = 15
_QUADRANTS: Final = {
    **{"▖": (2,), "▗": (3,), "▘": (0,), "▙": (0, 2, 3), "▚": (0, 3), "▛": (0, 1, 2), "▜": (0, 1, 3)},
    **{"▝": (1,), "▞": (1, 2), "▟": (1, 2, 3)},
}
"""Which quarters of the cell a character fills: upper left, upper right, lower left, lower right."""
_SHADES: Final = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_EDGES: Final = {
    **{"─": "lr", "│": "ud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu", "├": "udr", "┤": "udl"},
    **{"┬": "lrd", "┴": "lru", "┼": "lrud", "└": "ru", "┘": "lu", "┌": "rd", "┐": "ld"},
}
"""To which edges of the cell a character of a frame leads."""


class _Cells(NamedTuple):
    """A text from one column on; ``ink`` and ``ground`` are colours."""

    column: int
    text: str
    ink: str
    ground: str
    marks: str


@dataclass(frozen=True, slots=True)
class _Box:
    """A filled part of a row, in the units of the picture, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    opacity: float = 1.0

    def element(self) -> str:
        opacity = f' opacity="{self.opacity:g}"' if self.opacity < 1 else ""
        return (
            f'<rect x="{self.x:g}" y="{self.y:g}" width="{self.width:g}" height="{self.height:g}" fill="{self.fill}"'
            f"{opacity}/>"
        )


def row_svg(segments: Iterable[Segment], ground: str) -> str:
    """The elements of one row, whose upper left corner is the origin; cells of the colour ``ground`` are left out."""
    cells = list(_cells(segments))
    boxes = [
        _Box(each.column * CELL_WIDTH, 0, cell_len(each.text) * CELL_WIDTH, CELL_HEIGHT, each.ground)
        for each in cells
        if each.ground != ground
    ]
    shapes: list[_Box] = []
    words: list[str] = []
    for run in cells:
        column = run.column
        for is_drawn, characters in groupby(run.text, _is_drawn):
            text = "".join(characters)
            if is_drawn:
                for at, character in enumerate(text, column):
                    shapes += _shapes(character, at * CELL_WIDTH, run.ink)
            else:
                words += _words(run._replace(column=column, text=text))
            column += cell_len(text)
    return "".join([box.element() for box in (*_joined(boxes), *_joined(shapes))] + words)


def _cells(segments: Iterable[Segment]) -> Iterator[_Cells]:
    column = 0
    for segment in segments:
        if segment.control or not segment.text:
            continue
        style = segment.style or Style.null()
        ink, ground = _colour(style, is_ground=False), _colour(style, is_ground=True)
        if style.reverse:
            ink, ground = ground, ink
        marks = "".join(mark for mark, on in (("b", style.bold), ("i", style.italic), ("u", style.underline)) if on)
        yield _Cells(column, segment.text, ink, ground, marks)
        column += cell_len(segment.text)


def _colour(style: Style, *, is_ground: bool) -> str:
    colour = style.bgcolor if is_ground else style.color
    if colour is None:
        triplet = DEFAULT_TERMINAL_THEME.background_color if is_ground else DEFAULT_TERMINAL_THEME.foreground_color
    else:
        triplet = colour.get_truecolor(DEFAULT_TERMINAL_THEME, foreground=not is_ground)
    return triplet.hex


def _is_drawn(character: str) -> bool:
    return "▀" <= character <= "▟" or character in _EDGES


def _shapes(character: str, x: float, ink: str) -> Iterator[_Box]:
    width, height = CELL_WIDTH, CELL_HEIGHT
    place = ord(character) - ord("▀")
    if character in _EDGES:
        yield from _lines(_EDGES[character], x, ink)
    elif character in _SHADES:
        yield _Box(x, 0, width, height, ink, _SHADES[character])
    elif character in _QUADRANTS:
        for quarter in _QUADRANTS[character]:
            down, right = divmod(quarter, 2)
            yield _Box(x + right * width / 2, down * height / 2, width / 2, height / 2, ink)
    elif character == "▀":
        yield _Box(x, 0, width, height / 2, ink)
    elif character == "▔":
        yield _Box(x, 0, width, height / 8, ink)
    elif character == "▐":
        yield _Box(x + width / 2, 0, width / 2, height, ink)
    elif character == "▕":
        yield _Box(x + width * 7 / 8, 0, width / 8, height, ink)
    elif place <= 8:  # eighths from below: ▁ is one, █ is eight
        yield _Box(x, height * (8 - place) / 8, width, height * place / 8, ink)
    else:  # eighths from the left: ▉ is seven, ▏ is one
        yield _Box(x, 0, width * (16 - place) / 8, height, ink)


def _lines(edges: str, x: float, ink: str) -> Iterator[_Box]:
    """Lines of one unit from the middle of a cell to some of its edges."""
    middle_x, middle_y = x + CELL_WIDTH / 2 - 0.5, CELL_HEIGHT / 2 - 0.5
    if "l" in edges or "r" in edges:
        left = x if "l" in edges else middle_x
        right = x + CELL_WIDTH if "r" in edges else middle_x + 1
        yield _Box(left, middle_y, right - left, 1, ink)
    if "u" in edges or "d" in edges:
        top = 0 if "u" in edges else middle_y
        bottom = CELL_HEIGHT if "d" in edges else middle_y + 1
        yield _Box(middle_x, top, 1, bottom - top, ink)


def _joined(boxes: Sequence[_Box]) -> Iterator[_Box]:
    """The boxes, of which those that touch side by side and look alike are one."""
    alike = sorted(boxes, key=lambda box: (box.fill, box.opacity, box.y, box.height, box.x))
    last: _Box | None = None
    for box in alike:
        if last is not None and _goes_on(last, box):
            last = _Box(last.x, last.y, last.width + box.width, last.height, last.fill, last.opacity)
            continue
        if last is not None:
            yield last
        last = box
    if last is not None:
        yield last


def _goes_on(last: _Box, box: _Box) -> bool:
    looks = (box.fill, box.opacity, box.y, box.height)
    return looks == (last.fill, last.opacity, last.y, last.height) and box.x == last.x + last.width


def _words(run: _Cells) -> Iterator[str]:
    """Pieces of text without the blanks around them, each as wide as its cells."""
    column = run.column
    for is_gap, characters in groupby(run.text.split(" "), lambda word: word == ""):
        words = list(characters)
        text = " ".join(words)
        cells = cell_len(text)
        if not is_gap:
            attributes = "".join(f' class="{mark}"' for mark in (run.marks,) if mark)
            yield (
                f'<text x="{column * CELL_WIDTH}" y="{_BASELINE}" fill="{run.ink}" textLength="{cells * CELL_WIDTH}"'
                f' xml:space="preserve"{attributes}>{escape(text)}</text>'
            )
        column += cells + 1


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
