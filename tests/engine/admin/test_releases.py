"""Answers of releases 2.5 to 5.0 in all their spellings give the same plain facts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.admin.facts import unacked_of
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.load_reports import decode_broker_load, decode_load_report
from engine.admin.namespaces import decode_bundles, decode_hash_positions, decode_topic_list
from engine.admin.snapshot import read_answers
from engine.admin.topics import (
    decode_broker_stats_topics,
    decode_named_stats,
    decode_partitioned_stats,
    decode_topic_stats,
)

RECORDINGS = Path(__file__).parents[2] / "recordings"
NAME = "persistent://t/n/x"


def _read(name: str) -> bytes:
    return gzip.decompress((RECORDINGS / f"{name}.json.gz").read_bytes())


def test_broker_stats_of_2_5() -> None:
    decoded = decode_broker_stats_topics(_read("versions/broker-stats-topics-2.5"))
    assert decoded.problems == ()
    ((name, topic),) = decoded.good.topics.items()
    assert name == "persistent://public/functions/metadata"
    assert decoded.good.places[name].bundle == "0x40000000_0x80000000"
    assert topic.kind == "broker-stats"
    assert topic.publishers == 1


@pytest.mark.parametrize(
    ("name", "rate_in", "subscription"),
    [
        ("versions/topic-stats-legacy-docs", 4641.528542257553, "my-topic_subscription"),
        ("versions/topic-stats-2.9-docs", 0.0, "sub-demo"),
        ("versions/topic-stats-4.1-failover", None, None),
        ("versions-generated/topic-stats", None, None),
        ("versions-generated/nonpersistent-topic-stats", None, None),
    ],
)
def test_statistics_of_a_topic_of_every_release(name: str, rate_in: float | None, subscription: str | None) -> None:
    decoded = decode_topic_stats(_read(name), NAME)
    assert decoded.problems == ()
    assert decoded.good is not None
    raw = json.loads(_read(name))
    assert decoded.good.msg_rate_in_msgs_per_sec == (raw["msgRateIn"] if rate_in is None else rate_in)
    assert [subscription.name for subscription in decoded.good.subscriptions] == list(raw["subscriptions"])
    if subscription is not None:
        assert decoded.good.subscriptions[0].name == subscription
    for facts, sub in zip(decoded.good.subscriptions, raw["subscriptions"].values(), strict=True):
        assert facts.active_consumer_name == sub.get("activeConsumerName")
        assert facts.type == (sub.get("type") or "None")
        assert [consumer.name for consumer in facts.consumers] == [c["consumerName"] for c in sub["consumers"]]


def test_null_members_of_old_releases_are_left_out() -> None:
    subscriptions = b'{"s": null, "t": {"consumers": [null, {"address": null}]}}'
    text = b'{"msgRateIn": null, "publishers": null, "subscriptions": ' + subscriptions + b"}"
    decoded = decode_topic_stats(text, NAME)
    assert decoded.problems == ()
    assert decoded.good is not None
    assert [(sub.name, len(sub.consumers)) for sub in decoded.good.subscriptions] == [("t", 1)]


def test_members_that_are_missing_or_unknown_do_not_matter() -> None:
    assert decode_topic_stats(b"{}", NAME).good is not None
    assert decode_topic_stats(b'{"inventedIn6": {"deep": [1]}}', NAME).problems == ()


def test_hash_ranges_in_both_spellings() -> None:
    new = {"type": "Key_Shared", "consumers": [{"consumerName": "a", "keyHashRangeArrays": [[1, 2], [5, 9]]}]}
    old = {"type": "Key_Shared", "consumers": [{"consumerName": "a", "keyHashRanges": ["[1, 2]", "[5, 9]"]}]}
    decoded = decode_topic_stats(json.dumps({"subscriptions": {"new": new, "old": old}}).encode(), NAME)
    assert decoded.good is not None
    assert {sub.consumers[0].key_hash_ranges for sub in decoded.good.subscriptions} == {((1, 2), (5, 9))}


def test_documented_key_shared_consumers_of_4_0() -> None:
    consumers = json.loads(_read("versions/key-shared-consumers-4.0-docs"))["consumers"]
    text = json.dumps({"subscriptions": {"s": {"type": "Key_Shared", "consumers": consumers}}})
    decoded = decode_topic_stats(text.encode(), NAME)
    assert decoded.good is not None
    assert decoded.good.subscriptions[0].consumers[0].key_hash_ranges[0] == (2960, 5968)
    assert unacked_of(decoded.good.subscriptions[0]) == sum(consumer["unackedMessages"] for consumer in consumers)
    assert decoded.good.subscriptions[0].consumers[0].unacked_messages == 30


def test_partitions_are_preferred_to_the_aggregate() -> None:
    decoded = decode_partitioned_stats(_read("versions-generated/partitioned-stats"))
    raw = json.loads(_read("versions-generated/partitioned-stats"))
    assert set(decoded.good) == set(raw["partitions"])
    assert decoded.problems == ()


def test_an_answer_without_partitions_says_what_to_ask_for() -> None:
    decoded = decode_partitioned_stats(_read("versions/partitioned-stats-2.8-docs"))
    assert decoded.good == {}
    assert ["perPartition=true" in problem.advice for problem in decoded.problems] == [True]


def test_partitions_that_nobody_could_read_stand_under_the_name_of_their_parent() -> None:
    decoded = decode_partitioned_stats(_read("versions-generated/partitioned-stats-empty"))
    assert [(name, topic.partition_index) for name, topic in decoded.good.items()] == [
        ("persistent://public/default/t", -1)
    ]


def test_load_reports_tell_the_release() -> None:
    assert decode_load_report(_read("versions/local-broker-data-2.10")).good is not None
    report = decode_load_report(_read("versions/local-broker-data-2.10")).good
    assert report is not None
    assert (report.broker, report.broker_version) == ("192.168.1.7:8080", "2.10.1-SNAPSHOT")
    simple = decode_load_report(_read("versions/load-report-simple-legacy"))
    assert simple.problems == () and simple.good is not None
    assert [bundle.throughput_out_bytes_per_sec for bundle in simple.good.bundles] == [510.0]


def test_a_load_report_keeps_the_bundles_that_can_be() -> None:
    """Nulls as older releases write them, bare NaN as other tools do, a bundle that is only listed, impossible ones."""
    text = b"""{"brokerId": "a:1", "webServiceUrl": "http://b:2", "lastUpdate": null, "timestamp": 7, "bundles":
      [null, "t/m/0x00000000_0xffffffff"], "lastStats": {"t/n/0x00000000_0x80000000": {"topics": null, "msgRateIn": 2},
      "t/n/0x80000000_0x10000000": {}, "t/n/0x90000000_0xffffffff": {"msgRateIn": NaN}, "x": {}, "y": null}}"""
    decoded = decode_load_report(text)
    assert decoded.good is not None and decoded.set_aside == len(decoded.problems) == 3
    assert (decoded.good.broker, decoded.good.updated_at_ms) == ("a:1", 7)
    assert [(bundle.bundle, bundle.msg_rate_in) for bundle in decoded.good.bundles] == [
        ("t/n/0x00000000_0x80000000", 2.0),
        ("t/m/0x00000000_0xffffffff", 0.0),
    ]


def test_other_answers_of_the_serialiser() -> None:
    assert len(decode_bundles(_read("versions-generated/namespace-bundles")).good.boundaries) == 5
    positions = decode_hash_positions(_read("versions-generated/topic-hash-positions")).good
    assert positions is not None
    assert dict(positions.positions) == {"persistent://tn/ns1/a": 1}
    assert decode_topic_list(b"[]").good == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("versions/broker-stats-topics-2.5", AnswerKind.BROKER_STATS_TOPICS),
        ("versions/topic-stats-legacy-docs", AnswerKind.TOPIC_STATS),
        ("versions/partitioned-stats-2.8-docs", AnswerKind.PARTITIONED_STATS),
        ("versions/local-broker-data-2.10", AnswerKind.LOAD_REPORT),
        ("versions/load-report-simple-legacy", AnswerKind.LOAD_REPORT),
        ("versions/internal-stats-2.9-docs", AnswerKind.INTERNAL_STATS),
        ("versions/broker-time-average-2.10", AnswerKind.OTHER),
        ("versions-generated/partitioned-stats-empty", AnswerKind.PARTITIONED_STATS),
        ("versions-generated/namespace-bundles", AnswerKind.BUNDLES),
        ("versions-generated/topic-hash-positions", AnswerKind.HASH_POSITIONS),
        ("f-inventory-2/01-audit-2026-policies", AnswerKind.POLICIES),
        ("f-inventory-2/01-audit-2026-persistent", AnswerKind.TOPIC_LIST),
        ("f-inventory-2/01-ownedNamespaces", AnswerKind.OWNED_NAMESPACES),
        ("d-bundles-4x60/09-r1", AnswerKind.ERROR),
        ("d-bundles-4x60/scenario", AnswerKind.SCENARIO),
    ],
)
def test_answers_are_distinguished_by_content(name: str, kind: AnswerKind) -> None:
    assert recognise("a.json", _read(name)) is kind


def test_an_object_of_names_and_answers_is_distinguished() -> None:
    bundles = json.loads(_read("versions-generated/namespace-bundles"))
    assert recognise("a.json", json.dumps({"one": bundles, "two": bundles}).encode()) is AnswerKind.MANY
    assert recognise("a.json", json.dumps({NAME: {"msgRateIn": 1}}).encode()) is AnswerKind.NAMED_STATS
    assert recognise("broker-stats-topics.json", b"{}") is AnswerKind.BROKER_STATS_TOPICS
    assert recognise("a.json", b"pulsar_topics_count 3") is AnswerKind.NO_JSON


def test_named_statistics_may_mix_topics_and_partitioned_topics() -> None:
    partitioned = {"metadata": {"partitions": 1}, "partitions": {f"{NAME}-partition-0": {"msgRateIn": 1.0}}}
    decoded = decode_named_stats(json.dumps({NAME: partitioned, f"{NAME}2": {"msgRateIn": 2.0}}).encode())
    assert {name: topic.msg_rate_in_msgs_per_sec for name, topic in decoded.good.items()} == {
        f"{NAME}-partition-0": 1.0,
        f"{NAME}2": 2.0,
    }
    assert decoded.good[f"{NAME}-partition-0"].partition_index == 0


def test_a_snapshot_of_a_recording() -> None:
    snapshot = read_answers(RECORDINGS / "pip392-flag-on")
    assert snapshot.version == "4.2.4"
    assert snapshot.settings is not None
    assert snapshot.settings.activeConsumerFailoverConsistentHashing
    topic = snapshot.topics["persistent://public/default/topic-7-partition-0"]
    (subscription,) = topic.subscriptions
    assert (subscription.name, subscription.type, len(subscription.consumers)) == ("billing", "Failover", 10)
    assert topic.kind == "partitioned-stats"
    assert snapshot.bundles["public/default"].ranges[1] == "0x40000000_0x80000000"
    assert len(snapshot.bundle_of_topic) == 101
    assert snapshot.problems == ()
    assert (snapshot.counts.topics, snapshot.counts.topics_superseded) == (101, 200)


def test_a_snapshot_of_several_namespaces_keeps_their_bundles_apart() -> None:
    snapshot = read_answers(RECORDINGS / "f-inventory-2")
    assert {name: len(found.ranges) for name, found in snapshot.bundles.items()}.keys() == {
        "ring/audit-2026",
        "ring/billing-2026",
        "ring/shop-2026",
        "ring/telemetry-2026",
    }
    assert snapshot.problems == ()


def test_bytes_are_an_answer_too() -> None:
    snapshot = read_answers(json.dumps({NAME: {"msgRateIn": 2.0}}).encode())
    assert snapshot.source == "standard input"
    assert list(snapshot.topics) == [NAME]


def test_statistics_count_more_than_broker_stats(tmp_path: Path) -> None:
    stats = {"t/n": {"0x00000000_0xffffffff": {"persistent": {NAME: {"msgRateIn": 0.999}}}}}
    (tmp_path / "2-broker.json").write_text(json.dumps(stats))
    (tmp_path / "1-topic.json").write_text(json.dumps({NAME: {"msgRateIn": 0.9995}}))
    snapshot = read_answers(tmp_path)
    assert snapshot.topics[NAME].msg_rate_in_msgs_per_sec == 0.9995
    assert snapshot.bundle_of_topic == {NAME: "0x00000000_0xffffffff"}


def test_the_later_file_counts_in_natural_order(tmp_path: Path) -> None:
    for number in (9, 10):
        (tmp_path / f"{number}-x.json").write_text(json.dumps({NAME: {"msgRateIn": number}}))
    assert read_answers(tmp_path).topics[NAME].msg_rate_in_msgs_per_sec == 10


@pytest.mark.parametrize("nested", [False, True])
def test_publishers_are_kept_only_where_they_are_asked_for(nested: bool) -> None:
    publishers = [{"producerName": "a"}, {"producerName": 7}]
    topic: dict[str, object] = {"publishers": publishers}
    answer = json.dumps({NAME: {"partitions": {f"{NAME}-partition-0": topic}} if nested else topic}).encode()
    (kept,) = decode_named_stats(answer, publishers=True).good.values()
    assert [json.loads(bytes(entry)) for entry in kept.publisher_entries] == publishers and kept.publishers == 2
    (without,) = decode_named_stats(answer).good.values()
    assert without.publisher_entries == () and without == kept


@pytest.mark.parametrize(
    "deep", ['{"topics": null, "junk": NESTED}', '{"topics": NESTED}', '{"topics": null, "junk": {"a": NESTED}}']
)
def test_a_bundle_that_is_nested_too_deep_costs_only_itself(deep: str) -> None:
    bundle = "t/n/0x00000000_0x80000000"
    sound = '"t/n/0x80000000_0xffffffff": {"msgRateIn": 2}'
    whole = f'{{"brokerId": "a:1", "cpu": CPU, "lastStats": {{"{bundle}": {deep}, {sound}}}}}'

    def report(levels: int, cpu: str = "{}") -> bytes:
        return whole.replace("CPU", cpu).replace("NESTED", "[" * levels + "]" * levels).encode()

    decoded = decode_load_report(report(700), "a.json")
    assert decoded.good is not None and decoded.set_aside == 1
    assert [bundle.bundle for bundle in decoded.good.bundles] == ["t/n/0x80000000_0xffffffff"]
    assert [(problem.source, problem.path) for problem in decoded.problems] == [("a.json", f'$.lastStats["{bundle}"]')]
    for levels in range(800, 1_100):  # where Python's stack ends depends on the caller
        for data in (report(levels), report(1, "[" * levels + "]" * levels)):
            for read in (decode_load_report, decode_broker_load):
                assert read(data).good is not None or read(data).problems


def test_a_bundle_that_is_not_text_costs_only_itself() -> None:
    text = b'{"brokerId": "a:1", "lastStats": {"t/n/0x00000000_0x80000000": {"topics": null, "x": "\xff"}}}'
    decoded = decode_load_report(text)
    assert decoded.good is not None and decoded.set_aside == 1
    assert [problem.path for problem in decoded.problems] == ['$.lastStats["t/n/0x00000000_0x80000000"]']


@pytest.mark.parametrize(
    ("members", "broker"),
    [
        ({"brokerId": "id:1", "webServiceUrl": "http://a:8080"}, "id:1"),
        ({"webServiceUrl": "http://a:8080", "webServiceUrlTls": "https://b:8443"}, "a:8080"),
        (
            {"webServiceUrl": None, "webServiceUrlTls": "https://b:8443", "pulsarServiceUrl": "c"},
            "b:8443",
        ),
        ({"pulsarServiceUrl": "pulsar://c:6650", "name": "d:8080"}, "c:6650"),
        ({"name": "d:8080"}, "d:8080"),
    ],
)
def test_tables_and_dashboard_call_a_broker_by_the_same_name(members: dict[str, str | None], broker: str) -> None:
    data = json.dumps(members | {"lastStats": {}}).encode()
    for_tables, for_dashboard = decode_load_report(data).good, decode_broker_load(data).good
    assert for_tables is not None and for_dashboard is not None
    assert (for_tables.broker, for_dashboard.load.broker) == (broker, broker)
