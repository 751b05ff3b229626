"""Print the modules that are loaded once the main screen shows the embedded cluster."""

from __future__ import annotations

import asyncio
import sys

from tui.app import RingsideApp
from tui.cli.options import WhatIf
from tui.cli.screen import Begun
from tui.cli.session import session_of


async def main() -> None:
    session = Begun(lambda: session_of(None, WhatIf((), None, (), None))).session()
    app = RingsideApp(session, animate=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        sys.stdout.write("\n".join(sorted(sys.modules)))


if __name__ == "__main__":
    asyncio.run(main())
