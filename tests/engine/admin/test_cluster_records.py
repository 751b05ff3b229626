"""Publishers, load reports, owners and look-ups: the good part is kept, the bad one named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.admin.load_reports import decode_bundle_report
from engine.admin.namespaces import LookupFacts, decode_lookup, decode_owned
from engine.admin.publishers import decode_named_publishers, decode_publishers

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
    result = decode_publishers(_answer()).good
    assert [partition.stats.msg_in_counter for partition in result.partitions.values()] == [0, 2, 10]
    assert result.whole
    assert result.aggregate is not None
    assert result.aggregate.publishers[0].producer_name is None


@pytest.mark.parametrize("partitions", [None, {}, {TOPIC: {"msgRateIn": 0.0}}])
def test_an_answer_without_partitions_has_none(partitions: object) -> None:
    """Without any, a broker shows the topic itself in their place."""
    assert decode_publishers(_answer(partitions=partitions)).good.partitions == {}


def test_partitions_without_a_sum_have_no_aggregate() -> None:
    data = json.dumps({"partitions": {f"{TOPIC}-partition-0": {"publishers": []}}}).encode()
    result = decode_publishers(data).good
    assert result.aggregate is None
    assert len(result.partitions) == 1


@pytest.mark.parametrize("bad", [{"msgRateIn": -1.0}, {"publishers": 7}, {"publishers": [{"producerName": 7}]}])
def test_a_partition_that_cannot_be_read_costs_only_itself_and_the_whole(bad: dict[str, Any]) -> None:
    document = json.loads(_answer())
    document["partitions"][f"{TOPIC}-partition-2"] |= bad
    decoded = decode_publishers(json.dumps(document).encode(), "file")
    assert [name[-1] for name in decoded.good.partitions] == ["0", "0"]
    assert not decoded.good.whole
    assert f"{TOPIC}-partition-2" in decoded.problems[0].path


def test_nulls_of_older_releases_count_as_left_out() -> None:
    result = decode_publishers(_answer(msgInCounter=None, subscriptions=None)).good
    assert result.aggregate is not None
    assert result.aggregate.stats.msg_in_counter == 0


def test_named_answers_are_those_of_partitioned_topics() -> None:
    data = json.dumps({TOPIC: json.loads(_answer()), "persistent://t/n/y": {"msgRateIn": 1.0}}).encode()
    assert list(decode_named_publishers(data).good) == [TOPIC]


def test_a_load_report_of_another_form_is_none() -> None:
    assert decode_bundle_report(b'{"systemResourceUsage": {}}').good is None
    result = decode_bundle_report(b'{"lastStats": {"t/n/0x0_0x9": {"producerCount": 2}}, "numBundles": 1}').good
    assert result is not None
    assert (result.bundles[0].producers, result.totals["numBundles"]) == (2, 1)


def test_owners_and_look_ups_are_read() -> None:
    assert decode_owned(b'{"t/n/0x0_0x9": {"is_active": true}}').good == ("t/n/0x0_0x9",)
    assert decode_lookup(b'{"brokerUrl": "pulsar://b:1", "httpUrl": null}').good == LookupFacts("pulsar://b:1", "")
    bad = decode_lookup(b"[]", "file")
    assert bad.good is None
    assert bad.problems[0].source == "file"
