"""The line at the top of a Key_Shared subscription: mode and form first, then order, release, step and source."""

from __future__ import annotations

from engine.views.keys.model import KeysStatus
from tui.keys.words import mode_parts
from tui.kit.status_line import GAP, KEPT, Part, Ranked, RankedLine, fitted_parts, place_among, time_and_source
from tui.kit.wording import namespace_suffix, safe_name, shorten_middle

ROOMY_CELLS = 90
"""Below this width the mode has fewer words."""


class KeysStatusLine(RankedLine[KeysStatus]):
    """The status of this kind of screen."""

    def parts(self, status: KeysStatus, width: int) -> list[Part]:
        return keys_status_parts(status, self.saved, width)


def keys_status_parts(status: KeysStatus, saved: str, width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells; the mode by its name always stands."""
    return fitted_parts(lambda cells: _parts(status, saved, cells, width), width)


def _parts(status: KeysStatus, saved: str, name_cells: int, width: int) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    words = mode_parts(status)
    mode = words[0] if width >= ROOMY_CELLS else words[-1]
    several = ""
    if status.subscription in status.subscriptions:
        several = place_among(status.subscriptions.index(status.subscription), len(status.subscriptions))
    order = status.order_rule.partition(":")[0]
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(safe_name(status.subscription), name_cells)}", "bold"),
        (10, " (Key_Shared)", "$dim"),
        (4, namespace_suffix(status.subscription, status.namespace, status.subscriptions), "$dim"),
        (4, several, "$dim"),
        (0, f"{GAP}{mode}", "$warn bold" if status.client_side else "$good bold"),
        (5, f": {status.form}", "$warn" if status.client_side else "$good"),
        (9, f"{GAP}{order}", "$dim"),
        *time_and_source(status, saved),
    ]
    return [part for part in parts if part[1]]
