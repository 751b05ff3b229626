"""The status line of a Key_Shared subscription, and the panel that compares the observed shares with chance."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.reactive import reactive
from textual.strip import Strip

from engine.text import counted
from engine.views.keys.model import KeysStatus, LuckView
from tui.drawing.bars import LuckPicture, draw_luck
from tui.keys.words import luck_numbers, luck_reason, luck_title, mode_parts
from tui.kit.line_widget import FittedPanel, LinePanel
from tui.kit.plain_text import PlainStatic, plain, set_title
from tui.kit.status_line import GAP, KEPT, Part, Ranked, fitted_parts, place_among, time_and_source
from tui.kit.wording import safe_name, shorten_middle


class LuckAxis(LinePanel):
    """The scale: one line, drawn when asked for."""

    DEFAULT_CSS = """
    LuckAxis { height: 1; width: 1fr; }
    """

    picture: reactive[LuckPicture | None] = reactive(None)
    """What is drawn; None while there is nothing to judge."""

    def watch_picture(self) -> None:
        self.forget()

    def draw(self, width: int, height: int) -> list[Strip]:
        return (
            [] if self.picture is None else [draw_luck(self.picture, width, self.colours, ascii_only=self.ascii_only)]
        )


class LuckPanel(FittedPanel, VerticalScroll):
    """Numbers first, then the scale, then why."""

    DEFAULT_CSS = """
    LuckPanel { height: 5; padding: 0 1; scrollbar-size-vertical: 1; }
    LuckPanel Static { height: auto; }
    """

    luck: reactive[LuckView | None] = reactive(None)

    def compose(self) -> ComposeResult:
        yield PlainStatic(classes="numbers")
        yield LuckAxis(ascii_only=self.ascii_only)
        yield PlainStatic(classes="reason")

    def watch_luck(self) -> None:
        self.write_again()

    def write(self) -> None:
        luck, width = self.luck, self.scrollable_content_region.width
        if luck is None:
            return
        set_title(self, luck_title(luck))
        texts = luck_numbers(luck)
        numbers = next((text for text in texts if len(text) <= width), texts[-1])
        judged = luck.expected_max > 0
        self.query_one(".numbers", PlainStatic).update(plain(numbers, "$foreground bold" if judged else "$dim"))
        self.query_one(".reason", PlainStatic).update(plain(luck_reason(luck) if judged else "", "$dim"))
        axis = self.query_one(LuckAxis)
        axis.colours = self.colours
        axis.picture = (
            LuckPicture(luck.observed_max, luck.expected_max, luck.low_max, luck.high_max, luck.keys)
            if judged
            else None
        )


ROOMY_CELLS = 90
"""Below this width the mode has fewer words."""


def keys_status_parts(status: KeysStatus, saved: str, width: int, title: str = "") -> list[Part]:
    """Text and style of each part that fits ``width`` cells; the name of the mode is always one of them."""
    return fitted_parts(lambda cells: _parts(status, saved, cells, width, title), width)


def partition_part(status: KeysStatus) -> str:
    """How many partitions there are, and which one is shown."""
    if status.partition < 0:
        differ = " that differ" if status.drawn_partition >= 0 else ""
        return f"{counted(status.partitions, 'partition')}{differ}"
    return f"partition {status.partition} of {status.partitions:,}"


def _parts(status: KeysStatus, saved: str, name_cells: int, width: int, title: str) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    words = mode_parts(status)
    mode = words[0] if width >= ROOMY_CELLS else words[-1]
    several = ""
    if status.subscription in status.subscriptions:
        several = place_among(status.subscriptions.index(status.subscription), len(status.subscriptions))
    order = status.order_rule.partition(":")[0]
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(title or safe_name(status.subscription), name_cells)}", "bold"),
        (10, " (Key_Shared)", "$dim"),
        (4, several, "$dim"),
        (0, f"{GAP}{mode}", "$warn bold" if status.client_side else "$good bold"),
        (5, f": {status.form}", "$warn" if status.client_side else "$good"),
        (1, f"{GAP}{partition_part(status)}" if status.partitions else "", "$accent bold"),
        (9, f"{GAP}{order}", "$dim"),
        *time_and_source(status, saved),
    ]
    return [part for part in parts if part[1]]
