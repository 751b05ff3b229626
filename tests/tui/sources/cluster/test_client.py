"""One request: every way it can go wrong has its own code, is tried again only where that can help, and is bounded."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import ssl
import zlib
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.playing.clock import CountingClock
from tests.playing.server import Played, PlayingServer, failing, playing, status
from tests.starting import piped
from tests.tui.sources.cluster.conftest import Get
from tests.tui.sources.cluster.test_redaction import SECRET_AS
from tui.sources.cluster.access import Access, Tls, token_secret
from tui.sources.cluster.client import AdminClient, _Patience
from tui.sources.cluster.outcomes import Answer, Fault, Gap
from tui.sources.cluster.redaction import Secret, basic_secret

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


def test_an_answer_that_drips_has_the_time_of_one_request_and_is_not_asked_for_again(get: Get) -> None:
    with playing(failing("clusters", Played(b" " * 1000, drips_s=0.01))) as server:
        outcome = gap(get(server, PATH, timeout_s=0.2))
        assert (outcome.fault, len(server.requests)) == (Fault.SLOW, 1)


def test_notices_that_there_will_be_an_answer_are_none(get: Get) -> None:
    with playing(failing("clusters", Played(b"[]", drips_s=0.01, informs=1000))) as server:
        assert gap(get(server, PATH, timeout_s=0.2, tries=1)).fault is Fault.TIMEOUT


def test_an_answer_that_comes_fast_enough_has_more_time() -> None:
    deadline = asyncio.Timeout(None)
    times: list[float] = []
    deadline.reschedule = times.append  # type: ignore[method-assign,assignment]
    patience = _Patience(deadline, 10.0, 120.0)
    for received in (0, 10_000, 990_000, 10**9):
        patience.extend(received)
    assert times == [10.0, 11.0, 110.0, 120.0]


def test_all_tries_of_a_request_share_one_time(get: Get) -> None:
    with playing(failing("clusters", Played(hangs=True))) as server:
        assert gap(get(server, PATH, timeout_s=0.1, deadline_s=0.15, tries=9)).fault is Fault.TIMEOUT
        assert len(server.requests) == 2


ANSWER = b'["standalone"]'
GZIPPED = gzip.compress(ANSWER, mtime=0)


def named_by_length(value: object) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("identity", ANSWER),
        ("gzip", GZIPPED),
        (" GZIP ", GZIPPED),
        ("x-gzip", GZIPPED),
        ("deflate", zlib.compress(ANSWER)),
        ("deflate", raw_deflate(ANSWER)),
        ("gzip", b""),
    ],
    ids=named_by_length,
)
@pytest.mark.parametrize("drips_s", [0.0, 0.001])
def test_an_answer_packed_once_is_unpacked(get: Get, encoding: str, body: bytes, drips_s: float) -> None:
    played = Played(body, headers={"Content-Encoding": encoding}, drips_s=drips_s)
    with playing(failing("clusters", played)) as server:
        assert get(server, PATH) == Answer(PATH, ANSWER if body else b"")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip, gzip", gzip.compress(GZIPPED, mtime=0)),
        ("deflate,gzip", gzip.compress(zlib.compress(ANSWER), mtime=0)),
        ("identity, gzip", GZIPPED),
        ("zstd", ANSWER),
        ("br", ANSWER),
        ("gzip", ANSWER),
        ("gzip", GZIPPED[:-9]),
        ("gzip", GZIPPED[:1]),
        ("gzip", GZIPPED + b"more"),
        ("gzip", GZIPPED * 2),
        ("deflate", b"\x78\x9cnot deflate"),
        ("deflate", b"\xff\xff"),
    ],
    ids=named_by_length,
)
def test_an_answer_packed_in_any_other_way_is_a_gap(get: Get, encoding: str, body: bytes) -> None:
    with playing(failing("clusters", Played(body, headers={"Content-Encoding": encoding}))) as server:
        assert gap(get(server, PATH)).fault is Fault.PACKED
        assert len(server.requests) == 1


def test_what_unpacks_to_more_than_the_limit_is_left_there(get: Get) -> None:
    packed = gzip.compress(bytes(10**7))
    for limit, fault in ((10**7 - 1, Fault.TOO_LARGE), (10**7, Fault.NOT_JSON)):
        with playing(failing("clusters", Played(packed, headers={"Content-Encoding": "gzip"}))) as server:
            assert gap(get(server, PATH, max_answer_bytes=limit)).fault is fault


def test_packed_data_of_nothing_end_at_the_limit_too(get: Get) -> None:
    empty_blocks = GZIPPED[:10] + b"\x00\x00\x00\xff\xff" * 1000
    with playing(failing("clusters", Played(empty_blocks, headers={"Content-Encoding": "gzip"}))) as server:
        assert gap(get(server, PATH, max_answer_bytes=4000)).fault is Fault.TOO_LARGE
        assert gap(get(server, PATH, max_answer_bytes=6000)).fault is Fault.PACKED


def test_the_beginning_of_a_long_reason_is_read(get: Get) -> None:
    with playing(failing("clusters", Played(b"why " * 10**5, 403))) as server:
        assert gap(get(server, PATH)).reason.startswith("why why")


def test_the_reason_of_a_refusal_does_not_depend_on_how_it_is_packed(get: Get) -> None:
    with playing(failing("clusters", Played(b"\x00", 403, {"Content-Encoding": "zstd"}))) as server:
        assert gap(get(server, PATH)).fault is Fault.FORBIDDEN


@pytest.mark.parametrize(
    ("is_one_there", "asked"), [(False, [3, 3, 3, *[1] * 18, *[0] * 4]), (True, [3, 3, 3, *[1] * 22])]
)
def test_where_many_hosts_are_away_the_others_are_asked_once_and_then_no_more(
    clock: CountingClock, is_one_there: bool, asked: list[int]
) -> None:
    with ExitStack() as stack:
        away = [stack.enter_context(playing()) for _ in range(25)]
    counts: list[int] = []

    async def run(other: PlayingServer) -> None:
        async with AdminClient(Access(away[0].url), clock=clock) as client:
            if is_one_there:
                await client.get(PATH, broker=other.broker)
            for server in away:
                before = client.requests
                outcome = gap(await client.get(PATH, broker=server.broker))
                assert (outcome.fault, outcome.path, outcome.origin) == (Fault.UNREACHABLE, PATH, server.url)
                counts.append(client.requests - before)

    with playing() as other:
        asyncio.run(run(other))
    assert counts == asked


def test_a_port_without_a_listener_is_out_of_reach(get: Get) -> None:
    with playing() as server:
        away = Access(server.url)
    assert gap(get(server, PATH, away)).fault is Fault.UNREACHABLE


def test_a_redirect_inside_the_cluster_is_followed_without_the_right_to_own(get: Get) -> None:
    with playing() as owner:
        path = f"{PATH}?x=1"
        owner.answers[path] = b"[1]"
        target = f"http://localhost:{owner.server_address[1]}{path}&authoritative=true"
        with playing(failing("clusters", status(307, Location=target))) as server:
            secret = Access(server.url, Secret("Bearer t", ("t",)))
            at_its_port = f"localhost:{owner.server_address[1]}"
            assert get(server, path, secret, trusts=(at_its_port,)) == Answer(path, b"[1]")
        assert [request.path for request in owner.requests] == [path]
        assert owner.requests[0].headers["Authorization"] == "Bearer t"


def test_a_broker_is_also_trusted_at_the_port_of_the_address(get: Get) -> None:
    """A list has one port of a broker, and it may listen on another one with TLS."""
    with playing() as server:
        port = server.server_address[1]
        server.faults = (failing(PATH, status(307, Location=f"http://localhost:{port}{PATH}"), times=1),)
        assert isinstance(get(server, PATH, trusts=("localhost:1",)), Answer)
        assert [request.headers["Host"] for request in server.requests] == [server.broker, f"localhost:{port}"]


LOOK_UP = "lookup/v2/topic/persistent/public/default/orders"


@pytest.mark.parametrize(
    "target",
    [
        "{other}{path}",
        "{other_port}{path}",
        "//user:password@{broker}{path}",
        "ftp://{broker}{path}",
        "https://{broker}:99999{path}",
        "http://[{path}",
        "{own}/admin/v2/../../" + LOOK_UP,
        "{own}/admin/v2/%2e%2e/%2E./" + LOOK_UP,
        "{own}/admin/v2/%252e%252e/%252e%252e/" + LOOK_UP,
        "{own}/admin/v2/..;x/..;/" + LOOK_UP,
        "{own}/admin/v2/..\\..\\" + LOOK_UP,
        "{own}/admin/v2/..%2f..%2f" + LOOK_UP,
        "../../" + LOOK_UP,
        "/" + LOOK_UP,
        "/admin/v2/tenants",
        "/other/clusters",
        "{own}{path}?%61uthoritative=true",
        "{own}{path}?AUTHORITATIVE=true",
        "{own}{path}?authoritative=TRUE",
        "{own}{path}?authoritative",
        "{own}{path}?authoritative=true;a=1",
        "{own}{path}?a=1;authoritative=true",
        "{own}{path}?x=1",
        "",
    ],
)
@pytest.mark.parametrize("loads", [False, True])
def test_a_redirect_to_anything_but_the_same_request_in_the_cluster_is_not_followed(
    get: Get, target: str, loads: bool
) -> None:
    with playing() as other, playing() as server:
        where = target.format(
            other=other.url.replace("127.0.0.1", "localhost"),
            other_port=other.url,
            own=server.url,
            broker=server.broker,
            path=PATH,
        )
        server.faults = (failing("", status(307, Location=where)),)
        secret = Access(server.url, token_secret(TOKEN, "test"))
        assert gap(get(server, PATH, secret, loads=loads)).fault is Fault.REDIRECT_REFUSED
        assert (len(server.requests), other.requests) == (1, [])


@pytest.mark.parametrize("shown", ["http://u:{}@h/x", "/x?token={}", "http://h/#{}", "http://h/{}"])
def test_a_refused_redirect_is_shown_without_what_may_be_secret(get: Get, shown: str) -> None:
    with playing(failing("", status(307, Location=shown.format(TOKEN)))) as server:
        outcome = gap(get(server, PATH, Access(server.url, token_secret(TOKEN, "test"))))
    assert outcome.fault is Fault.REDIRECT_REFUSED
    assert TOKEN not in str(outcome)


@pytest.mark.parametrize("loads", [False, True])
def test_what_nobody_owns_is_taken_only_where_it_may_be_loaded(get: Get, loads: bool) -> None:
    """The leader sends the request back to the broker that it chose, with the right to take the bundle."""
    with playing() as server, playing() as leader:
        server.faults = (failing("clusters$", status(307, Location=leader.url + PATH)),)
        back = f"{server.url}{PATH}?authoritative=true"
        leader.faults = (failing("clusters", status(307, Location=back)),)
        server.answers[f"{PATH}?authoritative=true"] = b"[]"
        outcome = get(server, PATH, loads=loads, trusts=(leader.broker,))
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


def test_redirects_end_after_five_brokers(get: Get) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(playing()) for _ in range(8)]
        for server, following in itertools.pairwise(servers):
            server.faults = (failing("clusters", status(307, Location=f"{following.url}{PATH}")),)
        outcome = gap(get(servers[0], PATH, trusts=tuple(server.broker for server in servers)))
        assert outcome.fault is Fault.REDIRECT_LOOP
        assert [len(server.requests) for server in servers] == [1, 1, 1, 1, 1, 1, 0, 0]


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


@pytest.mark.parametrize("code", [401, 500])
@pytest.mark.parametrize("form", SECRET_AS)
def test_a_token_is_sent_and_never_comes_back(get: Get, code: int, form: str) -> None:
    said = SECRET_AS[form](TOKEN)
    with playing(failing("clusters", Played(f'{{"reason": "bad {said} here"}}'.encode(), code))) as server:
        access = Access(server.url, token_secret(TOKEN, "test"))
        outcome = gap(get(server, PATH, access))
        assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in f"{outcome!r} {outcome} {access!r} {access}"
    assert outcome.reason == "bad *** here"


def test_an_answer_is_decoded_as_it_came(get: Get) -> None:
    with playing(failing("clusters", Played(b'["public", 1]'))) as server:
        for secret in (basic_secret("admin", "public"), basic_secret("admin", "1"), token_secret("public", "test")):
            assert get(server, PATH, Access(server.url, secret)) == Answer(PATH, b'["public", 1]')


@pytest.mark.parametrize("name", ["..", ".", "%2e%2e", "%252E.", "..;x"])
def test_a_name_that_is_a_step_upwards_is_a_gap(get: Get, name: str) -> None:
    with playing() as server:
        assert gap(get(server, f"/admin/v2/namespaces/{name}/x")).fault is Fault.MALFORMED
        assert server.requests == []


@pytest.mark.parametrize("path", ["/admin/v2", "/lookup/v2/topic/persistent/t/n/x", "http://elsewhere/admin/v2/x"])
def test_nothing_but_the_admin_api_is_asked(get: Get, path: str) -> None:
    with playing() as server, pytest.raises(ValueError, match="not a request of the admin API"):
        get(server, path)
