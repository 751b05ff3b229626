"""Export and copy: the rows of a table as a file or as text, and a picture of the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from textual.screen import Screen

from engine.disk import export_records, path_typed, record_writer, saved
from engine.errors import InputError
from engine.text import counted, visible
from tui.kit.background import run_beside
from tui.kit.columns import Value
from tui.kit.line_table import ARRANGED_AT_ONCE, RowsTable
from tui.kit.pictures import picture_of, pixel_drawer, pixels
from tui.kit.prompt import Prompt
from tui.kit.themed_app import ThemedApp, without_secret
from tui.kit.wording import safe_name

PICTURE: Final = ".svg"
PIXELS: Final = ".png"
EXPORT_HINT: Final = "a name that ends in .csv or .json for the rows, in .svg or .png for the screen"


def export(
    screen: Screen[Any], table: RowsTable[Any], prompt: Prompt, typed: str, say: Callable[[str, str], object]
) -> None:
    """Write the rows of a table, or the screen that it is on, to the file that somebody typed into a prompt.

    ``say`` is called with ``done`` and what was written, or with ``refusal`` and why it could not be. What can be
    refused at once is said in the prompt, which stays open then. A picture is taken, and very many rows are written,
    when the prompt has gone.
    """
    try:
        if isinstance(screen.app, ThemedApp) and not screen.app.writes_files:
            raise InputError("nothing is written to files from a browser; y copies the row")
        path = path_typed(typed)
        of_rows = path.suffix.lower() not in (PICTURE, PIXELS)
        if of_rows and len(table.listed) <= ARRANGED_AT_ONCE:
            written = export_records(_shown(screen, table.as_records()), path)
            say("done", written_sentence(written.rows, written.changed_cells, path))
        elif path.exists():
            raise InputError(f"{path} is there already; choose another name")
        elif of_rows:
            record_writer(path)  # refuses an ending that nobody writes
            run_beside(screen, partial(_write_many, screen, table.records_later(), path, say), group="export")
        else:
            if path.suffix.lower() == PIXELS:
                pixel_drawer()  # refuses where it is missing
            screen.call_after_refresh(_take_picture, screen, path, say)
    except (InputError, OSError, ValueError) as error:  # a name with NUL is a ValueError
        prompt.complain(str(error))
        return
    prompt.accept(typed)


async def _write_many(
    screen: Screen[Any], records: Callable[[], list[dict[str, Value]]], path: Path, say: Callable[[str, str], object]
) -> None:
    """Write rows in a thread that a quit waits for."""
    try:
        written = await asyncio.to_thread(lambda: export_records(_shown(screen, records()), path))
    except InputError as error:
        say("refusal", str(error))
    else:
        say("done", written_sentence(written.rows, written.changed_cells, path))


def _shown(screen: Screen[Any], records: list[dict[str, Value]]) -> list[dict[str, Value]]:
    return [
        {name: without_secret(screen.app, value) if isinstance(value, str) else value for name, value in record.items()}
        for record in records
    ]


def _take_picture(screen: Screen[Any], path: Path, say: Callable[[str, str], object]) -> None:
    screen._refresh_layout()  # the prompt is closed, and may be arranged still
    picture = picture_of(screen.app)
    data = pixels(picture) if path.suffix.lower() == PIXELS else picture.encode()
    try:
        saved(path, lambda file: file.write(data))
    except InputError as error:
        say("refusal", str(error))
    else:
        say("done", f"the screen is written to {safe_name(str(path))}")


def written_sentence(rows: int, changed_cells: int, path: Path) -> str:
    """Say what was written, and what was changed in it."""
    sentence = f"{counted(rows, 'row')} written to {safe_name(str(path))}, with this filter and in this order."
    if not changed_cells:
        return sentence
    cells = counted(changed_cells, "cell")
    return f"{sentence} {cells} that a spreadsheet would take for a formula or not show got a ' before, or escapes."


def as_text(record: Mapping[str, Value]) -> str:
    """A row as text to paste: names and values, separated by tabs, each pair on a line of its own, nothing hidden.

    >>> as_text({"name": "a", "active": 3, "ring": 0.25})
    'name\\ta\\nactive\\t3\\nring\\t0.25'
    """
    return "\n".join(f"{name}\t{'' if value is None else visible(str(value))}" for name, value in record.items())
