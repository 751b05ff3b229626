"""Make the README's pictures anew from the app itself, by playing the shipped demo scripts.

Run: python -m tests.pictures FOLDER (default docs/pictures)
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.cluster.timeline import Timeline
from engine.scenarios.script import shipped_script, start_of
from tui.app import RingsideApp
from tui.screens.common_screen import CommonScreen


@dataclass(frozen=True, slots=True)
class Picture:
    """A moment of a shipped script: the simulated time to play to, and the keys to press there."""

    name: str
    script: str
    at_seconds: float
    keys: tuple[str, ...] = ()


SIZE: Final = (120, 40)
PICTURES: Final = (
    Picture("flag-off", "pip392", 8),
    Picture("flag-on", "pip392", 20),
    Picture("split", "flow-split", 2, ("s", "down", "down", "down")),
    Picture("keys", "keys-blocked", 15),
    Picture("producers", "producers-lazy", 60),
    Picture("bundles", "flow-split", 2, ("b",)),
)


async def draw(picture: Picture) -> str:
    """The picture as SVG. Nothing in it depends on the clock, so the same code draws the same bytes."""
    script = shipped_script(picture.script)
    opened = start_of(script)
    app = RingsideApp(
        Timeline.start(opened.state, opened.seed, opened.source), animate=False, depth="truecolor", script=script
    )
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, CommonScreen)
        screen.play_on(picture.at_seconds)
        # A panel that comes into view writes once it knows its width, so it takes two rounds.
        await pilot.pause()
        await pilot.pause()
        for key in picture.keys:
            await pilot.press(key)
            await pilot.pause()
        return app.export_screenshot(title="ringside")


def main(folder: Path) -> None:
    """Write every picture into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        path = folder / f"{picture.name}.svg"
        path.write_text(asyncio.run(draw(picture)), encoding="utf-8")
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
