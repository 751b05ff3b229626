"""Pictures of what an app shows now, as SVG or in pixels."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from textual._compositor import LayoutUpdate
from textual.app import App

from engine.errors import InputError
from tui.drawing.film import FONTS, Film, Frame, still

PIXELS_PER_UNIT: Final = 1.5
"""How large a picture in pixels is, so that letters are sharp."""


def frame_of(app: App[Any], at_seconds: float = 0.0) -> Frame:
    """All that is on the terminal, with the screens that a dialog leaves visible."""
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert isinstance(update, LayoutUpdate)
    return Frame(at_seconds, tuple(tuple(segment for strip in row for segment in strip) for row in update.strips))


def film_of_frames(app: App[Any], title: str, frames: tuple[Frame, ...], end_seconds: float) -> Film:
    """Frames of this app, on its ground."""
    ground = app.screen.styles.background.rich_color.get_truecolor().hex
    return Film(title, app.size.width, frames, end_seconds, ground)


def picture_of(app: App[Any]) -> str:
    """What an app shows, as SVG. O(cells)."""
    return still(film_of_frames(app, "ringside", (frame_of(app),), 1.0))


def pixels(picture: str) -> bytes:
    """A picture as PNG. Raises ``InputError`` where the library that draws it is not installed."""
    return bytes(pixel_drawer().svg2png(bytestring=picture.replace(FONTS, "monospace").encode(), scale=PIXELS_PER_UNIT))


def pixel_drawer() -> Any:
    """The library that draws pixels. Raises ``InputError`` where it is not installed."""
    try:
        return import_module("cairosvg")
    except (ImportError, OSError) as error:  # OSError: the library that it stands on is missing
        raise InputError(
            "PNG and GIF need cairosvg and the library cairo (pip install '.[pictures]' in the checkout);"
            " .svg needs nothing"
        ) from error
