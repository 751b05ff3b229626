"""What the screens of a subscription and the picture before them have in common: frame, titles, keys, arrangement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding
from textual.screen import Screen

from tui.kit.footer import KeyHint
from tui.kit.layouts import Layout, layout_for, too_small
from tui.kit.plain_text import PlainStatic, set_title

PANEL_TITLES: Final = {"ring": "1 hash ring", "consumers": "2 consumers", "bundles": "3 bundles", "events": "4 events"}


class FramedScreen(Screen[None]):
    """Knows how its panels are arranged at a size; the stylesheet does the rest. Light: no engine, no numpy."""

    panel_titles: ClassVar[Mapping[str, str]] = PANEL_TITLES
    """What stands in the frame of each panel, by its id."""

    def arrange_panels(self, event: events.Resize) -> None:
        """Choose the arrangement for this size; too small is told in words."""
        width, height = event.size
        chosen = layout_for(width, height)
        # All at once: each change of classes styles every widget of the screen anew.
        self.update_classes({layout.value: layout is chosen for layout in Layout})
        self.query_one("#too-small", PlainStatic).update(too_small(width, height))

    def name_panels(self) -> None:
        """Write the titles into the frames."""
        for panel, title in self.panel_titles.items():
            set_title(self.query_one(f"#{panel}"), title)


def key_hints(bindings: Sequence[Binding]) -> tuple[KeyHint, ...]:
    """The keys for the footer."""
    # Those not meant for a small footer come last: a wide one has room for them.
    ordered = sorted(bindings, key=lambda binding: not binding.show)
    own = [
        KeyHint(binding.key_display or binding.key, binding.description, f"screen.{binding.action}")
        for binding in ordered
    ]
    return (*own, KeyHint("?", "Help", "app.help", always=True), KeyHint("q", "Quit", "app.quit", always=True))
