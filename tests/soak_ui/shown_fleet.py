"""What the terminal shows of a fleet's lists, beside the tables as pyarrow reads them."""

from __future__ import annotations

import re
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final

from tests import fleet_results
from tests.soak_ui.reading import lines_of, title_of
from tests.soak_ui.terminal import Picture
from tui.drawing.glyphs import ascii_text
from tui.fleet.screen import FleetScreen
from tui.kit.line_table import LineTable
from tui.kit.wording import safe_name

_COUNT: Final = re.compile(r"(?:([\d,]+|none) of )?([\d,]+) (?:subscription|namespace|finding|record|row|answer)")
_NAMED: Final = {"worst_subscriptions": ("namespace", "subscription"), "worst_namespaces": ("namespace",)}
"""Lists whose rows have a name, and the columns that it is in."""
NARROW: Final = 60
NARROWEST: Final = 56
"""In a table of fewer cells, which only the panel of keys beside it makes, not every name is shown."""


def fleet_differences(screen: FleetScreen, picture: Picture, folder: Path) -> str:
    """The first thing that the terminal shows and that is not so, "" for none."""
    place = screen.place
    spot = place.spots[place.shown]
    if place.shown not in _NAMED or picture.width < NARROW:
        return ""
    rows = [row for row in _rows(folder, place.shown) if _fits(row, spot.filter_text, place.shown)]
    table = screen.query_one("#rows", LineTable)
    title = title_of(screen, picture, table)
    match = _COUNT.search(title)
    plain = not re.search("[<>=]", spot.filter_text)
    if match is not None and plain:
        some = match.group(1) or match.group(2)
        if (0 if some == "none" else int(some.replace(",", ""))) != len(rows):
            return f"FleetScreen title: {title.strip()!r} for {len(rows)} rows with the filter {spot.filter_text!r}"
    return _rows_differ(screen, picture, table, rows if plain else _rows(folder, place.shown), ordered=plain)


def _rows_differ(
    screen: FleetScreen, picture: Picture, table: LineTable, rows: list[dict[str, Any]], *, ordered: bool
) -> str:
    """Every line is a row of the table; where it is sorted by a number, they go up or down."""
    spot = screen.place.spots[screen.place.shown]
    columns = _NAMED[screen.place.shown]
    names = {tuple(row[column] for column in columns): row for row in rows}
    listing = screen.listing
    sorted_values: list[float] = []
    for at, line in zip(count(int(table.scroll_offset.y)), lines_of(screen, picture, table)[1:], strict=False):
        if at >= len(listing):
            continue
        row = listing.row(at)
        key = tuple(row[column] for column in columns)
        if key not in names:
            return f"FleetScreen rows: {key} is no row of the table with the filter {spot.filter_text!r}"
        for name in key:
            result = ascii_text(safe_name(name)) if screen._ascii_only else safe_name(name)
            # Beside the panel of keys there is no room for a column that is the same in all rows.
            if result[:4] not in line.text() and table.size.width >= NARROWEST:
                return f"FleetScreen rows: row {at} is {key}, shown {line.text()!r}"
        value = names[key].get(spot.sorted_by)
        if isinstance(value, int | float):
            sorted_values.append(float(value))
    if ordered and any(
        (before < after) if spot.descending else (before > after) for before, after in pairwise(sorted_values)
    ):
        return f"FleetScreen order: by {spot.sorted_by} the lines have {sorted_values}"
    return ""


@cache
def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return fleet_results.rows(folder, name)


def _fits(row: dict[str, Any], text: str, name: str) -> bool:
    """Every word is a part of a name, whatever its case."""
    reported = [str(row[column]).casefold() for column in _NAMED[name]]
    return all(any(word.casefold() in each for each in reported) for word in text.split())
