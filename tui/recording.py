"""A demo played without a terminal, as a film: every moment of its script, at a reader's pace."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.disk import saved
from engine.errors import InputError
from tui.app import RingsideApp
from tui.drawing.film import Film, Frame, asciicast, moving, still
from tui.kit.layouts import MIN_HEIGHT, MIN_WIDTH
from tui.kit.pictures import film_of_frames, frame_of, pixel_drawer, pixels
from tui.kit.screen import DashboardScreen

if TYPE_CHECKING:
    from tui.kit.session import Session

MOST_SECONDS: Final = 5.0
"""A moment is seen so long at most."""
LAST_SECONDS: Final = 6.0
FORMS: Final = (".svg", ".cast", ".gif")


async def film_of(session: Session, columns: int, rows: int, *, theme: str = "dark", mono: bool = False) -> Film:
    """Play the session's script on the screen that it is written for. O(moments x cells)."""
    assert session.script is not None
    app = RingsideApp(session, animate=False, theme=theme, mono=mono, depth=None if mono else "truecolor")
    times = sorted({line.at_seconds for line in session.script.lines})
    frames: list[Frame] = []
    shown_s = 0.0
    async with app.run_test(size=(columns, rows)) as pilot:
        await pilot.pause()
        for before, now in pairwise([0.0, *times]):
            # A preview may be in front of it.
            screen = next((one for one in reversed(app.screen_stack) if isinstance(one, DashboardScreen)), None)
            if now > before and screen is not None:
                screen.playback.play_on(now - before)
            # A panel that comes into view writes once it knows its width, so it takes two rounds.
            await pilot.pause()
            await pilot.pause()
            shown_s += min(now - before, MOST_SECONDS)
            frame = frame_of(app, shown_s)
            if not frames or frame.rows != frames[-1].rows:
                frames.append(frame)
        return film_of_frames(app, session.script.title, tuple(frames), shown_s + LAST_SECONDS)


def check_film(path: Path, columns: int, rows: int) -> None:
    """Raises ``InputError`` where no film can be made: another ending, a library that is missing, too few cells."""
    if columns < MIN_WIDTH or rows < MIN_HEIGHT:
        raise InputError(f"a film has {MIN_WIDTH} columns and {MIN_HEIGHT} rows or more, not {columns} and {rows}")
    if path.exists():
        raise InputError(f"{path} is there already; choose another name")
    if path.suffix.lower() not in FORMS:
        raise InputError(f"{path}: a film ends in {', '.join(FORMS)}")
    if path.suffix.lower() == ".gif":
        pixel_drawer()


def write_film(film: Film, path: Path) -> None:
    """Write a film in the form that the ending of the path names."""
    match path.suffix.lower():
        case ".gif":
            data = _gif(film)
        case ".cast":
            data = asciicast(film).encode()
        case _:
            data = moving(film).encode()
    saved(path, lambda file: file.write(data))


def _gif(film: Film) -> bytes:
    """The frames in 256 colours each. Pillow comes with the library that draws pixels."""
    image = import_module("PIL.Image")

    images = [image.open(BytesIO(pixels(still(film, at)))).convert("RGB") for at in range(len(film.frames))]
    milliseconds = [round((end - begin) * film.end_seconds * 1000) for begin, end in film.spans()]
    written = BytesIO()
    images[0].save(
        written, "GIF", save_all=True, append_images=images[1:], duration=milliseconds, loop=0, optimize=True
    )
    return written.getvalue()
