"""``ringside exporter``: figures on a socket of this machine, the last ones while a cluster is away, and no secrets."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from engine.errors import InputError
from engine.views.metrics import CONTENT_TYPE
from tests.playing.server import playing
from tests.tui.cli.conftest import Run
from tui.cli.commands import exporter
from tui.cli.commands.exporter import Figures, MetricsServer, address_of
from tui.cli.main import main
from tui.sources.cluster.access import Access
from tui.sources.cluster.pace import Clock
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
    with MetricsServer("127.0.0.1", 0, lambda: "# EOF\n") as result:
        threading.Thread(target=result.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield result
        result.shutdown()


def response_to(server: MetricsServer, method: str, path: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    connection.request(method, path)
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
    assert 'ringside_failover_consumers{namespace="public/default",subscription="billing"} 3' in ran.out.splitlines()
    assert "ringside_readings_total 1" in ran.out.splitlines()


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
    assert "ringside_readings_missed_total 1" in text


def test_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    turns: list[float] = []

    def paused(seconds: float) -> None:
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
