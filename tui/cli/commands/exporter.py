"""``exporter``: figures of a running cluster that only the model knows, for a scraper of OpenMetrics."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

import click

from engine.errors import InputError, Rejection, RingsideError, system_reason
from tui.cli.addresses import address_of, is_loopback
from tui.cli.cluster import ClusterChoice, Duration, cluster_options
from tui.cli.exits import FINE
from tui.cli.output import say, say_fault, write_out
from tui.sources.cluster.addresses import host_in

if TYPE_CHECKING:
    from tui.sources.cluster.reading import ClusterReading
    from tui.sources.cluster.source import Source


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


EVERY_S: Final = 30.0
LISTEN: Final = "127.0.0.1:9393"


@click.command("exporter")
@click.argument("url", metavar="URL")
@click.option("--listen", default=LISTEN, metavar="HOST:PORT", show_default=True, help="Where to serve /metrics.")
@click.option("--not-only-here", is_flag=True, help="Let --listen be another address than one of this machine's own.")
@click.option("--every", type=Duration(), default=EVERY_S, metavar="TIME", help="Read again so often.  [default: 30s]")
@click.option("--once", is_flag=True, help="Print the figures of one reading, and serve nothing.")
@cluster_options()
def exporter_command(
    *, url: str, listen: str, not_only_here: bool, every: float, once: bool, cluster: ClusterChoice
) -> int:
    """Read the cluster at URL repeatedly, and serve what only Ringside knows about it at /metrics.

    Evenness and idle consumers of Failover subscriptions, findings by cause, blocked backlogs, draining slots,
    facts on which model and broker disagree, the next split and the next unload; of scalable topics segments that wait,
    idle consumers, scores and the next step. The cluster is only read; a scrape
    returns the last figures and sends the cluster no request.

    Without --not-only-here only this machine can connect: names of subscriptions and bundles are in the figures.

    A cluster that is out of reach is tried again, also at the start; ringside_readings_missed counts it.

    Exit code 2: the input cannot be used, or the address is taken. 3: the cluster is out of reach (only --once).
    130 and 143: stopped with ctrl+c or a signal.

    Example: ringside exporter http://localhost:8080 --listen 127.0.0.1:9393 --every 1m
    """
    from tui.cli.cluster import read_once
    from tui.cli.openmetrics import CONTENT_TYPE
    from tui.sources.cluster.pace import Stop
    from tui.sources.cluster.source import apart

    host, port = address_of(listen, anywhere=not_only_here)
    source = cluster.source(url)
    figures = Figures()
    if once:
        figures.take(read_once(source))
        write_out(figures.text().removesuffix("\n"))
        return FINE
    try:
        server = MetricsServer(host, port, figures.text, CONTENT_TYPE)
    except OSError as error:
        raise InputError(f"--listen {listen}: {system_reason(error)}") from error
    with server:
        threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
        say(f"serving {server.url}, read again every {every:g} s; ctrl+c ends it")
        stop = Stop()
        try:
            apart(lambda: read_repeatedly(source, figures, every, stop), stop.set)
        finally:
            server.shutdown()
    return FINE


def read_repeatedly(source: Source, figures: Figures, every_s: float, stop: threading.Event) -> None:
    """Take one reading after another until ``stop``. A failure, of the first too, is said, counted and tried again."""
    from tui.cli.cluster import require_same_cluster, say_gaps

    follower = source.follower()
    first: ClusterReading | None = None
    try:
        while not stop.is_set():
            try:
                reading = follower.read(stop=stop)
                if stop.is_set():
                    return
                if first is None:
                    say_gaps(reading)
                else:
                    require_same_cluster(first, reading)
                figures.take(reading)
                first = first or reading
            except Exception as error:
                if stop.is_set():
                    return
                figures.miss()
                if isinstance(error, RingsideError):
                    say(f"{error}; trying again")
                else:
                    say_fault(error)
            pause(stop, every_s)
    finally:
        follower.close()


def pause(stop: threading.Event, seconds: float) -> None:
    """Wait for the next reading."""
    stop.wait(seconds)


class Figures:
    """The figures of the last reading, with its age and what could not be read; read by any thread."""

    def __init__(self) -> None:
        from tui.cli.openmetrics import END
        from tui.cli.pictures import Pictures

        self._pictures = Pictures()
        self._lock = threading.Lock()
        self._text = END
        self._read_s = time.monotonic()
        self._took_s = 0.0
        self._gaps = self._readings = self._missed = 0

    def take(self, reading: ClusterReading) -> None:
        """The figures of a reading. Raises ``RingsideError`` where nothing in it can be used."""
        from engine.diagnosis.why import diagnose_all
        from engine.views.metrics import Pictured, cluster_families
        from engine.views.reported.view import Reported
        from engine.views.scalable.view import last_views
        from tui.cli.openmetrics import exposition

        began = time.monotonic()
        session = self._pictures.session(reading)
        reported = Reported(session.seen)
        diagnoses = tuple(diagnose_all(reported.subscriptions(reported.last).values()))
        report = self._pictures.verified(reading)
        agreement = tuple((tally.kind.name.lower(), tally.compared, tally.agree) for tally in report.tallies)
        views = last_views(session.seen).values()
        scalable = tuple(view for view in views if not isinstance(view, Rejection))
        picture = Pictured(session.timeline.state, session.seen[-1:], diagnoses, agreement, scalable)
        families = cluster_families(picture)
        text = exposition(families)
        with self._lock:
            self._text, self._read_s = text, time.monotonic()
            self._took_s, self._gaps = reading.took_s + self._read_s - began, len(reading.gaps)
            self._readings += 1

    def miss(self) -> None:
        """Note a failed reading: the earlier figures stay, and their age grows."""
        with self._lock:
            self._missed += 1

    def text(self) -> str:
        """What is served now."""
        from engine.views.metrics import Family, Sample
        from tui.cli.openmetrics import END, exposition

        with self._lock:
            text = self._text
            own = (
                ("ringside_reading_age_seconds", "how old these figures are", time.monotonic() - self._read_s, "gauge"),
                ("ringside_reading_seconds", "what the last reading took, with all figures", self._took_s, "gauge"),
                ("ringside_requests_unanswered", "requests of the last reading without an answer", self._gaps, "gauge"),
                ("ringside_readings", "readings that gave figures", self._readings, "counter"),
                ("ringside_readings_missed", "readings that gave nothing", self._missed, "counter"),
            )
        about = [
            Family(name, meaning, (Sample(round(value, 3)),), "counter" if kind == "counter" else "gauge")
            for name, meaning, value, kind in own
        ]
        return exposition(about).removesuffix(END) + text
