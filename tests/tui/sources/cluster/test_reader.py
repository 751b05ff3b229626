"""A whole reading: what is asked and what never is, what is missing and counted, and when a cluster is out of reach."""

from __future__ import annotations

import asyncio
import json
import random
import re

import pytest

from engine.admin.moments import combined
from engine.admin.snapshot import read_answers
from engine.balance.settings import EXTENSIBLE_CLASS
from tests.playing.clock import CountingClock
from tests.playing.server import RECORDED_BROKER, Played, PlayingServer, failing, playing, recorded, status
from tests.playing.server import Fault as Played_
from tests.tui.sources.cluster.conftest import Read
from tui.sources.cluster.access import Access
from tui.sources.cluster.client import AdminClient
from tui.sources.cluster.outcomes import ClusterOutOfReachError, Fault, summed_up
from tui.sources.cluster.pace import MAX_ANSWER_BYTES, Limits
from tui.sources.cluster.reader import read_cluster
from tui.sources.cluster.reading import ClusterReading, moments_read
from tui.sources.cluster.refresh import Earlier
from tui.sources.cluster.scope import Scope
from tui.sources.cluster.source import with_settings

LOADED = "/admin/v2/broker-stats/topics"
RUNTIME = "/admin/v2/brokers/configuration/runtime"
ORDERS = "/admin/v2/persistent/public/default/orders/partitioned-stats"
EVERYTHING = len(recorded())


def faults(reading: ClusterReading) -> dict[str, int]:
    """How many gaps of which kind."""
    results: dict[str, int] = {}
    for gap in reading.gaps:
        results[gap.fault.value] = results.get(gap.fault.value, 0) + 1
    return results


def without_loaded(names: str) -> bytes:
    """The list of loaded topics without those that have this in their name."""
    loaded = json.loads(recorded()[LOADED])
    for bundles in loaded.values():
        for domains in bundles.values():
            for topics in domains.values():
                for topic in [topic for topic in topics if names in topic]:
                    del topics[topic]
    return json.dumps(loaded).encode()


def test_a_reading_is_what_was_recorded_and_only_reads(read: Read) -> None:
    with playing() as server:
        reading = read(server)
        assert {request.method for request in server.requests} == {"GET"}
        assert all(request.path.startswith("/admin/v2/") for request in server.requests)
        assert all("Authorization" not in request.headers for request in server.requests)
        assert len(server.requests) == reading.requests == EVERYTHING
    assert (reading.cluster, reading.release, reading.brokers) == ("standalone", "4.2.4", (server.broker,))
    assert (reading.topics, reading.not_loaded, reading.gaps, reading.assumed) == (10, 0, (), ())
    snapshot = combined(moments_read([reading], limit_bytes=10**9))
    assert (snapshot.source, snapshot.version, snapshot.problems) == (server.url, "4.2.4", ())
    assert snapshot.settings is not None
    assert len(snapshot.topics) == 11
    orders = snapshot.topics["persistent://public/default/orders-partition-0"].subscriptions[0]
    assert [consumer.name for consumer in orders.consumers] == ["c-0", "c-1", "c-2"]


def test_topics_that_are_not_loaded_are_not_asked_for(read: Read) -> None:
    answers = {**recorded(), LOADED: without_loaded("idle")}
    with playing(answers=answers) as server:
        reading = read(server)
        assert not [request for request in server.requests if "idle" in request.path and "stats" in request.path]
        assert (reading.topics, reading.not_loaded, reading.knows_loaded) == (7, 3, True)
        assert (read(server, Scope(loads_topics=True)).topics) == 10
        assert [request for request in server.requests if "idle/partitioned-stats" in request.path]


def test_partitions_are_read_one_by_one_where_not_all_are_loaded(read: Read) -> None:
    answers = {**recorded(), LOADED: without_loaded("orders-partition-3")}
    partition = "/admin/v2/persistent/public/default/orders-partition-{}/stats"
    whole = json.loads(answers[ORDERS])
    for index in range(6):
        stats = whole["partitions"][f"persistent://public/default/orders-partition-{index}"]
        answers[partition.format(index)] = json.dumps(stats).encode()
    with playing(answers=answers) as server:
        reading = read(server)
        paths = [request.path for request in server.requests]
        assert ORDERS not in paths
        assert [partition.format(index) in paths for index in range(6)] == [True, True, True, False, True, True]
    assert (reading.topics, reading.not_loaded, reading.gaps) == (9, 1, ())


def test_without_the_right_to_see_what_is_loaded_nothing_is_asked_that_could_load_it(read: Read) -> None:
    with playing(failing("broker-stats|configuration", status(403, "not a super-user"))) as server:
        reading = read(server)
        assert not [request for request in server.requests if request.path.endswith("stats")]
    assert (reading.topics, reading.not_loaded, reading.knows_loaded) == (0, 10, False)
    assert reading.assumed == ("settings",)
    assert faults(reading) == {"forbidden": 4}


def test_a_scope_narrows_what_is_asked(read: Read) -> None:
    with playing() as server:
        reading = read(server, Scope(("public/default",), "keys*"))
        assert not [request for request in server.requests if "tenants" in request.path or "orders" in request.path]
    assert (reading.topics, reading.gaps) == (1, ())


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (failing(ORDERS, status(404, "Topic not found")), "not-found"),
        (failing(ORDERS, status(409)), "conflict"),
        (failing(ORDERS, status(412)), "precondition"),
        (failing(ORDERS, status(429, Retry_After="1")), "too-many-requests"),
        (failing(ORDERS, status(500)), "server-error"),
        (failing(ORDERS, status(503)), "unavailable"),
        (failing(ORDERS, Played(b'{"msgRateIn"', length=999)), "cut-off"),
        (failing(ORDERS, Played(b"<html>")), "not-json"),
        (
            failing(ORDERS, Played(status=307, headers={"Location": "http://example.invalid/admin/v2/x"})),
            "redirect-refused",
        ),
        (failing(ORDERS, Played(status=307, headers={"Location": ORDERS})), "redirect-loop"),
        (failing(ORDERS, Played(hangs=True)), "timeout"),
    ],
)
def test_one_request_without_an_answer_costs_nothing_else(read: Read, fault: Played_, code: str) -> None:
    with playing(fault) as server:
        reading = read(server, timeout_s=0.3)
    assert faults(reading) == {code: 1}
    assert len(reading.answers) == EVERYTHING - 1
    (sentence,) = summed_up(reading.gaps)
    assert code in sentence
    assert ORDERS in sentence
    assert len(combined(moments_read([reading], limit_bytes=10**9)).topics) == 11


def test_half_an_answer_in_json_is_kept_for_what_can_be_read_of_it(read: Read) -> None:
    whole = recorded()[LOADED]
    with playing(answers={**recorded(), LOADED: whole[: len(whole) // 2]}) as server:
        reading = read(server)
    snapshot = combined(moments_read([reading], limit_bytes=10**9))
    assert 0 < reading.topics < 10
    assert snapshot.problems


def test_half_of_the_brokers_are_away(read: Read) -> None:
    with playing() as gone, playing() as other:
        pass
    with playing() as second, playing() as server:
        brokers = [server.broker, second.broker, gone.broker, other.broker]
        server.answers["/admin/v2/brokers/standalone"] = json.dumps(brokers).encode()
        second.answers[LOADED] = b"{}"
        reading = read(server)
        own = [file.name.partition("/")[2] for file in reading.files() if "/broker-stats/" in file.name]
        assert second.requests[0].path == LOADED
        assert own == sorted(
            f"brokers/{each.broker}/admin/v2/broker-stats/{what}"
            for each in (server, second)
            for what in ("load-report.json", "topics.json")
        )
    assert faults(reading)["unreachable"] == 2
    assert {gap.origin for gap in reading.gaps if gap.fault is Fault.UNREACHABLE} == {gone.url, other.url}
    assert (reading.topics, reading.knows_loaded) == (10, False)
    assert len(combined(moments_read([reading], limit_bytes=10**9)).topics) == 11


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (failing("", status(401, "who is it?")), Fault.UNAUTHORIZED),
        (failing("", status(403)), Fault.FORBIDDEN),
        (failing("", status(503)), Fault.UNAVAILABLE),
        (failing("", Played(b"<html>a page of something else</html>")), Fault.NOT_JSON),
        (failing("", Played(hangs=True)), Fault.TIMEOUT),
        (failing("", Played(b"x", length=99)), Fault.CUT),
    ],
)
def test_a_cluster_that_lets_nothing_be_read_is_out_of_reach(read: Read, fault: Played_, code: Fault) -> None:
    patience = {"timeout_s": 0.05} if code is Fault.TIMEOUT else {}
    with playing(fault) as server, pytest.raises(ClusterOutOfReachError) as raised:
        read(server, **patience)
    assert raised.value.gap.fault is code
    assert server.url in str(raised.value)


def test_a_silent_broker_is_given_up_before_every_topic_waits_for_it(read: Read) -> None:
    with playing(failing("persistent|namespaces", Played(hangs=True))) as server:
        reading = read(server, Scope(("public/default",)), timeout_s=0.05, at_once=1)
        others = [request.path for request in server.requests if not re.search("persistent|namespaces", request.path)]
    # The server does not see a request that is given up before it is connected.
    assert reading.requests - len(others) == 9
    assert {gap.fault for gap in reading.gaps} == {Fault.TIMEOUT}


def test_secrets_of_the_brokers_are_not_kept(read: Read) -> None:
    settings = {
        **json.loads(recorded()[RUNTIME]),
        "brokerClientAuthenticationParameters": "token:abc",
        "bookkeeperTLSTrustStorePassword": "pw",
    }
    with playing(answers={**recorded(), RUNTIME: json.dumps(settings).encode()}) as server:
        reading = read(server)
    (kept,) = (json.loads(answer.data) for answer in reading.answers if answer.path == RUNTIME)
    assert kept["brokerClientAuthenticationParameters"] == kept["bookkeeperTLSTrustStorePassword"] == "***"
    assert kept["activeConsumerFailoverConsistentHashing"] == "false"


BROKERS = "/admin/v2/brokers/standalone"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (BROKERS, b'["["]'),
        (BROKERS, b'["[]:1", "[v1.x]:1", "127.0.0.1:8080:1"]'),
        (BROKERS, b'["127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:0"]'),
        (BROKERS, b'["a..b:1", "a b:1", "user@b:1", "b:1/x", "256.1.1.1:1", "", "%61:1"]'),
        (BROKERS, b'["' + b"a" * 64 + b':1"]'),
        (RUNTIME, b"1"),
        (RUNTIME, b'["clusterName"]'),
        (RUNTIME, b"null"),
    ],
    ids=str,
)
def test_an_answer_of_another_kind_is_one_gap_and_costs_nothing_else(read: Read, path: str, answer: bytes) -> None:
    with playing(answers={**recorded(), path: answer}) as server:
        reading = read(server)
    (gap,) = reading.gaps
    assert (gap.fault, gap.path) == (Fault.MALFORMED, path)
    assert (reading.brokers, reading.topics, reading.topics_read) == ((), 10, 10) or path == RUNTIME
    settled = with_settings(reading, (("activeConsumerFailoverConsistentHashing", "true"),))
    assert len(combined(moments_read([settled], limit_bytes=10**9)).topics) == 11


def test_the_good_ids_of_a_list_of_brokers_are_used(read: Read) -> None:
    with playing() as second, playing() as server:
        server.answers[BROKERS] = json.dumps([server.broker, "[", second.broker, "b:70000"]).encode()
        reading = read(server)
        assert second.requests
    assert reading.brokers == (server.broker, second.broker)
    (gap,) = (gap for gap in reading.gaps if gap.path == BROKERS)
    assert gap.fault is Fault.MALFORMED
    assert "2 ids" in gap.reason


def test_a_topic_whose_name_cannot_be_sent_is_a_gap_and_the_others_are_read(read: Read) -> None:
    loaded = json.loads(recorded()[LOADED])
    topics = next(iter(loaded["public/default"].values()))["persistent"]
    topics["persistent://public/default/\ud800"] = next(iter(topics.values()))
    with playing(answers={**recorded(), LOADED: json.dumps(loaded).encode()}) as server:
        reading = read(server)
    (gap,) = reading.gaps
    assert (gap.fault, gap.path, reading.topics) == (Fault.MALFORMED, LOADED, 10)
    assert len(reading.answers) == EVERYTHING


@pytest.mark.parametrize(("release", "asked"), [("4.2.4", False), ("5.0.0-M1", True), ("5.0.1", False), ("", False)])
def test_statistics_of_segments_are_asked_for_where_brokers_have_them(read: Read, release: str, asked: bool) -> None:
    loaded = json.loads(recorded()[LOADED])
    topics = next(iter(loaded["public/default"].values()))["persistent"]
    topics["segment://public/default/x/0000-7fff-0"] = next(iter(topics.values()))
    answers = {**recorded(), LOADED: json.dumps(loaded).encode(), "/admin/v2/brokers/version": release.encode()}
    with playing(answers=answers) as server:
        reading = read(server)
        paths = [request.path for request in server.requests if "/segment/" in request.path]
    assert paths == ["/admin/v2/segment/public/default/x%2F0000-7fff-0/stats"] * asked
    # Two more are the record and the statistics of the scalable topic, which this server does not know.
    assert (len(reading.gaps), reading.topics) == (2 + int(asked or not release), 11)


def test_scalable_topics_with_loaded_segments_are_read(read: Read) -> None:
    """Of others nothing is asked: a topic without a controller would get one."""
    loaded = json.loads(recorded()[LOADED])
    topics = next(iter(loaded["public/default"].values()))["persistent"]
    topics["segment://public/default/orders.json/0000-ffff-0"] = next(iter(topics.values()))
    record, stats = (f"/admin/v2/scalable/public/default/orders.json{rest}" for rest in ("", "/stats"))
    whole = {"start": 0, "end": 65535}
    segments = {"0": {"segmentId": 0, "hashRange": whole, "state": "ACTIVE", "createdAtMs": 1}}
    answers = {
        **recorded(),
        LOADED: json.dumps(loaded).encode(),
        record: json.dumps({"epoch": 0, "nextSegmentId": 1, "segments": segments}).encode(),
        stats: json.dumps({"layout": {"segments": {"0": {"state": "ACTIVE"}}}, "subscriptions": {}}).encode(),
    }
    with playing(answers=answers) as server:
        reading = read(server)
        asked = [request.path for request in server.requests if "/scalable/" in request.path]
    assert sorted(asked) == [record, stats]
    files = {file.name for file in reading.files_of_moment()}
    assert {name for name in files if "scalable" in name} == {
        "admin/v2/scalable/public/default/orders%2Ejson.json",
        "admin/v2/scalable/public/default/orders%2Ejson/stats.json",
    }
    (topic,) = read_answers(*reading.files()).scalable.values()
    assert topic.topic == "topic://public/default/orders.json"
    assert (topic.record is not None, topic.statistics is not None) == (True, True)


def test_names_of_a_cluster_never_lead_out_of_its_folder(read: Read) -> None:
    answers = {**recorded(), "/admin/v2/tenants": b'["..", "public"]', "/admin/v2/brokers/standalone": b'["../../x"]'}
    with playing(answers=answers) as server:
        reading = read(server)
        assert not [request for request in server.requests if "/../" in request.path]
    assert not [file for file in reading.files() if ".." in file.name.split("/")]
    assert reading.brokers == ()


def test_requests_keep_their_pace(read: Read, clock: CountingClock) -> None:
    with playing() as server:
        reading = read(server, rate=10.0)
    assert clock.now == pytest.approx((reading.requests - 1) / 10, abs=0.2)


def test_the_largest_answer_has_a_bound_that_a_large_cluster_fits_in() -> None:
    topic = len(recorded()[LOADED]) / 11
    assert 10_000 * topic < MAX_ANSWER_BYTES


def test_the_recorded_broker_is_named_in_no_answer_that_is_played(read: Read) -> None:
    with playing() as server:
        reading = read(server)
    assert not [answer.path for answer in reading.answers if RECORDED_BROKER.encode() in answer.data]


def test_a_refresh_leaves_out_what_the_lists_of_loaded_topics_say(read: Read) -> None:
    loaded = json.loads(recorded()[LOADED])
    for bundles in loaded.values():
        for domains in bundles.values():
            for topic, stats in domains["persistent"].items():
                if "idle" in topic:
                    stats["subscriptions"] = {}
    with playing(answers={**recorded(), LOADED: json.dumps(loaded).encode()}) as server:
        reading = read(server, Scope(skips_idle=True, details=1))
        paths = [request.path for request in server.requests]
    assert not [path for path in paths if "idle" in path and path.endswith("stats")]
    assert ORDERS in paths
    assert sum(path.endswith("internalStats") for path in paths) == 1
    assert (reading.topics, reading.not_loaded) == (10, 0)
    assert len(combined(moments_read([reading], limit_bytes=10**9)).topics) == 11


REPORT, METRICS = "/admin/v2/broker-stats/load-report", "/admin/v2/broker-stats/metrics"
REFUSED = failing(f"{REPORT}$", status(500, "java.lang.UnsupportedOperationException at …Wrapper.generateLoadReport"))
USAGE = [
    {"metrics": {"brk_lb_resource_usage": 0.5}, "dimensions": {"metric": "loadBalancing", "feature": "max_ema"}},
    {
        "metrics": {
            f"brk_lb_{kind}_usage": 40.0 for kind in ("cpu", "memory", "directMemory", "bandwidth_in", "bandwidth_out")
        },
        "dimensions": {"metric": "loadBalancing"},
    },
]


def paths_asked(server: PlayingServer) -> list[str]:
    """What was asked about load since the last call."""
    with server.lock:
        paths = [request.path for request in server.requests]
        server.requests.clear()
    return [path for path in paths if path in (REPORT, METRICS)]


def test_a_broker_that_refuses_to_report_its_load_is_asked_for_its_metrics(clock: CountingClock) -> None:
    answers = {**recorded(), METRICS: json.dumps(USAGE).encode()}
    with playing(REFUSED, answers=answers) as server:
        earlier = Earlier()
        reading, again = read_twice(server, clock, earlier)
        assert faults(reading) == {}
        assert set(paths_asked(server)) == {METRICS, REPORT}
        assert earlier.measures == {"": True}
        assert faults(again) == {}
        third, _ = read_twice(server, clock, earlier)
        assert set(paths_asked(server)) == {METRICS}
    snapshot = combined(moments_read([third], limit_bytes=10**9))
    load = snapshot.broker_loads[server.broker].load
    assert (load.load_average, load.cpu.percent, load.topics) == (0.5, pytest.approx(40.0), 11)


def test_settings_that_name_the_load_manager_spare_a_refused_request(read: Read) -> None:
    settings = {**json.loads(recorded()[RUNTIME]), "loadManagerClassName": EXTENSIBLE_CLASS}
    answers = {**recorded(), METRICS: json.dumps(USAGE).encode(), RUNTIME: json.dumps(settings).encode()}
    with playing(REFUSED, answers=answers) as server:
        assert faults(read(server)) == {}
        assert paths_asked(server) == [METRICS]


def test_a_refused_report_without_usage_in_the_metrics_is_a_gap_and_metrics_are_asked_for_once(
    clock: CountingClock,
) -> None:
    with playing(REFUSED, answers={**recorded(), METRICS: b"[]"}) as server:
        earlier = Earlier()
        for reading in read_twice(server, clock, earlier):
            assert faults(reading) == {"server-error": 1}
            assert METRICS not in {answer.path for answer in reading.answers}
        assert paths_asked(server).count(METRICS) == 1


def test_metrics_that_fail_once_are_asked_for_again(clock: CountingClock) -> None:
    answers = {**recorded(), METRICS: json.dumps(USAGE).encode()}
    away = failing(f"{METRICS}$", status(404), times=1)
    with playing(REFUSED, away, answers=answers) as server:
        earlier = Earlier()
        first, second = read_twice(server, clock, earlier)
        assert sum(faults(first).values()) == 2
        assert faults(second) == {}


def read_twice(server: PlayingServer, clock: CountingClock, earlier: Earlier) -> tuple[ClusterReading, ClusterReading]:
    async def run() -> tuple[ClusterReading, ClusterReading]:
        async with AdminClient(Access(server.url), Limits(), clock=clock, chance=random.Random(1)) as client:
            return await read_cluster(client, earlier=earlier), await read_cluster(client, earlier=earlier)

    return asyncio.run(run())
