"""One reading from start to end, for callers that have no event loop: the command line, and workers of the screen."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tui.sources.cluster.access import Access
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.pace import Clock, Limits
from tui.sources.cluster.reader import Said, read_cluster
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.settings import with_settings

REFRESHED_DETAILS: Final = 10
"""Topics with a backlog of which positions and limits are read at each refresh."""


@dataclass(frozen=True, slots=True)
class Source:
    """A cluster to read from, as the command line names it. ``settings`` overrule what brokers say of theirs."""

    access: Access
    scope: Scope = field(default_factory=Scope)
    limits: Limits = field(default_factory=Limits)
    settings: tuple[tuple[str, str], ...] = ()

    def read(
        self, said: Said | None = None, stop: threading.Event | None = None, clock: Clock | None = None
    ) -> ClusterReading:
        """Read it once. Raises ``ClusterOutOfReachError``; ``stop`` ends it early with what is there until then."""
        return asyncio.run(self._read(said, stop, clock))

    def for_refreshing(self) -> Source:
        """The same, with less to ask for: what is looked at again and again need not say everything each time."""
        return replace(self, scope=replace(self.scope, skips_idle=True, details=REFRESHED_DETAILS))

    async def _read(self, said: Said | None, stop: threading.Event | None, clock: Clock | None) -> ClusterReading:
        asyncio.get_running_loop().set_exception_handler(_tell_of_errors)
        async with AdminClient(self.access, self.limits, clock=clock, stop=stop) as client:
            reading = await read_cluster(client, self.scope, said)
        return with_settings(reading, self.settings)


def _tell_of_errors(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Leave out ctrl+c and the like: the caller gets it, so that a task in which it came has nothing more to tell."""
    error = context.get("exception")
    if error is None or isinstance(error, Exception):
        loop.default_exception_handler(context)
