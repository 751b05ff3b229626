"""All keys of all screens, so that nobody's own key takes the place of one."""

from __future__ import annotations

from itertools import chain

from tui.app import NEWEST, RingsideApp
from tui.brokers.bindings import BINDINGS as OF_BROKERS
from tui.bundles.bindings import BINDINGS as OF_BUNDLES
from tui.failover.bindings import BINDINGS as OF_FAILOVER
from tui.fleet.bindings import BINDINGS as OF_FLEET
from tui.keys.bindings import BINDINGS as OF_KEYS
from tui.kit.bindings import keys_in_use
from tui.kit.line_table import RowsTable
from tui.producers.bindings import BINDINGS as OF_PRODUCERS
from tui.reported.screen import BINDINGS as OF_REPORTED


def keys_of_screens() -> dict[str, str]:
    """The names of the keys with what they do, on the first screen that has them."""
    every = chain(
        RingsideApp.BINDINGS, [NEWEST], OF_FAILOVER, OF_KEYS, OF_PRODUCERS, OF_REPORTED, OF_BUNDLES, OF_BROKERS,
        OF_FLEET, RowsTable.BINDINGS, *(each.__dict__.get("BINDINGS", ()) for each in RowsTable.__mro__[1:]),
    )  # fmt: skip
    return keys_in_use(every) | {RingsideApp.COMMAND_PALETTE_BINDING: "All commands by name"}
