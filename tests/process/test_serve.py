"""``ringside serve``: a page, a dashboard of their own for each visitor, and nothing else that one could reach."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSServerHandshakeError

from engine.errors import InputError
from tests.patience import HANG_S
from tui.cli.commands.serve import shown_words

pytestmark = pytest.mark.xdist_group("process")
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(env: dict[str, str], folder: Path) -> Iterator[str]:
    """The server, from when it accepts connections on; the address of its page."""
    port = free_port()
    program = [
        sys.executable,
        "-m",
        "tui",
        "serve",
        "--listen",
        f"127.0.0.1:{port}",
        "demo",
        "pip392",
        "--no-animation",
    ]
    with subprocess.Popen(program, cwd=folder, env=env, stderr=subprocess.PIPE) as process:
        try:
            while process.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(HANG_S) == 0


class Visitor:
    """One browser, which reads what is painted and types."""

    def __init__(self, stream: ClientWebSocketResponse) -> None:
        self._stream = stream
        self.painted = b""

    async def sees(self, word: str) -> None:
        while word.encode() not in _ESCAPES.sub(b"", self.painted):
            message = await self._stream.receive(HANG_S)
            assert isinstance(message.data, bytes), message
            self.painted += message.data

    async def types(self, text: str) -> None:
        self.painted = b""
        await self._stream.send_json(["stdin", text])


@asynccontextmanager
async def visitor(session: ClientSession, url: str) -> AsyncIterator[Visitor]:
    async with session.ws_connect(f"{url}/ws?width=120&height=40") as stream:
        yield Visitor(stream)


def test_two_visitors_have_dashboards_of_their_own_and_reach_no_file(env: dict[str, str], tmp_path: Path) -> None:
    async def story(url: str) -> None:
        async with ClientSession() as session:
            page = await session.get(url)
            assert page.status == 200 and f"{url.replace('http', 'ws')}/ws" in await page.text()
            async with visitor(session, url) as first, visitor(session, url) as second:
                await first.sees("billing-9")
                await second.sees("billing-9")
                await first.types("c")
                await first.sees("flag on")
                await second.types("x")
                await second.sees("step 1/1")
                assert b"flag on" not in second.painted
                await second.types("e")
                await second.sees("export to")
                await second.types("mine.svg\r")
                await second.sees("nothing is written to files")

    before = set(tmp_path.rglob("*"))
    with serving(env, tmp_path) as url:
        asyncio.run(story(url))
    made = {path.name for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    assert not made, made


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}], ids=["host", "origin"]
)
def test_another_site_gets_nothing(env: dict[str, str], tmp_path: Path, headers: dict[str, str]) -> None:
    async def story(url: str) -> None:
        async with ClientSession(headers=headers) as session:
            assert (await session.get(url)).status == 403
            with pytest.raises(WSServerHandshakeError) as refused:
                await session.ws_connect(f"{url}/ws")
            assert refused.value.status == 403

    with serving(env, tmp_path) as url:
        asyncio.run(story(url))


def test_commands_without_a_screen_are_not_served() -> None:
    assert shown_words(()) == ()
    assert shown_words(("https://broker:8443", "--every", "5s")) == ("live", "https://broker:8443", "--every", "5s")
    for word in ("record", "why", "exporter", "serve", "replay"):
        with pytest.raises(InputError):
            shown_words((word, os.curdir))
