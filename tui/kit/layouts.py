"""Which arrangement of a screen suits a terminal size, and how the screen takes it; and which panel has
the focus, or the whole body.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from tui.kit.plain_text import PlainStatic, set_title

MIN_WIDTH: Final = 60
MIN_HEIGHT: Final = 18


class Layout(Enum):
    """The arrangements; the value is the class that the stylesheet knows."""

    TOO_SMALL = "-too-small"
    COMPACT = "-compact"
    MEDIUM = "-medium"
    LARGE = "-large"


def layout_for(width: int, height: int) -> Layout:
    """The arrangement for a terminal of ``width`` x ``height`` characters.

    >>> [layout_for(*size).name for size in ((80, 24), (120, 40), (200, 60), (59, 24))]
    ['COMPACT', 'MEDIUM', 'LARGE', 'TOO_SMALL']
    """
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return Layout.TOO_SMALL
    if width < 100 or height < 32:
        return Layout.COMPACT
    if width < 170 or height < 48:
        return Layout.MEDIUM
    return Layout.LARGE


def too_small(width: int, height: int) -> str:
    """What to do about a terminal that is too small."""
    return (
        f"Ringside needs {MIN_WIDTH}x{MIN_HEIGHT} characters; this terminal has {width}x{height}. "
        "Enlarge it, or press q to quit. ringside --once prints the same facts as text."
    )


def choose_layout(screen: Screen[Any], size: Size) -> None:
    """Give a screen the class of its arrangement. Best before it has widgets: a change styles all of them again."""
    chosen = layout_for(size.width, size.height)
    screen.update_classes({layout.value: layout is chosen for layout in Layout})


def arrange(screen: Screen[Any], size: Size) -> None:
    """Arrange a screen; where the terminal is too small, ``#too-small`` says what to do."""
    choose_layout(screen, size)
    screen.query_one("#too-small", PlainStatic).update(too_small(size.width, size.height))


def show_panels(screen: Screen[Any], classes: Mapping[str, bool]) -> None:
    """Give a screen classes that show and hide panels: only its body is styled again, and painted when arranged."""
    before = screen.classes
    screen.update_classes(classes, update=False)
    if screen.classes != before:
        body = screen.query_one("#body")
        screen.app.stylesheet.update_nodes(body.walk_children(with_self=True), animate=True)
        screen.refresh(layout=True)


def name_panels(screen: Screen[Any], titles: Mapping[str, str]) -> None:
    """Write a title into the frame of each panel, by its id."""
    for panel, title in titles.items():
        set_title(screen.query_one(f"#{panel}"), title)


class Zooming:
    """``zoomed`` is the id of the panel that has the whole body, "" for none.

    ``panels`` are the ids of those that can be zoomed. ``inside`` names the widget that takes the focus of a panel that
    cannot have it itself.
    """

    def __init__(self, screen: Screen[None], panels: tuple[str, ...], inside: Mapping[str, str]) -> None:
        self._screen = screen
        self._panels = panels
        self._inside = inside
        self.zoomed = ""

    def zoom(self, panel: str) -> None:
        """Give the body to one panel, or back to all with ""."""
        self.zoomed = panel
        # All at once: each change of classes styles every widget of the body again.
        classes = {f"-zoom-{other}": other == panel for other in self._panels}
        show_panels(self._screen, {"-zoomed": bool(panel), **classes})

    def toggle(self) -> None:
        """Zoom the panel that has the focus, or give the body back to all."""
        if self.zoomed:
            self.zoom("")
            return
        focused = self._screen.focused
        while focused is not None and focused.id not in (*self._panels, "why"):
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        panel = focused.id or "ring" if focused is not None else "ring"
        self.zoom("explain" if panel == "why" else panel)

    def focus(self, panel: str) -> None:
        """Give a panel the focus; when one is zoomed, or there is no room for this one, it takes the whole body."""
        if self.zoomed and self.zoomed != panel:
            self.zoom(panel)
        target = self._screen.query_one(f"#{self._inside.get(panel, panel)}")
        if not self._screen.query_one(f"#{panel}").display:
            self.zoom(panel)
        target.focus()
