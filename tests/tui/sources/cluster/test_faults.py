"""Each fault between a dashboard and a cluster, met by the commands: the exit code, and what could be read is there.

Everywhere: nobody can be asked at all, exit code 3. At one request: the rest is shown, and the gap is counted.
"""

from __future__ import annotations

import json
import os
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.text import moment_ms
from tests.playing.server import Fault as PlayedFault
from tests.playing.server import Played, PlayingServer, ReceivedRequest, failing, playing, recorded, status
from tests.tui.cli.conftest import Run, run
from tui.sources.cluster.outcomes import Fault

__all__ = ["run"]
TLS = Path(__file__).parents[3] / "playing" / "tls"
ORDERS = "/admin/v2/persistent/public/default/orders/partitioned-stats"
LOADED = "/admin/v2/broker-stats/topics"
MEGABYTE = b" " * 10**6
TIMEOUT = ("--timeout", "200ms")
TEN_MEGABYTES = ("--max-answer", "10MB")
pytestmark = pytest.mark.usefixtures("no_waiting")


def circle(path: str) -> Played:
    return Played(status=307, headers={"Location": path})


@dataclass(frozen=True, slots=True)
class Case:
    """What is played, the code that a gap of it has, and options that the command gets."""

    played: Callable[[str], Played]
    code: Fault
    options: tuple[str, ...] = ()


CASES = {
    "bad-json": Case(lambda path: Played(b"<html>not here</html>"), Fault.NOT_JSON),
    "cut": Case(lambda path: Played(b'{"msgRateIn"', length=999), Fault.CUT),
    "20-mb": Case(lambda path: Played(MEGABYTE, endless=20), Fault.TOO_LARGE, TEN_MEGABYTES),
    "307-loop": Case(circle, Fault.REDIRECT_LOOP),
    "307-elsewhere": Case(lambda path: circle("http://example.invalid/admin/v2/x"), Fault.REDIRECT_REFUSED),
    "401": Case(lambda path: status(401, "who?"), Fault.UNAUTHORIZED),
    "403": Case(lambda path: status(403, "no"), Fault.FORBIDDEN),
    "404": Case(lambda path: status(404, "gone"), Fault.NOT_FOUND),
    "409": Case(lambda path: status(409), Fault.CONFLICT),
    "412": Case(lambda path: status(412), Fault.PRECONDITION),
    "429": Case(lambda path: status(429, Retry_After="1"), Fault.BUSY),
    "500": Case(lambda path: status(500), Fault.SERVER),
    "503": Case(lambda path: status(503), Fault.UNAVAILABLE),
    "hang": Case(lambda path: Played(hangs=True), Fault.TIMEOUT, TIMEOUT),
}


@pytest.mark.parametrize("command", [("live", "--json"), ("record",)], ids=lambda words: words[0])
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_nobody_can_be_asked(run: Run, case: Case, command: tuple[str, ...]) -> None:
    with playing(lambda request: case.played(request.path)) as server:
        target = ("dump",) if command == ("record",) else ()
        ran = run(*command, server.url, *target, *case.options)
    assert (ran.code, ran.out) == (3, "")
    assert server.url in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not [entry for entry in Path().glob("dump/*") if moment_ms(entry.name) is not None]


@pytest.mark.parametrize(
    "case",
    [*CASES.values(), Case(lambda path: Played(MEGABYTE, endless=200), Fault.TOO_LARGE)],
    ids=[*CASES, "200-mb where nobody says how much"],
)
def test_one_request_has_no_answer(run: Run, case: Case) -> None:
    with playing(failing(f"{ORDERS}$", case.played(ORDERS))) as server:
        shown = run("live", server.url, "--json", "--subscription", "ks", *case.options)
        dumped = run("record", server.url, "dump", *case.options)
    assert (shown.code, dumped.code) == (0, 0)
    assert json.loads(shown.out)["status"]["subscription"] == "ks"
    assert f"1 request without an answer, {case.code.value}" in shown.err
    (moment,) = Path("dump").iterdir()
    assert sum(len(files) for _, _, files in os.walk(moment)) == len(recorded()) - 1


def test_a_certificate_that_does_not_match(run: Run) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "elsewhere.pem")
    with playing(tls=context) as server:
        ran = run("live", server.url, "--json", "--ca-file", str(TLS / "ca.pem"))
    assert (ran.code, ran.out) == (3, "")
    assert "--ca-file" in ran.err


def test_half_of_the_brokers_are_away(run: Run) -> None:
    with playing() as gone:
        pass
    with playing() as server:
        server.answers["/admin/v2/brokers/standalone"] = json.dumps([server.broker, gone.broker]).encode()
        ran = run("live", server.url, "--json", "--subscription", "billing")
    assert (ran.code, json.loads(ran.out)["status"]["subscription"]) == (0, "billing")
    assert f"unreachable: {gone.url}" in ran.err


class Vanishing:
    """Topics that are there while lists are read, and gone when their statistics are asked for."""

    def __init__(self, pattern: str) -> None:
        self.pattern = re.compile(pattern)

    def __call__(self, request: ReceivedRequest) -> Played | None:
        return status(404, "Topic not found") if self.pattern.search(request.path) else None


@pytest.mark.parametrize(
    ("pattern", "gaps"), [(r"orders/partitioned-stats$", 1), (r"/(partitioned-)?stats$|internalStats$", 12)]
)
def test_topics_vanish_between_two_calls(run: Run, pattern: str, gaps: int) -> None:
    with playing(Vanishing(pattern)) as server:
        ran = run("live", server.url, "--json")
        recorded_again = run("record", server.url, "dump")
    assert (ran.code, recorded_again.code) == (0, 0)
    counted = re.search(r"([0-9]+) requests? without an answer, not-found", ran.err)
    assert counted is not None
    assert int(counted[1]) <= gaps


def other_cluster(server: PlayingServer) -> PlayedFault:
    """From the second reading on another cluster is behind the address."""
    path = "/admin/v2/brokers/configuration/runtime"
    other = {**json.loads(server.answers[path]), "clusterName": "elsewhere"}
    times = 0

    def fault(request: ReceivedRequest) -> Played | None:
        nonlocal times
        if request.path != path:
            return None
        times += 1
        return None if times == 1 else Played(json.dumps(other).encode())

    return fault


def test_another_cluster_is_behind_the_same_address(run: Run) -> None:
    with playing() as server:
        server.faults = (other_cluster(server),)
        ran = run("record", server.url, "dump", "--every", "1s")
    assert ran.code == 1
    assert "'elsewhere'" in ran.err
    assert len([entry for entry in Path("dump").iterdir() if moment_ms(entry.name) is not None]) == 1
