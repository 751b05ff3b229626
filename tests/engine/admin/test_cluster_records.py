"""What is read of publishers, of series of a cluster, and of brokers' logs: the good kept, the bad named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.admin.owners import LookupFacts, decode_lookup, decode_owned
from engine.admin.publishers import decode_named_publishers, decode_publishers
from tests.lab.balance.broker_log import LoggedNumbers, cycles, leader_lines
from tests.lab.balance.series import decode_report, decode_series

TOPIC = "persistent://t/n/x"


def _publisher(name: str | None, **more: object) -> dict[str, object]:
    return {"producerName": name, "accessMode": "Shared", "msgRateIn": 2.0, "averageMsgSize": 10.0, **more}


def _answer(**more: object) -> bytes:
    partitions = {
        f"{TOPIC}-partition-{at}": {"msgInCounter": at, "publishers": [_publisher(f"p{at}")]} for at in (10, 2, 0)
    }
    return json.dumps({"msgRateIn": 6.0, "publishers": [_publisher(None)], "partitions": partitions, **more}).encode()


def test_partitions_come_in_the_order_of_their_index() -> None:
    """Sums depend on the order in their last digits; the answer has a map's."""
    found = decode_publishers(_answer()).good
    assert [each.stats.msg_in_counter for each in found.partitions.values()] == [0, 2, 10]
    assert found.whole
    assert found.aggregate is not None
    assert found.aggregate.publishers[0].producer_name is None


@pytest.mark.parametrize("partitions", [None, {}, {TOPIC: {"msgRateIn": 0.0}}])
def test_an_answer_without_partitions_has_none(partitions: object) -> None:
    """Without any, a broker shows the topic itself in their place."""
    assert decode_publishers(_answer(partitions=partitions)).good.partitions == {}


def test_partitions_without_a_sum_have_no_aggregate() -> None:
    data = json.dumps({"partitions": {f"{TOPIC}-partition-0": {"publishers": []}}}).encode()
    found = decode_publishers(data).good
    assert found.aggregate is None
    assert len(found.partitions) == 1


@pytest.mark.parametrize("bad", [{"msgRateIn": -1.0}, {"publishers": 7}, {"publishers": [{"producerName": 7}]}])
def test_a_partition_that_cannot_be_read_costs_only_itself_and_the_whole(bad: dict[str, Any]) -> None:
    document = json.loads(_answer())
    document["partitions"][f"{TOPIC}-partition-2"] |= bad
    decoded = decode_publishers(json.dumps(document).encode(), "file")
    assert [name[-1] for name in decoded.good.partitions] == ["0", "0"]
    assert not decoded.good.whole
    assert f"{TOPIC}-partition-2" in decoded.problems[0].path


def test_nulls_of_older_releases_count_as_left_out() -> None:
    found = decode_publishers(_answer(msgInCounter=None, subscriptions=None)).good
    assert found.aggregate is not None
    assert found.aggregate.stats.msg_in_counter == 0


def test_named_answers_are_those_of_partitioned_topics() -> None:
    data = json.dumps({TOPIC: json.loads(_answer()), "persistent://t/n/y": {"msgRateIn": 1.0}}).encode()
    assert list(decode_named_publishers(data).good) == [TOPIC]


def _line(path: str, body: object, order: int, **more: object) -> str:
    text = json.dumps(body)
    return json.dumps(
        {"t": 1.5, "from": "metadata", "path": path, "mzxid": order, "written_t": 1.25, "body": text} | more
    )


def test_a_series_is_put_in_the_order_of_the_writes() -> None:
    """Times are those of the write, in ms; lines that somebody only saw are others."""
    report = {"lastStats": {"t/n/0x00000000_0xffffffff": {"topics": 3, "msgRateIn": 1.5}}, "numTopics": 3}
    average = {
        "maxSamples": 10,
        "numSamples": 1,
        "msgRateIn": 1.0,
        "msgRateOut": 0.0,
        "msgThroughputIn": 9.0,
        "msgThroughputOut": 0.0,
    }
    bundles = {"bundles": {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}}
    lines = [
        _line("/loadbalance/brokers/b:2", report, 9),
        _line("/loadbalance/brokers/b:1", report, 7),
        _line("/loadbalance/bundle-data/t/n/0x0_0x9", {"shortTermData": average, "longTermData": average}, 8),
        _line("/admin/local-policies/t/n", bundles, 6, version=4),
        _line("/admin/local-policies/t/n", bundles, 5, **{"from": "metadata-note"}),
        _line("/loadbalance/leader", {}, 1),
    ]
    found = decode_series("\n".join(lines).encode())
    assert found.problems == ()
    series = found.good
    assert [(each.broker, each.at_ms, each.bundles[0].topics) for each in series.reports] == [
        ("b:1", 1250, 3),
        ("b:2", 1250, 3),
    ]
    assert [each.bundle for each in series.averages] == ["t/n/0x0_0x9"]
    assert series.averages[0].data.long_term.throughput_in_bytes_per_sec == 9.0
    assert [(each.boundaries, each.version) for each in series.lists] == [((0, 0xFFFFFFFF), 4)]
    assert series.others == 2


def test_a_load_report_of_another_form_is_none() -> None:
    assert decode_report(b'{"systemResourceUsage": {}}').good is None
    found = decode_report(b'{"lastStats": {"t/n/0x0_0x9": {"producerCount": 2}}, "numBundles": 1}').good
    assert found is not None
    assert (found[0][0].producers, found[1]["numBundles"]) == (2, 1)


def test_the_leader_tells_numbers_with_all_their_digits() -> None:
    words = (
        "11:40:37.721 INFO  BundleSplitStrategy - The bundle t/n/0x0_0x9 is considered to be unload. Topics: 2/8,"
        " Sessions: (1+3)/40, Message Rate: 99.92755673830763/60 (msgs/s), Message Throughput: 5.2E-4/100 (MB/s)\n"
        "11:40:37.800 WARN  ModularLoadManagerImpl - Bundle t/n/0x0_0x9 has been removed, skip split this bundle\n"
        "11:40:37.900 INFO  ModularLoadManagerImpl - 2 brokers being considered for assignment of t/n/0x0_0x9\n"
    )
    chosen, gone = leader_lines(words)
    assert chosen.numbers == LoggedNumbers(2, 1, 3, 99.92755673830763, 5.2e-4)
    assert (gone.word, gone.at_ms - chosen.at_ms, gone.numbers) == ("gone", 79, None)


def test_a_cycle_ends_with_its_decisions_and_an_unfinished_one_is_left_out() -> None:
    numbers = "Topics: 9/8, Sessions: (8+1)/40, Message Rate: 206.93/60 (msgs/s), Message Throughput: 0.03/100 (MB/s)"
    name, plan = "00:00:01.000 INFO  Strategy - ", "00:00:01.000 INFO  SplitScheduler - "
    words = "\n".join(
        [
            f"{plan}Load balancer enabled: true, Split enabled: true.",
            f"{name}Can't split broker:t/n/0x1_0x2. The topic count is less than 2.",
            f"{name}Can't split broker:t/n/0x2_0x3. Split condition hit count: 2 is less than or equal to threshold: 3."
            f" {numbers}.",
            f"{name}Splitting bundle: t/n/0x3_0x4. {numbers}",
            f"{name}Can't split broker:t/n/0x3_0x4. The size of split boundaries is not 1. splitBoundary:[5, 7]",
            f"{name}Splitting bundle: t/n/0x4_0x5. {numbers}",
            f"{name}Can't continue the split cycle.Too many bundles split in this cycle 1 / 1.",
            f"{plan}Split Decisions: [SplitDecision(split=Split[serviceUnit=t/n/0x4_0x5, sourceBroker=b:1,"
            " splitServiceUnitToDestBroker={0x6_0x5=Optional.empty, 0x4_0x6=Optional.empty}], label=Success,"
            " reason=MsgRate)]",
            f"{plan}Load balancer enabled: true, Split enabled: true.",
            f"{name}Can't split broker:t/n/0x1_0x2. The topic count is less than 2.",
        ]
    )
    (cycle,) = cycles(words)
    assert [(line.word, line.hits, line.boundaries) for line in cycle.lines] == [
        ("too-few-topics", 0, ()),
        ("hits", 2, ()),
        ("not-one-boundary", 0, (5, 7)),
        ("taken", 0, ()),
    ]
    assert cycle.lines[2].numbers == LoggedNumbers(9, 8, 1, 206.93, 0.03)
    assert cycle.stopped
    assert [(each.bundle, each.reason, each.children) for each in cycle.decisions] == [
        ("t/n/0x4_0x5", "MsgRate", ("0x4_0x6", "0x6_0x5"))
    ]


def test_owners_and_look_ups_are_read() -> None:
    assert decode_owned(b'{"t/n/0x0_0x9": {"is_active": true}}').good == ("t/n/0x0_0x9",)
    assert decode_lookup(b'{"brokerUrl": "pulsar://b:1", "httpUrl": null}').good == LookupFacts("pulsar://b:1", "")
    bad = decode_lookup(b"[]", "file")
    assert bad.good is None
    assert bad.problems[0].source == "file"
