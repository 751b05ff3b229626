"""A server that plays what a real broker answered, and what goes wrong between a dashboard and a cluster.

The answers are a dump of a standalone Apache Pulsar 4.2.4 with three consumers of a Failover subscription on six
partitions, three of a Key_Shared one, and three partitions without traffic.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

STANDALONE: Final = Path(__file__).parent / "standalone"
RECORDED_BROKER: Final = "127.0.0.1:53283"
"""The broker's id in the recorded answers; a server puts its own in its place."""
PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Played:
    """One response. ``length`` is what the header says where it is not the truth; ``endless`` repeats the body.

    ``drips_s`` are the seconds between two bytes of the body, ``informs`` are answers of the kind 1xx before it, which
    also come with that pause.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    endless: int = 0
    hangs: bool = False
    drips_s: float = 0.0
    informs: int = 0


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]


Fault = Callable[[ReceivedRequest], Played | None]
"""What a fault makes of a request; None for "not mine"."""


def recorded(folder: Path = STANDALONE) -> dict[str, bytes]:
    """The answers of a dump's moment by the paths of their requests, decoded."""
    result = {}
    for file in folder.rglob("*.json"):
        path = file.relative_to(folder).as_posix().removesuffix(".json")
        result["/" + unquote(path.replace("@", "?", 1))] = file.read_bytes()
    return result


def failing(pattern: str, played: Played, times: int = -1) -> Fault:
    """Play this for requests whose path has the pattern, so many times, for ever without a number."""
    expected = re.compile(pattern)
    left = times

    def fault(request: ReceivedRequest) -> Played | None:
        nonlocal left
        if left == 0 or expected.search(request.path) is None:
            return None
        left -= 1
        return played

    return fault


def status(code: int, reason: str = "", **headers: str) -> Played:
    """An error as brokers print it."""
    body = json.dumps({"reason": reason}).encode() if reason else b""
    return Played(body, code, {name.replace("_", "-"): text for name, text in headers.items()})


class PlayingServer(ThreadingHTTPServer):
    """Plays ``answers``; faults come first. ``requests`` has every one that came, ``sent_bytes`` what went out."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, bytes], faults: tuple[Fault, ...] = (), tls: ssl.SSLContext | None = None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = dict(answers)
        self.faults = faults
        self.requests: list[ReceivedRequest] = []
        self.sent_bytes = 0
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.scheme = "http" if tls is None else "https"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    @property
    def broker(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.broker}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is what some tests are about."""

    def play(self, request: ReceivedRequest) -> Played:
        """The first fault that is about this request, the recorded answer, or 404 as a broker says it."""
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                played = fault(request)
                if played is not None:
                    return played
        path = unquote(request.path.replace(self.broker, RECORDED_BROKER)).replace(self.broker, RECORDED_BROKER)
        answer = self.answers.get(path)
        if answer is None:
            return status(404, f"nothing is recorded for {path}")
        return Played(answer.replace(RECORDED_BROKER.encode(), self.broker.encode()))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: a client would wait 40 ms for the second one
    server: PlayingServer

    def do_GET(self) -> None:
        played = self.server.play(ReceivedRequest(self.command, self.path, dict(self.headers)))
        if played.hangs:
            self.server.over.wait()
            self.close_connection = True
            return
        for _ in range(played.informs):
            self.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n")
            if self.server.over.wait(played.drips_s):
                return
        size = len(played.body) * max(1, played.endless)
        self.send_response(played.status)
        for name, text in played.headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(size if played.length is None else played.length))
        self.end_headers()
        for _ in range(max(1, played.endless)):
            for piece in played.body if played.drips_s else (played.body,):
                self.wfile.write(bytes([piece]) if isinstance(piece, int) else piece)
                if played.drips_s and self.server.over.wait(played.drips_s):
                    return
            self.server.sent_bytes += len(played.body)
        self.close_connection = played.length is not None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it overrides
        """Nothing: what was asked is in ``asked``."""


@contextmanager
def playing(
    *faults: Fault, answers: Mapping[str, bytes] | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[PlayingServer]:
    """A server on a free port of this machine, ended for good afterwards."""
    server = PlayingServer(recorded() if answers is None else answers, faults, tls)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
