"""How much is asked of a cluster, and how fast: limits, the clock, waiting between tries."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

MAX_ANSWER_BYTES: Final = 100 * 10**6


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout_s`` is for one silence, ``deadline_s`` for a whole answer; ``rate`` is in requests a second."""

    at_once: int = 8
    rate: float = 200.0
    timeout_s: float = 10.0
    deadline_s: float = 120.0
    tries: int = 3
    first_wait_s: float = 0.25
    longest_wait_s: float = 20.0
    max_answer_bytes: int = MAX_ANSWER_BYTES
    max_total_bytes: int = 2 * 10**9
    redirects: int = 5


class Stop(threading.Event):
    """Ends a reading from another thread: nothing more is asked, and what is under way is given up."""

    def __init__(self) -> None:
        super().__init__()
        self._give_up: Callable[[], object] | None = None

    def call_when_set(self, give_up: Callable[[], object]) -> None:
        """Have this called, in the thread that stops the reading."""
        self._give_up = give_up

    def set(self) -> None:
        super().set()
        if self._give_up is not None:
            self._give_up()


class Clock:
    """The real time; a test has another."""

    def now_s(self) -> float:
        """Seconds that only ever grow."""
        return time.monotonic()

    def utc_ms(self) -> int:
        """Epoch milliseconds."""
        return time.time_ns() // 1_000_000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True)
class Pace:
    """Spreads requests evenly, and holds them back for as long as the cluster asks for."""

    limits: Limits
    clock: Clock
    _next_s: float = field(default=0.0)

    async def turn(self) -> None:
        """Wait for the next turn."""
        now = self.clock.now_s()
        at = max(now, self._next_s)
        self._next_s = at + 1 / self.limits.rate
        if at > now:
            await self.clock.sleep(at - now)

    def not_before(self, seconds: float) -> None:
        """Hold requests back for so long."""
        self._next_s = max(self._next_s, self.clock.now_s() + seconds)


def wait_s(attempt: int, limits: Limits, chance: random.Random) -> float:
    """How long to wait before the next try: at random up to a bound that doubles, so that clients spread out.

    >>> 0 <= wait_s(3, Limits(first_wait_s=0.25), random.Random(1)) <= 2.0
    True
    """
    return chance.uniform(0, min(limits.longest_wait_s, limits.first_wait_s * float(2**attempt)))


def retry_after_s(text: str | None, utc_ms: int) -> float | None:
    """The seconds of a ``Retry-After`` header, a number or a date; None for neither.

    >>> retry_after_s("7", 0), retry_after_s("Thu, 01 Jan 1970 00:00:09 GMT", 4000), retry_after_s("soon", 0)
    (7.0, 5.0, None)
    """
    if text is None:
        return None
    text = text.strip()
    if text.isdecimal() and text.isascii():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return max(0.0, (at - datetime.fromtimestamp(utc_ms / 1000, UTC)).total_seconds())
