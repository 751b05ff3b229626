"""What a screen gives away: rows as a file or on the clipboard, and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from textual.screen import Screen

from engine.errors import InputError, Rejection
from engine.exporting import export_records, path_typed, saved
from engine.visible import visible
from tui.kit.columns import Value
from tui.kit.rows_table import RowsTable
from tui.kit.wording import counted, safe_name

PICTURE: Final = ".svg"
PIXELS: Final = ".png"
PIXELS_PER_UNIT: Final = 2.0
"""How large a picture in pixels is, so that letters are sharp."""
EXPORT_HINT: Final = "a name that ends in .csv or .json for the rows, in .svg or .png for the screen"


def exported(screen: Screen[Any], table: RowsTable[Any], typed: str) -> str | Rejection:
    """Write the rows of a table, or the screen that it is on, to the file that somebody typed; say what was written."""
    try:
        path = path_typed(typed)
        if path.suffix.lower() in (PICTURE, PIXELS):
            picture = screen.app.export_screenshot().encode()
            if path.suffix.lower() == PIXELS:
                picture = _in_pixels(picture)
            saved(path, lambda file: file.write(picture))
            return f"the screen is written to {safe_name(str(path))}"
        written = export_records(table.as_records(), path)
    except InputError as error:
        return Rejection("NotWritten", str(error), "export")
    return written_sentence(written.rows, written.changed_cells, path)


def _in_pixels(picture: bytes) -> bytes:
    """An SVG as PNG. Raises ``InputError`` where what draws it is not installed."""
    try:
        drawing: Any = import_module("cairosvg")
    except (ImportError, OSError) as error:  # OSError: the library that it stands on is missing
        raise InputError(
            "PNG needs cairosvg and the library cairo (pip install 'pulsar-ringside[pictures]'); .svg needs nothing"
        ) from error
    pixels: bytes = drawing.svg2png(bytestring=picture, scale=PIXELS_PER_UNIT)
    return pixels


def written_sentence(rows: int, changed_cells: int, path: Path) -> str:
    """Say what was written, and what was changed in it."""
    sentence = f"{counted(rows, 'row')} written to {safe_name(str(path))}, with this filter and in this order."
    if not changed_cells:
        return sentence
    cells = counted(changed_cells, "cell")
    return f"{sentence} {cells} that a spreadsheet would take for a formula or not show got a ' before, or escapes."


def as_text(record: Mapping[str, Value]) -> str:
    """A row as text to paste: names and values, apart by tabs, each pair on a line of its own, nothing hidden.

    >>> as_text({"name": "a", "active": 3, "ring": 0.25})
    'name\\ta\\nactive\\t3\\nring\\t0.25'
    """
    return "\n".join(f"{name}\t{'' if value is None else visible(str(value))}" for name, value in record.items())
