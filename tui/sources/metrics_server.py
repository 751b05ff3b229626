"""Serves one text at ``/metrics`` on a socket: what was computed last, whoever asks and however often."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from engine.views.metrics import CONTENT_TYPE

PATH: Final = "/metrics"
MOST_AT_ONCE: Final = 16
TIMEOUT_S: Final = 10.0
_ABOUT: Final = b"ringside exporter: the figures are at /metrics\n"


class MetricsServer(ThreadingHTTPServer):
    """``text`` gives what is served now. Raises OSError where the address cannot be had."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int, text: Callable[[], str]) -> None:
        self.text = text
        self._free = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        name = host.decode() if isinstance(host, bytes | bytearray) else host
        return f"http://{f'[{name}]' if ':' in name else name}:{port}{PATH}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve in a thread of its own; of too many at once the last ones are turned away."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up or sends no request is its own concern."""


class _Handler(BaseHTTPRequestHandler):
    timeout = TIMEOUT_S
    server: MetricsServer
    server_version = "ringside"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        if path == PATH:
            status, kind, body = HTTPStatus.OK, CONTENT_TYPE, self.server.text().encode()
        elif path == "/":
            status, kind, body = HTTPStatus.OK, "text/plain; charset=utf-8", _ABOUT
        else:
            status, kind, body = HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", _ABOUT
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method's
        """Nothing is written for a request."""
