"""``ringside exporter``: figures on a socket of this machine, the last ones while a cluster is away, and no secrets."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml

from engine.errors import InputError
from tests.playing.server import playing, recorded
from tests.tui.cli.conftest import Run
from tui.cli.addresses import address_of
from tui.cli.commands import exporter
from tui.cli.commands.exporter import MOST_AT_ONCE, Figures, MetricsServer
from tui.cli.main import main
from tui.cli.openmetrics import CONTENT_TYPE
from tui.sources.cluster.access import Access
from tui.sources.cluster.pace import Clock
from tui.sources.cluster.reading import ClusterReading
from tui.sources.cluster.source import Source

GRAFANA = Path(__file__).parents[3] / "docs" / "deploy" / "grafana"
TOKEN = "abc.def-secret"


@pytest.fixture(autouse=True)
def virtual_time() -> None:
    """Here requests go over real sockets to another thread, so the loop's clock is the real one."""


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that are tried again are tried at once."""

    async def passed(self: Clock, seconds: float) -> None:
        return None

    monkeypatch.setattr(Clock, "sleep", passed)
    for name in ("RINGSIDE_TOKEN", "PULSAR_CLIENT_CONF"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with MetricsServer("127.0.0.1", 0, lambda: "# EOF\n", CONTENT_TYPE) as result:
        threading.Thread(target=result.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield result
        result.shutdown()


def response_to(
    server: MetricsServer, method: str, path: str, headers: dict[str, str] | None = None
) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.headers.get("Content-Type", ""), answer.read()


@pytest.mark.parametrize(
    ("method", "path", "status", "kind", "body"),
    [
        ("GET", "/metrics", 200, CONTENT_TYPE, b"# EOF\n"),
        ("GET", "/metrics?x=1", 200, CONTENT_TYPE, b"# EOF\n"),
        ("HEAD", "/metrics", 200, CONTENT_TYPE, b""),
        ("GET", "/../etc/passwd", 404, "text/plain; charset=utf-8", None),
    ],
)
def test_metrics_are_served_and_nothing_else(
    server: MetricsServer, method: str, path: str, status: int, kind: str, body: bytes | None
) -> None:
    result = response_to(server, method, path)
    assert result[:2] == (status, kind)
    if body is not None:
        assert result[2] == body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(server: MetricsServer, method: str) -> None:
    assert response_to(server, method, "/metrics")[0] == 501


def test_a_client_that_sends_no_request_costs_nobody_else(server: MetricsServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    connection.connect()
    assert connection.sock is not None
    connection.sock.sendall(b"\x00\xff no request\r\n\r\n")
    connection.close()
    assert response_to(server, "GET", "/metrics")[0] == 200


def trickling(server: MetricsServer) -> socket.socket:
    """A client that has sent a part of its request."""
    client = socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=10)
    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: loc")
    return client


def is_hung_up(client: socket.socket) -> bool:
    """Whether the server ends the connection, which it has to do soon."""
    with suppress(ConnectionResetError):
        return client.recv(1) == b""
    return True


def test_who_takes_long_to_ask_gives_way(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "_UNDISTURBED_S", 0.0)
    with ExitStack() as stack:
        clients = [stack.enter_context(trickling(server)) for _ in range(3 * MOST_AT_ONCE)]
        assert all(is_hung_up(client) for client in clients[:MOST_AT_ONCE])
        for _ in range(MOST_AT_ONCE):
            assert response_to(server, "GET", "/metrics")[0] == 200


def test_who_just_came_is_not_disturbed(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "_UNDISTURBED_S", 3600.0)
    with ExitStack() as stack:
        clients = [stack.enter_context(trickling(server)) for _ in range(MOST_AT_ONCE)]
        assert is_hung_up(stack.enter_context(trickling(server)))
        for client in clients:
            client.sendall(b"alhost\r\n\r\n")
            assert client.recv(15) == b"HTTP/1.0 200 OK"


def test_a_request_has_a_time_as_a_whole(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with trickling(server) as client:
        monkeypatch.setattr(exporter, "TIMEOUT_S", 0.0)
        assert is_hung_up(client)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:9393", 200),
        ("localhost", 200),
        ("LocalHost:80", 200),
        ("[::1]:1", 200),
        ("evil.example", 421),
        ("evil.example:9393", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.", 421),
        ("192.0.2.1", 421),
        ("[", 421),
        ("", 421),
    ],
)
def test_a_web_page_whose_name_leads_here_gets_nothing(server: MetricsServer, host: str, status: int) -> None:
    assert response_to(server, "GET", "/metrics", {"Host": host})[::2] == (
        status,
        b"# EOF\n" if status == 200 else b"ringside exporter: the figures are at /metrics\n",
    )


def test_where_others_may_connect_they_may_use_any_name() -> None:
    with MetricsServer("0.0.0.0", 0, lambda: "# EOF\n", CONTENT_TYPE) as server:
        assert server.answers_for("metrics.example:9393")
    with MetricsServer("::1", 0, lambda: "# EOF\n", CONTENT_TYPE) as server:
        assert server.url.startswith("http://[::1]:")
        assert not server.answers_for("metrics.example:9393")


@pytest.mark.parametrize("listen", ["0.0.0.0:9393", "[::]:1", "192.0.2.1:80", "example.org:80"])
def test_others_cannot_connect_unless_that_is_said(listen: str) -> None:
    with pytest.raises(InputError, match="--not-only-here"):
        address_of(listen, anywhere=False)
    host, port = address_of(listen, anywhere=True)
    assert host in listen and str(port) in listen


@pytest.mark.parametrize("listen", ["9393", "127.0.0.1", "127.0.0.1:99999", ":1", "a b:1:2", "[::1:9"])
def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(InputError):
        address_of(listen, anywhere=True)


def test_one_reading_is_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_TOKEN", TOKEN)
    with playing() as cluster:
        ran = run("exporter", cluster.url, "--once")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("# EOF\n") and TOKEN not in ran.out
    assert 'ringside_failover_consumers{namespace="public/default",subscription="billing"} 3.0' in ran.out.splitlines()
    assert "ringside_readings_total 1.0" in ran.out.splitlines()


def test_a_cluster_out_of_reach_is_said(run: Run) -> None:
    ran = run("exporter", "http://127.0.0.1:9", "--once")
    assert (ran.code, ran.out) == (3, "")


def test_an_address_that_is_taken_is_said(server: MetricsServer, run: Run) -> None:
    with playing() as cluster:
        ran = run("exporter", cluster.url, "--listen", f"127.0.0.1:{server.server_address[1]}")
    assert (ran.code, ran.err.count("--listen")) == (2, 1)


def test_what_was_read_stays_while_readings_give_nothing() -> None:
    figures = Figures()
    with playing() as cluster:
        figures.take(Source(Access(cluster.url)).read())
    before = [line for line in figures.text().splitlines() if line.startswith("ringside_failover")]
    figures.miss()
    text = figures.text().splitlines()
    assert [line for line in text if line.startswith("ringside_failover")] == before
    assert "ringside_readings_missed_total 1.0" in text


class Faulty:
    """A follower with one reading that ends with an error that nobody expects."""

    def __init__(self, source: Source, fails_at: int) -> None:
        self._readings = 0
        self._source = source
        self._fails_at = fails_at

    def read(self, **_: object) -> ClusterReading:
        self._readings += 1
        if self._readings == self._fails_at:
            raise ExceptionGroup("several", [KeyError("a fault")])
        return self._source.read()

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("fails_at", "expected"),
    [
        (1, [["0.0", "1.0"], ["1.0", "1.0"], ["2.0", "1.0"], ["3.0", "1.0"]]),
        (2, [["1.0", "0.0"], ["1.0", "1.0"], ["2.0", "1.0"], ["3.0", "1.0"]]),
    ],
)
def test_it_goes_on_after_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fails_at: int, expected: list[list[str]]
) -> None:
    texts: list[str] = []

    def paused(*_: object) -> None:
        texts.append(figures[0].text())
        if len(texts) == len(expected):
            raise KeyboardInterrupt

    figures: list[Figures] = []
    begun = Figures.__init__

    def remembered(self: Figures) -> None:
        begun(self)
        figures.append(self)

    monkeypatch.setattr(Figures, "__init__", remembered)
    monkeypatch.setattr(exporter, "pause", paused)
    monkeypatch.setattr(Source, "follower", lambda self, **_: Faulty(self, fails_at))
    with playing() as cluster:
        assert main(["exporter", cluster.url, "--listen", "127.0.0.1:0"]) == 130
    counts = [re.findall(r"^ringside_readings(?:_missed)?_total (.+)$", text, re.MULTILINE) for text in texts]
    assert counts == expected
    assert "unexpected KeyError" in capsys.readouterr().err


def test_it_goes_on_while_brokers_answer_nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0

    def paused(*_: object) -> None:
        nonlocal turns
        turns += 1
        path = "/admin/v2/brokers/standalone"
        cluster.answers[path] = b'["[", "127.0.0.1:99999"]' if turns % 2 else recorded()[path]
        if turns == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(exporter, "pause", paused)
    with playing() as cluster:
        assert main(["exporter", cluster.url, "--listen", "127.0.0.1:0"]) == 130
    assert turns == 4


def test_a_cluster_that_is_away_at_the_start_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def paused(_: object, seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(exporter, "pause", paused)
    assert main(["exporter", "http://127.0.0.1:9", "--listen", "127.0.0.1:0", "--every", "7s"]) == 130
    assert pauses == [7.0, 7.0]


def test_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    turns: list[float] = []

    def paused(_: object, seconds: float) -> None:
        turns.append(seconds)
        if len(turns) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(exporter, "pause", paused)
    with playing() as cluster:
        code = main(["exporter", cluster.url, "--listen", "127.0.0.1:0", "--every", "7s"])
    assert (code, turns) == (130, [7.0, 7.0, 7.0])
    assert "/metrics" in capsys.readouterr().err


def test_the_board_and_the_scraper_name_what_there_is() -> None:
    sources = [Path("engine/views/metrics.py"), Path("tui/cli/commands/exporter.py")]
    root = Path(__file__).parents[3]
    text = "".join((root / source).read_text(encoding="utf-8") for source in sources)
    known = set(re.findall(r'"(ringside_[a-z_]+)"', text))
    known |= {f"ringside_failover_{name}" for name in re.findall(r'family\(\s*"([a-z_]+)"', text)}
    known |= {f"{name}_total" for name in known}
    board = json.loads((GRAFANA / "ringside.json").read_text(encoding="utf-8"))
    named = {name for panel in board["panels"] for target in panel["targets"]
             for name in re.findall(r"ringside_[a-z_]+", target["expr"])}  # fmt: skip
    assert len(named) >= 11 and named <= known
    (job,) = yaml.safe_load((GRAFANA / "scrape.yaml").read_text(encoding="utf-8"))["scrape_configs"]
    assert job["static_configs"][0]["targets"] == ["127.0.0.1:9393"]
