"""The keys of the fleet screen, for its footer and its help."""

from __future__ import annotations

from typing import Any, Final

from textual.app import App

from tui.fleet.columns import LISTS, FleetList
from tui.kit.bindings import EVERYWHERE, TYPED, Binding
from tui.kit.help import Group, KeyHelp, key_groups
from tui.kit.wording import BUSIEST

_TITLES: Final = ", ".join(listed.title for listed in LISTS)
BINDINGS: Final = (
    Binding("enter", "open", "Open", tooltip="Open the row in the simulator; escape comes back"),
    Binding("tab", "next_list(1)", "List", tooltip="The next list"),
    Binding("s", "sort(1)", "Sort", tooltip="Sort by the next column"),
    Binding("right", "sort(1)", "Sort", show=False, tooltip="Sort by the next column"),
    Binding("S,left", "sort(-1)", "Sort back", show=False, tooltip="Sort by the column before"),
    Binding("r", "reverse", "Reverse", tooltip="Reverse the order"),
    Binding("slash", "filter", "Filter", key_display="/", tooltip="Only the rows that fit what is typed"),
    Binding("e", "export", "Export", tooltip="Write the rows, in their order, to a CSV, JSON or Parquet file"),
    TYPED,
    Binding("0", "worst", "Worst first", show=False, tooltip="Back to the order of the result: the worst first"),
    Binding("w", "why", "Why", show=False, tooltip="Where a row is explained"),
    Binding("home", "row(0)", "First", show=False, tooltip="The first row"),
    Binding("end", "row(-1)", "Last", show=False, tooltip="The last row"),
    Binding("escape", "all", "All", show=False, key_display="esc", tooltip="Take the filter away"),
    *(
        Binding(str(digit), f"list({digit - 1})", listed.title, show=False, tooltip=f"The list: {_TITLES}")
        for digit, listed in enumerate(LISTS, 1)
    ),
    Binding("shift+tab", "next_list(-1)", "Previous", show=False, tooltip="Previous list"),
)
MOVING: Final = (
    KeyHelp("up, down, k, j", "move by one row"),
    KeyHelp("pgup, pgdn", "move by a page"),
    KeyHelp("g, G", "to the first row, to the last"),
    KeyHelp("click", "marks a row, on the marked row it opens it"),
)
FILTERING: Final = (
    KeyHelp("orders", "part of a name, whatever its case; several words must all fit"),
    KeyHelp("idle>2", "a heading, > or < or =, and a number"),
    KeyHelp("type=key", "a heading, = and a part of its text"),
)


def help_groups(shown: FleetList, app: App[Any]) -> list[Group]:
    """All keys, and what the columns of a list are."""
    ((_, keys),) = key_groups([("keys", (*BINDINGS, *EVERYWHERE))], app)
    columns = [KeyHelp(column.label, column.about) for column in shown.columns if column.about]
    drawing = (
        KeyHelp("bar", f"{BUSIEST} as a share of the highest in the list: green is even, red from 4 times on"),
        KeyHelp("below", "how the rows spread between the lowest and highest value of the sorted column"),
        KeyHelp("▲", "where the row under the cursor is"),
    )
    return [("keys", keys), ("filter (/)", FILTERING), ("rows", MOVING), ("columns", columns), ("drawing", drawing)]
