"""Readings of a playing server, with a clock that waits for nobody."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.playing.clock import CountingClock
from tests.playing.server import PlayingServer
from tui.cli.commands import record
from tui.sources.cluster.access import Access
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.outcomes import Answer, Gap
from tui.sources.cluster.pace import Clock, Limits
from tui.sources.cluster.reader import read_cluster
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.scope import Scope

Read = Callable[..., ClusterReading]
Get = Callable[..., Answer | Gap]


@pytest.fixture(autouse=True)
def virtual_time() -> None:
    """Here requests go over real sockets to another thread, so the loop's clock is the real one."""


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands: no pause between requests, no waiting between dumps, and no settings of who runs the tests."""

    async def passed(self: Clock, seconds: float) -> None:
        return None

    monkeypatch.setattr(Clock, "sleep", passed)
    monkeypatch.setattr(record.time, "sleep", lambda seconds: None)
    for name in ("RINGSIDE_TOKEN", "PULSAR_CLIENT_CONF"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> CountingClock:
    return CountingClock()


@pytest.fixture
def read(clock: CountingClock) -> Read:
    """Read what a server plays, once."""

    def reading(
        server: PlayingServer, scope: Scope | None = None, access: Access | None = None, **limits: float
    ) -> ClusterReading:
        async def run() -> ClusterReading:
            given = replace(Limits(), **limits)  # type: ignore[arg-type]
            async with AdminClient(access or Access(server.url), given, clock=clock, chance=random.Random(1)) as client:
                return await read_cluster(client, scope)

        return asyncio.run(run())

    return reading


@pytest.fixture
def get(clock: CountingClock) -> Get:
    """Ask a server for one path."""

    def getting(
        server: PlayingServer,
        path: str,
        access: Access | None = None,
        trusts: tuple[str, ...] = (),
        loads: bool = False,
        **limits: float,
    ) -> Answer | Gap:
        async def run() -> Answer | Gap:
            given = replace(Limits(), **limits)  # type: ignore[arg-type]
            async with AdminClient(access or Access(server.url), given, clock=clock, chance=random.Random(1)) as client:
                client.trust(trusts)
                return await client.get(path, loads=loads)

        return asyncio.run(run())

    return getting
