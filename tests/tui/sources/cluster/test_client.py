"""One request: every way it can go wrong has its own code, is tried again only where that can help, and is bounded."""

from __future__ import annotations

import ssl
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.playing.clock import CountingClock
from tests.playing.server import Played, failing, playing, status
from tests.starting import piped
from tests.tui.sources.cluster.conftest import Get
from tui.sources.cluster.access import Access, Secret, Tls, token_secret
from tui.sources.cluster.outcomes import Answer, Fault, Gap

PATH = "/admin/v2/clusters"
TLS = Path(__file__).parents[3] / "playing" / "tls"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.secret-of-the-test"


def gap(outcome: Answer | Gap) -> Gap:
    assert isinstance(outcome, Gap)
    return outcome


def test_an_answer_comes_as_it_is(get: Get) -> None:
    with playing() as server:
        assert get(server, PATH) == Answer(PATH, b'["standalone"]')
        assert [request.method for request in server.requests] == ["GET"]


@pytest.mark.parametrize(
    ("code", "fault", "tries"),
    [
        (401, Fault.UNAUTHORIZED, 1),
        (403, Fault.FORBIDDEN, 1),
        (404, Fault.NOT_FOUND, 1),
        (405, Fault.NOT_ALLOWED, 1),
        (409, Fault.CONFLICT, 1),
        (412, Fault.PRECONDITION, 1),
        (418, Fault.STATUS, 1),
        (429, Fault.BUSY, 3),
        (500, Fault.SERVER, 3),
        (503, Fault.UNAVAILABLE, 3),
    ],
)
def test_a_status_has_its_code_and_what_passes_is_tried_again(get: Get, code: int, fault: Fault, tries: int) -> None:
    with playing(failing("clusters", status(code, "this is why"))) as server:
        result = gap(get(server, PATH))
        assert (result.fault, result.status, result.reason, result.path) == (fault, code, "this is why", PATH)
        assert result.advice
        assert len(server.requests) == tries


def test_what_passed_is_read_at_the_next_try(get: Get, clock: CountingClock) -> None:
    with playing(failing("clusters", status(503), times=2)) as server:
        assert isinstance(get(server, PATH), Answer)
        assert len(server.requests) == 3
    assert [0 <= wait <= bound for wait, bound in zip(clock.waits, (0.25, 0.5), strict=False)] == [True, True]


@pytest.mark.parametrize(("expected", "waited"), [("7", 7.0), ("3600", 20.0)])
def test_who_says_when_to_come_back_is_left_alone_until_then(
    get: Get, clock: CountingClock, expected: str, waited: float
) -> None:
    with playing(failing("clusters", status(429, Retry_After=expected), times=1)) as server:
        assert isinstance(get(server, PATH), Answer)
    assert clock.now == pytest.approx(waited, abs=0.01)


def test_a_cut_body_is_no_answer(get: Get) -> None:
    with playing(failing("clusters", Played(b'["stand', length=1000))) as server:
        assert gap(get(server, PATH)).fault is Fault.CUT
        assert len(server.requests) == 3


def test_a_body_without_end_is_left_after_the_limit(get: Get) -> None:
    endless = Played(b" " * (1 << 20), endless=200)
    with playing(failing("clusters", endless)) as server:
        assert gap(get(server, PATH, max_answer_bytes=2 * 10**6)).fault is Fault.TOO_LARGE
        assert len(server.requests) == 1
        server.over.set()
    assert server.sent_bytes < 100 * 10**6


def test_a_page_of_a_web_site_is_no_answer(get: Get) -> None:
    with playing(failing("clusters", Played(b"<html>sign in</html>"))) as server:
        assert gap(get(server, PATH)).fault is Fault.NOT_JSON


def test_nobody_is_waited_for_longer_than_the_timeout(get: Get) -> None:
    with playing(failing("clusters", Played(hangs=True))) as server:
        assert gap(get(server, PATH, timeout_s=0.05, tries=1)).fault is Fault.TIMEOUT


def test_a_port_without_a_listener_is_out_of_reach(get: Get) -> None:
    with playing() as server:
        away = Access(server.url)
    assert gap(get(server, PATH, away)).fault is Fault.UNREACHABLE


def test_a_redirect_inside_the_cluster_is_followed_without_the_right_to_own(get: Get) -> None:
    with playing() as owner:
        target = f"http://localhost:{owner.server_address[1]}{PATH}?authoritative=true&x=1"
        answers = {f"{PATH}?x=1": b"[1]"}
        owner.answers.update(answers)
        with playing(failing("clusters", status(307, Location=target))) as server:
            secret = Access(server.url, Secret("Bearer t", ("t",)))
            assert get(server, PATH, secret, trusts=("localhost:1",)) == Answer(PATH, b"[1]")
        assert [request.path for request in owner.requests] == [f"{PATH}?x=1"]
        assert owner.requests[0].headers["Authorization"] == "Bearer t"


@pytest.mark.parametrize("target", ["http://localhost:{port}/admin/v2/clusters", "/other/clusters", "ftp://127.0.0.1/"])
def test_a_redirect_out_of_the_cluster_is_not_followed(get: Get, target: str) -> None:
    with playing() as other:
        where = target.format(port=other.server_address[1])
        with playing(failing("clusters", status(307, Location=where))) as server:
            assert gap(get(server, PATH)).fault is Fault.REDIRECT_REFUSED
        assert other.requests == []


@pytest.mark.parametrize("loads", [False, True])
def test_what_nobody_owns_is_taken_only_where_it_may_be_loaded(get: Get, loads: bool) -> None:
    """The leader sends the request back to the broker that it chose, with the right to take the bundle."""
    with playing() as server, playing() as leader:
        server.faults = (failing("clusters$", status(307, Location=leader.url + PATH)),)
        back = f"{server.url}{PATH}?authoritative=true"
        leader.faults = (failing("clusters", status(307, Location=back)),)
        server.answers[f"{PATH}?authoritative=true"] = b"[]"
        outcome = get(server, PATH, loads=loads)
        assert [request.path for request in server.requests][1:] == [f"{PATH}?authoritative=true"][: int(loads)]
    if loads:
        assert isinstance(outcome, Answer)
    else:
        assert isinstance(outcome, Gap)
        assert outcome.fault is Fault.REDIRECT_LOOP


def test_redirects_in_a_circle_end(get: Get) -> None:
    with playing() as server:
        server.faults = (failing("clusters", status(307, Location=f"{server.url}{PATH}")),)
        assert gap(get(server, PATH)).fault is Fault.REDIRECT_LOOP
        assert len(server.requests) == 1
        server.faults = tuple(
            failing(f"n={number}$", status(307, Location=f"{server.url}{PATH}?n={number + 1}")) for number in range(50)
        )
        assert gap(get(server, f"{PATH}?n=0")).fault is Fault.REDIRECT_LOOP
        assert len(server.requests) == 7


def server_side(name: str, ca: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / f"{name}.pem")
    if ca:
        context.load_verify_locations(TLS / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_a_certificate_of_the_known_ca_is_enough_and_one_of_another_host_is_not(get: Get) -> None:
    known = Tls(ca_file=str(TLS / "ca.pem"))
    with playing(tls=server_side("here")) as server:
        assert isinstance(get(server, PATH, Access(server.url, tls=known)), Answer)
        assert gap(get(server, PATH, Access(server.url))).fault is Fault.CERTIFICATE
    with playing(tls=server_side("elsewhere")) as server:
        assert gap(get(server, PATH, Access(server.url, tls=known))).fault is Fault.CERTIFICATE
        unchecked = Tls(ca_file=known.ca_file, checks_host_name=False)
        assert isinstance(get(server, PATH, Access(server.url, tls=unchecked)), Answer)


def test_a_client_shows_its_certificate(get: Get) -> None:
    with playing(tls=server_side("here", ca=True)) as server:
        ca = str(TLS / "ca.pem")
        shown = Tls(ca_file=ca, cert_file=str(TLS / "client.pem"))
        assert isinstance(get(server, PATH, Access(server.url, tls=shown)), Answer)
        assert isinstance(get(server, PATH, Access(server.url, tls=Tls(ca_file=ca)), tries=1), Gap)


def test_certificates_and_keys_come_through_pipes(get: Get) -> None:
    """As with ``--key-file <(command)``: a key need not be on a disk."""
    with playing(tls=server_side("here", ca=True)) as server, ExitStack() as stack:
        ca, certificate, key = (
            stack.enter_context(piped((TLS / name).read_bytes())) for name in ("ca.pem", "client.pem", "client.pem")
        )
        shown = Tls(ca, certificate, key)
        assert isinstance(get(server, PATH, Access(server.url, tls=shown)), Answer)


def test_a_redirect_does_not_lead_out_of_encryption(get: Get) -> None:
    with playing() as plain:
        leads = failing("clusters", status(307, Location=f"{plain.url}{PATH}"))
        with playing(leads, tls=server_side("here")) as server:
            access = Access(server.url, token_secret(TOKEN, "test"), Tls(ca_file=str(TLS / "ca.pem")))
            assert gap(get(server, PATH, access)).fault is Fault.REDIRECT_REFUSED
        assert plain.requests == []


@pytest.mark.parametrize("code", [200, 401, 500])
def test_a_token_is_sent_and_never_comes_back(get: Get, code: int) -> None:
    def echoing(body: bytes) -> Played:
        return Played(body, code)

    with playing(failing("clusters", echoing(f'{{"reason": "bad {TOKEN} here"}}'.encode()))) as server:
        access = Access(server.url, token_secret(TOKEN, "test"))
        outcome = get(server, PATH, access)
        assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    data = outcome.data.decode() if isinstance(outcome, Answer) else ""
    assert TOKEN not in f"{outcome!r} {outcome} {access!r} {access} {data}"
    assert "***" in f"{outcome!r} {data}"


@pytest.mark.parametrize("path", ["/admin/v2", "/lookup/v2/topic/persistent/t/n/x", "http://elsewhere/admin/v2/x"])
def test_nothing_but_the_admin_api_is_asked(get: Get, path: str) -> None:
    with playing() as server, pytest.raises(ValueError, match="not a request of the admin API"):
        get(server, path)
