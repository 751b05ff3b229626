"""What a terminal would show: the driver that takes what the app writes, and the picture that results."""

from __future__ import annotations

import re
from typing import Any, Final

from rich.cells import cell_len, split_graphemes
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver

_PIECES: Final = re.compile(
    r"\x1b\[(\d+);(\d+)H|\x1b\[([0-9;:]*)m|(\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~])"
    r"|(\n)|([^\x1b\n]+)"
)

_OWN: Final = re.compile(r"\x1b\[\?2026[hl]|\x1b\]52;c;[A-Za-z0-9+/=]*(?:\x07|\x1b\\)|\x1b\]22;[a-z-]*(?:\x07|\x1b\\)")
"""Begin and end of a paint, the clipboard, the pointer's shape."""
_COMMANDING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, or that turn round what follows."""

BELL: Final = "\x07"

Cell = tuple[str, str]
"""A character and its style; what a wide one covers has no character."""
BLANK: Final[Cell] = (" ", "")


class RecordingDriver(HeadlessDriver):
    """No terminal, but unlike with the headless driver everything is painted and written."""

    def __init__(
        self, app: Any, *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        Driver.__init__(self, app, debug=debug, mouse=mouse, size=size)
        self.picture = Picture(*(size or (80, 24)))
        self._written: list[str] = []

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        if data != BELL:  # what the app itself rings is written alone; any other one comes from a name or a paste
            self._written.append(data)

    def show(self, size: tuple[int, int] | None = None) -> Picture:
        """Apply what was written until now; with a ``size`` the terminal has this one from now on."""
        self.picture.feed("".join(self._written))
        self._written.clear()
        if size is not None and size != (self.picture.width, self.picture.height):
            self.picture = self.picture.resized(*size)
        return self.picture


class Picture:
    """A grid of cells, as what was written left it."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.rows: list[list[Cell]] = [[BLANK] * width for _ in range(height)]
        self.unexpected = ""
        """What commands the terminal and is not one of the app's own sequences."""

    def feed(self, data: str) -> None:
        """Apply what was written."""
        x, y, style = 0, 0, ""
        for match in _PIECES.finditer(data):
            row, column, sgr, other, newline, text = match.groups()
            if text is not None:
                x = self._put(x, y, text, style)
            elif sgr is not None:
                style = "" if sgr in ("", "0") else sgr
            elif row is not None:
                x, y = int(column) - 1, int(row) - 1
            elif newline is not None:
                x, y = 0, y + 1
            elif other is not None and not _OWN.fullmatch(other):
                self.unexpected = self.unexpected or other[:80]

    def _put(self, x: int, y: int, text: str, style: str) -> int:
        if not 0 <= y < self.height:
            return x + cell_len(text)
        row, width = self.rows[y], self.width
        if not text.isprintable() and (hidden := _COMMANDING.search(text)):
            self.unexpected = self.unexpected or text[max(0, hidden.start() - 20) : hidden.end() + 20]
        if text.isascii():
            for character in text:
                if 0 <= x < width:
                    row[x] = (character, style)
                x += 1
            return x
        for start, _, cells in split_graphemes(text)[0]:
            if cells == 0:
                continue
            if 0 <= x < width:
                row[x] = (text[start], style)
                if cells == 2 and x + 1 < width:
                    row[x + 1] = ("", style)
            x += cells
        return x

    def resized(self, width: int, height: int) -> Picture:
        """What there is of it in another size: what is new is blank, and what no longer has room is lost."""
        other = Picture(width, height)
        other.unexpected = self.unexpected
        for old, new in zip(self.rows, other.rows, strict=False):
            new[: len(old)] = old[:width]
        return other

    @property
    def lines(self) -> list[str]:
        """The text alone."""
        return ["".join(character for character, _ in row) for row in self.rows]


def painted(app: Any) -> Picture:
    """The picture that a full paint of the present screen gives."""
    width, height = app.size
    picture = Picture(width, height)
    picture.feed(app.screen._compositor.render_update(full=True).render_segments(app.console))
    return picture
