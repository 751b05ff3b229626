"""Print the modules that are loaded at the first paint, then those once the main screen shows the embedded cluster."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING
from unittest import mock

import tui.app
import tui.cli.commands.show
import tui.cli.main
from tui.app import RingsideApp
from tui.cli.options import WhatIf
from tui.cli.screen import Begun
from tui.kit.session import Opening

if TYPE_CHECKING:
    from tui.kit.session import Session


def begin() -> Session:
    from tui.cli.session import session_of

    return session_of(None, WhatIf((), None, (), None))


def show_modules() -> None:
    sys.stdout.write(" ".join(sorted(sys.modules)) + "\n")


class Painted(RingsideApp):
    """Shows the modules when the empty frame is painted."""

    def on_ready(self) -> None:
        show_modules()
        super().on_ready()


async def nothing() -> None:
    """Instead of importing other screens behind the picture."""


async def main() -> None:
    app = Painted(Opening("the embedded cluster", Begun(begin).session), animate=False)
    with mock.patch.object(tui.app, "_import_the_rest", nothing):
        async with app.run_test(size=(120, 40)) as pilot:
            while len(app.screen_stack) == 1 and app.failure is None:
                await pilot.pause()
            await pilot.pause()
            show_modules()


if __name__ == "__main__":
    asyncio.run(main())
