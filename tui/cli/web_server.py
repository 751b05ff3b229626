"""The dashboard in browsers: a process of its own for each visitor, which textual-serve starts and paints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

from tui.cli.addresses import is_loopback
from tui.sources.cluster.addresses import host_in

MOST_VISITORS: Final = 16
"""Each is a process of some 100 MB."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DashboardServer(Server):
    """Serves what ``command``, a line for a shell, shows.

    Where only this machine can connect, a request under another name is refused: a web page may have its own name lead
    here. So is one that a page of another site makes.
    """

    def __init__(self, command: str, host: str, port: int, title: str, public_url: str | None) -> None:
        super().__init__(command, host=host, port=port, title=title, public_url=public_url)
        self._is_public_url_given = public_url is not None
        self._visitors = 0

    def initialize_logging(self) -> None:
        """Leave the log of the process as it is."""

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the command does."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()

        @web.middleware
        async def refuse_strangers(request: web.Request, handler: _Handler) -> web.StreamResponse:
            origin = request.headers.get("Origin")
            from_elsewhere = origin is not None and urlsplit(origin).netloc not in (request.host, self._public_host)
            if from_elsewhere or not self._answers_for(request.host):
                raise web.HTTPForbidden(text="this dashboard has another address\n")
            return await handler(request)

        app.middlewares.append(refuse_strangers)
        return app

    def _answers_for(self, host: str) -> bool:
        return not is_loopback(self.host) or is_loopback(host_in(host)) or host == self._public_host

    @property
    def _public_host(self) -> str:
        return urlsplit(self.public_url).netloc if self._is_public_url_given else ""

    async def handle_index(self, request: web.Request) -> Any:
        """The page; its addresses are those under which it was asked for, unless they were given."""
        if not self._is_public_url_given:
            self.public_url = f"http://{request.host}"  # nothing else runs until the page is made
        return await super().handle_index(request)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One visitor."""
        if self._visitors >= MOST_VISITORS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_VISITORS} visitors are here already\n")
        self._visitors += 1
        try:
            return await super().handle_websocket(request)
        finally:
            self._visitors -= 1
