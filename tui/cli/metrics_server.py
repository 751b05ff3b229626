"""Serves the text of metrics on a socket: a few clients at a time, each for a limited time, and nothing else.

``prometheus_client`` has a server too. It starts a thread for every client, however many there are, waits for their
requests without an end, and answers whatever ``Host`` is asked for.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tui.cli.addresses import is_loopback
from tui.sources.cluster.addresses import host_in

PATH: Final = "/metrics"
MOST_AT_ONCE: Final = 16
TIMEOUT_S: Final = 10.0
"""For a whole request and its answer."""
_UNDISTURBED_S: Final = 1.0
"""So long a client may take for its request even where others wait."""
_TEXT: Final = "text/plain; charset=utf-8"
_ABOUT: Final = b"ringside exporter: the figures are at /metrics\n"


class MetricsServer(ThreadingHTTPServer):
    """``text`` returns what is served now, as ``content_type``. Raises OSError where the address cannot be used."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 4 * MOST_AT_ONCE

    def __init__(self, host: str, port: int, text: Callable[[], str], content_type: str) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.text = text
        self.content_type = content_type
        self.is_only_here = is_loopback(host)
        self._lock = threading.Lock()
        self._began_s: dict[socket.socket, float] = {}
        """Open connections in the order in which they came."""
        self._asked: set[socket.socket] = set()
        """Those whose request is there."""
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        name = host.decode() if isinstance(host, bytes | bytearray) else host
        return f"http://{f'[{name}]' if ':' in name else name}:{port}{PATH}"

    def answers_for(self, host: str) -> bool:
        """Whether a request for a host is meant for this server: a web page may have its own name lead here."""
        return not self.is_only_here or is_loopback(host_in(host))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve in a thread of its own. Where there are many, those that take long to ask give way, or this one."""
        now_s = time.monotonic()
        with self._lock:
            if len(self._began_s) >= MOST_AT_ONCE:
                self._hang_up_before(now_s - _UNDISTURBED_S, but=self._asked)
            if len(self._began_s) < MOST_AT_ONCE:
                self._began_s[request] = now_s
        if request in self._began_s:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def has_asked(self, request: socket.socket) -> None:
        """Note that the request of a connection is there."""
        with self._lock:
            self._asked.add(request)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._began_s.pop(request, None)
            self._asked.discard(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Hang up on clients that take too long, however little they send at a time."""
        with self._lock:
            self._hang_up_before(time.monotonic() - TIMEOUT_S)

    def _hang_up_before(self, until_s: float, but: Collection[socket.socket] = ()) -> None:
        """End the connections that began by then, and with them what their threads wait for."""
        for request in [one for one, began_s in self._began_s.items() if began_s <= until_s and one not in but]:
            del self._began_s[request]
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up or send no request."""


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
        self.server.has_asked(self.connection)
        path = self.path.partition("?")[0]
        kind, body = _TEXT, _ABOUT
        if not all(map(self.server.answers_for, self.headers.get_all("Host", []))):
            status = HTTPStatus.MISDIRECTED_REQUEST
        elif path == PATH:
            status, kind, body = HTTPStatus.OK, self.server.content_type, self.server.text().encode()
        else:
            status = HTTPStatus.OK if path == "/" else HTTPStatus.NOT_FOUND
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method's
        """Nothing is written for a request."""
