"""The tables of a reported subscription: its consumers, and its topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.reported.subscription import SubscriptionRow, TopicRow
from themes.palettes import Palette, hex_colour
from tui.kit.columns import Column, Columns, Lines, NameColumn, Order, Value, fitting, table_lines
from tui.kit.list_panel import RowForm
from tui.kit.reported import BLOCKED_SIGN, REPORTED_ORDER, reported_cell, reported_columns, reported_value, tag_cell
from tui.kit.wording import fit, quantity, safe_name, short_topic

_NAME_CELLS: Final = (9, 14, 40)
_TOPIC_CELLS: Final = (14, 24, 80)
_FROM_ORDER: Final = ("client", "address")


def subscription_columns(rows: Sequence[SubscriptionRow], width: int) -> Columns:
    """The columns for a table ``width`` cells wide: what was reported first, then rate, client and address."""
    longest = max((cell_len(safe_name(row.name)) for row in rows), default=0) + 1
    seen = reported_columns([row.reported for row in rows])
    client = max((len(row.reported.client_version) for row in rows), default=0)
    address = max((len(row.reported.address) for row in rows), default=0)
    return fitting(
        width,
        NameColumn("consumer", min(max(longest, _NAME_CELLS[0]), _NAME_CELLS[2]), _NAME_CELLS[1], _NAME_CELLS[0]),
        [Column("tag", "", max((len(row.tag) for row in rows), default=1) + 2, left=True)],
        [
            *seen.important,
            *seen.others,
            Column("rate", "*out/s", 7),
            *([Column("client", "*client", min(client + 1, 24), left=True)] if client else []),
            *([Column("address", "*address", min(address + 1, 24), left=True)] if address else []),
        ],
        ("tag", "name", "rate", *REPORTED_ORDER, *_FROM_ORDER),
    )


def subscription_value(row: SubscriptionRow, key: str) -> Value:
    """Return what a column is sorted by and exported with."""
    if key in REPORTED_ORDER:
        return reported_value(row.reported, key)
    seen = row.reported
    values: dict[str, Value] = {
        "name": row.name,
        "rate": seen.msgs_per_sec,
        "client": seen.client_version,
        "address": seen.address,
    }
    return values.get(key)


def subscription_lines(rows: Sequence[SubscriptionRow], colours: Palette, _ascii_only: bool, order: Order) -> Lines:
    """Return the table of these consumers."""

    def cell(row: SubscriptionRow, column: Column) -> Text:
        match column.key:
            case "tag":
                return tag_cell(row.tag, row.colour, row.reported, column.width, colours)
            case "name":
                return Text(fit(safe_name(row.name), column.width - 1) + " ", no_wrap=True)
            case "rate":
                return Text(quantity(row.reported.msgs_per_sec).rjust(column.width - 1) + " ", no_wrap=True)
            case "client" | "address":
                text = row.reported.client_version if column.key == "client" else row.reported.address
                shown = fit(safe_name(text) if text else "", column.width - 1)
                return Text(shown + " ", hex_colour(colours.dim), no_wrap=True)
        return reported_cell(row.reported, column, colours, rows)

    return table_lines(rows, subscription_columns, cell, order)


SUBSCRIBED: Final[RowForm[SubscriptionRow]] = RowForm(
    "consumer", lambda row: row.consumer_id, subscription_lines, subscription_value
)


def topic_columns(rows: Sequence[TopicRow], width: int) -> Columns:
    """The columns for a table of topics ``width`` cells wide; backlog and unacknowledged messages are always there."""
    longest = max((cell_len(short_topic(row.name)) for row in rows), default=0) + 1
    return fitting(
        width,
        NameColumn("topic", min(max(longest, _TOPIC_CELLS[0]), _TOPIC_CELLS[2]), _TOPIC_CELLS[1], _TOPIC_CELLS[0]),
        [Column("sign", "", 2, left=True), Column("backlog", "*backlog", 9), Column("unack", "*unacked", 9)],
        [
            *([Column("active", "*active", 8)] if any(row.active >= 0 for row in rows) else []),
            *([Column("replay", "*replay", 8)] if any(row.in_replay for row in rows) else []),
            *([Column("delayed", "*delayed", 9)] if any(row.delayed for row in rows) else []),
            Column("rate", "*out/s", 7),
            Column("consumers", "*consumers", 11),
        ],
        ("sign", "name", "active", "backlog", "unack", "replay", "delayed", "rate", "consumers"),
    )


def topic_value(row: TopicRow, key: str) -> Value:
    """Return what a column is sorted by and exported with."""
    values: dict[str, Value] = {
        "name": row.name,
        "active": row.active if row.active >= 0 else None,
        "backlog": row.backlog,
        "unack": row.unacked,
        "replay": row.in_replay,
        "delayed": row.delayed,
        "rate": row.msgs_per_sec,
        "consumers": row.consumers,
    }
    return values.get(key)


def topic_lines(
    rows: Sequence[TopicRow], consumers: Sequence[SubscriptionRow], colours: Palette, order: Order
) -> Lines:
    """Return the table of these topics; a sign marks those where nobody can be served."""

    def cell(row: TopicRow, column: Column) -> Text:
        bad = f"bold {hex_colour(colours.bad)}"
        match column.key:
            case "sign":
                return Text((BLOCKED_SIGN if row.blocked else "").ljust(column.width), bad, no_wrap=True)
            case "name":
                return Text(fit(short_topic(row.name), column.width - 1) + " ", no_wrap=True)
            case "active":
                tag = consumers[row.active].tag if row.active >= 0 else "-"
                return Text(tag.rjust(column.width - 1) + " ", "bold", no_wrap=True)
        value = topic_value(row, column.key)
        number = max(value, 0) if isinstance(value, int | float) else None
        style = hex_colour(colours.dim) if not number else bad if row.blocked and column.key == "backlog" else ""
        return Text(quantity(number).rjust(column.width - 1) + " ", style, no_wrap=True)

    return table_lines(rows, topic_columns, cell, order)
