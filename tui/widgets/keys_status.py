"""The line at the top of a Key_Shared subscription: mode and form first, then order, release, step and source."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from engine.views.keys_model import KeysStatus
from tui.keys_words import mode_parts
from tui.ranked import KEPT, Part, Ranked, fitted_parts
from tui.wording import NOT_SAVED, not_saved, safe_name, saved_text, shorten_middle

GAP = "  "
ROOMY_CELLS = 90
"""Below this width the mode is told in fewer words."""


class KeysStatusLine(Widget):
    """One line; what does not fit is left out, the least important first."""

    DEFAULT_CSS = """
    KeysStatusLine { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    status: reactive[KeysStatus | None] = reactive(None)
    """What is told."""
    saved: reactive[str] = reactive("")
    """Where the steps are kept, in words; "" when nothing keeps them."""

    def render(self) -> Content:
        if self.status is None:
            return Content("")
        return Content.assemble(*keys_status_parts(self.status, self.saved, self.size.width))


def keys_status_parts(status: KeysStatus, saved: str, width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells; the mode by its name always stands."""
    return fitted_parts(lambda cells: _parts(status, saved, cells, width), width)


def _parts(status: KeysStatus, saved: str, name_cells: int, width: int) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    words = mode_parts(status)
    mode = words[0] if width >= ROOMY_CELLS else words[-1]
    several = ""
    if len(status.subscriptions) > 1 and status.subscription in status.subscriptions:
        several = f" [{status.subscriptions.index(status.subscription) + 1}/{len(status.subscriptions)} n p]"
    kept = saved_text(saved, status.steps)
    order = status.order_rule.partition(":")[0]
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(safe_name(status.subscription), name_cells)}", "bold"),
        (10, " (Key_Shared)", "$dim"),
        (4, several, "$dim"),
        (0, f"{GAP}{mode}", "$warn bold" if status.client_side else "$good bold"),
        (5, f": {status.form}", "$warn" if status.client_side else "$good"),
        (9, f"{GAP}{order}", "$dim"),
        (7, f"{GAP}Pulsar {status.release}", ""),
        (2, f"{GAP}step {status.step}/{status.steps}", ""),
        (2, f"{GAP}{status.now_ms:,} ms", ""),
        (12, f"{GAP}seed {status.seed}", "$dim"),
        (8, f"{GAP}{safe_name(status.source)}" if status.source else "", "$dim"),
        (1, f"{GAP}{NOT_SAVED}", "$bad bold")
        if not_saved(saved)
        else (KEPT if kept == NOT_SAVED else 11, f"{GAP}{kept}" if kept else "", "$dim"),
    ]
    return [part for part in parts if part[1]]
