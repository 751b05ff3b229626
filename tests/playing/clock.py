"""A clock for readings: nothing sleeps, and what was waited for is counted."""

from __future__ import annotations

import asyncio

from tui.sources.cluster.pace import Clock


class CountingClock(Clock):
    """Time passes only where somebody waits for it."""

    def __init__(self, utc_ms: int = 1_795_427_287_231) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self._utc_ms = utc_ms

    def now_s(self) -> float:
        return self.now

    def utc_ms(self) -> int:
        return self._utc_ms + round(self.now * 1000)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
